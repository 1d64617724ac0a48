"""mistral.rs's record."""

from blazar.adapters.engines.mistralrs.spec import MISTRALRS


def test_it_is_a_precompiled_engine() -> None:
    """Three minutes for a load (D34)."""
    assert MISTRALRS.load_cap_secs == 180


def test_it_runs_without_a_key() -> None:
    """It takes none (D21)."""
    assert MISTRALRS.key_file_flag == ""


def test_no_inherited_variable_gives_it_tools() -> None:
    """It reads a file of MCP servers from one."""
    assert "MCP_CONFIG_PATH" in MISTRALRS.scrubbed
