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
