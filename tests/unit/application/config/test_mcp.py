"""Entries of [[mcp]]. Which options go together is test_table_rules."""

import pytest
from pydantic import ValidationError

from blazar.application.config.mcp import LONGEST_NAME, McpServer


def test_bounds_hold_without_a_word():
    """30 s a call, the daemon's whole environment."""
    server = McpServer.model_validate({"name": "fetch", "command": ["uvx", "mcp-server-fetch"]})
    assert (server.timeout_secs, server.env_clear, server.allowed_env, server.env) == (30, False, (), {})


@pytest.mark.parametrize("name", ["fetch", "a-b", "a_b_c", "A9", "a" * LONGEST_NAME])
def test_a_name_becomes_part_of_a_tools_name(name):
    """`mcp__<server>__<tool>` can be taken apart again, and clients accept it."""
    assert McpServer.model_validate({"name": name, "url": "http://h/mcp"}).name == name


@pytest.mark.parametrize(
    "wrong",
    [
        *({"name": name} for name in ("", "a__b", "_a", "a_", "a.b", "a b", "é", "a" * (LONGEST_NAME + 1))),
        *({"timeout_secs": secs} for secs in (0, -1, 600.5)),
        *({"url": url} for url in ("", "h/mcp", "ftp://h", "http://", "https://me:secret@h/mcp", "http://h/a b")),
        {"command": []},
        {"command": ["uvx", ""]},
        {"command": "uvx mcp"},
        {"env": {"1A": "x"}},
        {"env": {"A": 1}},
        {"allowed_env": ["A B"]},
        {"cwd": ""},
        {"max_output_bytes": 0},
    ],
)
def test_what_cannot_be_is_refused(wrong):
    """Bounds of the setup document, names that tools could not have, a secret in a URL that is shown."""
    with pytest.raises(ValidationError):
        McpServer.model_validate({"name": "fetch"} | wrong)


def test_its_environment_is_not_in_the_repr():
    """Variables carry tokens."""
    assert "hush" not in repr(McpServer(name="a", command=("x",), env={"TOKEN": "hush"}))
