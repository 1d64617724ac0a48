"""What is kept between requests, and what is loaded ahead of them."""

from tests.support.configuration import held, refusal


def test_models_to_load_come_in_their_order_and_once():
    """Those of preload first."""
    assert held("preload = ['b', 'a']\nmodels_autoload = ['a', 'c']").wanted_at_start == ("b", "a", "c")
    assert held("").wanted_at_start == ()


def test_what_is_no_model_cannot_be_loaded_ahead():
    """A slip is told when the file is read, and not by a warning after the start."""
    assert "must name a model" in refusal("preload = ['a', 'b c']")
    assert "must name a model" in refusal("models_autoload = ['']")
    assert "must name a model" in refusal("", {"BLAZAR_PRELOAD": "a,--b"})


def test_only_the_checkpoints_are_a_child_s_business():
    """The rest is kept by the gateway."""
    said = held("sessions = false").settings_for("m")
    assert said["sessions"] is False
    assert not {"session_bank", "session_keep_secs", "preload", "models_autoload", "predictive_preload"} & said.keys()
    assert "must be 0 or more" in refusal("session_keep_secs = -1")
