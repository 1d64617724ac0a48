"""mistral.rs's record."""

from blazar.adapters.engines.mistralrs.spec import MISTRALRS
from blazar.domain.wire.polite import make_polite


def test_it_is_a_precompiled_engine() -> None:
    """Three minutes for a load (D34)."""
    assert MISTRALRS.load_cap_secs == 180


def test_it_runs_without_a_key() -> None:
    """It takes none (D21)."""
    assert MISTRALRS.key_file_flag == ""


def test_no_inherited_variable_gives_it_tools() -> None:
    """It reads a file of MCP servers from one."""
    assert "MCP_CONFIG_PATH" in MISTRALRS.scrubbed


def test_odd_its_grammar_is_an_object() -> None:
    """A text in that place, as llama.cpp takes it, is a parser's error: it is left out; `response_format` is held."""
    manners = MISTRALRS.manners
    body = {"grammar": 'root ::= "a"', "response_format": {"type": "json_object"}}
    polite = make_polite(body, manners, 100)
    assert body == {"response_format": {"type": "json_object"}}
    assert not polite.held
    assert (manners.asked_as, manners.listed_as) == ("default", "{folder}")


def test_a_request_does_not_make_it_run_anything() -> None:
    """Programs, files, other adapters: nobody here has chosen them."""
    assert {"enable_shell", "files", "adapter", "code_execution_permission"} <= MISTRALRS.manners.strips
