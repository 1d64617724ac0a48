"""Tools that an engine runs: how they are named, where they run, what a JSON text must be."""

import pytest

from blazar.application.config.render import redacted
from blazar.domain import teaching
from tests.support.configuration import held, refusal


@pytest.mark.parametrize("tools", ["all", "read_file", "read_file,grep_search"])
def test_tools_are_named_with_commas(tools):
    """As the engine takes them."""
    assert held(f"server_tools = '{tools}'").server_tools == tools
    assert held("").server_tools is None


@pytest.mark.parametrize(
    ("text", "wants"),
    [
        ("server_tools = 'read file'", "tools"),
        ("server_tools = 'a,'", "tools"),
        ("server_tools = 'all'\nserver_tools_runtime = 'chroot:/x'", "runtime"),
        ("server_tools = 'all'\nserver_tools_runtime = 'docker:'", "runtime"),
        ("mcp_servers_json = '[]'", "object_text"),
        ("mcp_servers_json = '{'", "object_text"),
        ("mcp_servers_json = '{\"a\": hush}'", "object_text"),
        (f"mcp_servers_json = '{'[' * 100000}'", "object_text"),
    ],
)
def test_another_form_is_refused(text, wants):
    """Without repeating what may hold a token."""
    assert refusal(text).endswith(teaching.config_wants(wants))


@pytest.mark.parametrize(
    "runtime", ["docker:image", "podman:a/b:1", "docker-container:4f", "podman-container:x", "ssh:me@box"]
)
def test_a_runtime_names_its_target(runtime):
    """In one of the engine's five ways."""
    assert held(f"server_tools = 'all'\nserver_tools_runtime = '{runtime}'").server_tools_runtime == runtime


def test_servers_in_json_are_not_shown():
    """Their variables carry tokens."""
    config = held('mcp_servers_json = \'{"a": {"env": {"T": "hush"}}}\'')
    assert "hush" in config.mcp_servers_json
    assert "hush" not in repr(config)
    assert "hush" not in str(redacted(config))
