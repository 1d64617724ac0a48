"""When a model gets its projector, and the bounds of pictures."""

import pytest

from blazar.application.config.vision import policy_word
from tests.support.configuration import held, refusal


@pytest.mark.parametrize(
    ("written", "word"),
    [("'lazy'", "lazy"), ("'attach'", "attach"), ("'skip'", "skip"), ("true", "attach"), ("false", "skip")],
)
def test_odd_true_and_false_are_words(written, word):
    """Older files say true for attach and false for skip, at the root and in an override."""
    assert held(f"mmproj_policy = {written}").mmproj_policy == word
    assert held(f"[vision]\nmmproj_policy = {written}").mmproj_policy == word
    assert held(f"[model_overrides.m]\nmmproj = {written}").settings_for("m")["mmproj"] == word


def test_other_values_are_left_to_be_refused():
    """0 and 1 are no bools."""
    assert (policy_word(1), policy_word("x"), policy_word(None)) == (1, "x", None)
    assert refusal("mmproj_policy = 'eager'").endswith("must be one of 'lazy', 'attach' or 'skip' (found \"eager\")")
    assert "'mmproj_policy' must be one of" in refusal("mmproj_policy = 1")


def test_a_projector_has_one_device():
    """A list of several is refused by the engine as it starts."""
    assert held("mmproj_device = 'CUDA1'").mmproj_device == "CUDA1"
    assert "must be the name of a device" in refusal("mmproj_device = 'CUDA0,CUDA1'")


@pytest.mark.parametrize("key", ["image_max_tokens", "image_min_tokens", "mtmd_batch_max_tokens"])
def test_tokens_are_counted_from_zero(key):
    """And end where the engine's numbers end."""
    assert getattr(held(f"{key} = 64"), key) == 64
    assert refusal(f"{key} = -1").endswith("must be 0 or more (found -1)")
    assert refusal(f"{key} = {2**31}").endswith(f"must be {2**31 - 1} or less (found {2**31})")


def test_fetching_is_on_or_off():
    """By two words (D14)."""
    assert held("image_fetch = 'off'").image_fetch == "off"
    assert "must be one of 'public' or 'off'" in refusal("image_fetch = 'all'")
