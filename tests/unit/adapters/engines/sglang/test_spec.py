"""SGLang's record."""

from blazar.adapters.engines.sglang.spec import SGLANG


def test_it_has_ten_minutes_for_its_first_load() -> None:
    """Kernels are compiled then (D34)."""
    assert SGLANG.load_cap_secs == 600


def test_it_runs_without_a_key() -> None:
    """One by argv could be read by every process (D21)."""
    assert SGLANG.key_file_flag == ""
    assert {"--api-key", "--admin-api-key"} <= SGLANG.reserved


def test_inherited_variables_change_nothing() -> None:
    """What the engine reads of its environment comes from settings."""
    assert "SGLANG_" in SGLANG.scrubbed


def test_it_is_asked_by_the_name_that_it_was_told() -> None:
    """It holds an answer to OpenAI's form; a request loads no adapter and runs no code of its own."""
    manners = SGLANG.manners
    assert (manners.asked_as, manners.listed_as, manners.forms) == ("{model}", "{model}", {"response_format"})
    assert {"lora_path", "custom_logit_processor"} <= manners.strips
