"""From a place in a configuration to its declaration."""

import pytest

from blazar.application.config.failover import FailoverTarget
from blazar.application.config.model import Config, Override
from blazar.application.config.places import is_secret, known_at, names_variables, table_at
from blazar.application.config.remotes import Remote
from blazar.application.config.tuning import MistralrsOverride, SglangTuning


@pytest.mark.parametrize(
    ("place", "table"),
    [
        ((), Config),
        (("remotes", 1), Remote),
        (("failover", 0, "targets", 2), FailoverTarget),
        (("sglang",), SglangTuning),
        (("model_overrides", "sglang"), Override),
        (("model_overrides", "m", "mistralrs"), MistralrsOverride),
        (("port",), None),
        (("mcp", 0, "env", "A"), None),
        (("nothing", "at", "all"), None),
    ],
)
def test_the_table_at_a_place(place, table):
    """Positions and names of entries are stepped over, whatever an entry is called."""
    assert table_at(place) is table


def test_keys_that_could_stand_there():
    """For the hint after a slip; nothing where no table is declared."""
    assert "url" in known_at(("remotes", 0, "ulr"))
    assert "slots" in known_at(("model_overrides", "m", "slot"))
    assert list(known_at(("engine_env", "A", "b"))) == []


@pytest.mark.parametrize(
    ("place", "secret"),
    [
        (("remotes", 0, "key"), True),
        (("remotes", 0, "name"), False),
        (("remotes",), True),
        (("remotes", 0), True),
        (("mcp", 0, "env", "TOKEN"), True),
        (("mcp", 0, "timeout_secs"), False),
        (("keys", 0, "name"), True),
        (("mcp_servers_json",), True),
        (("port",), False),
        (("engine_env", "A"), True),
    ],
)
def test_what_may_not_be_repeated(place, secret):
    """Secrets, what holds one, and all of [[keys]]."""
    assert is_secret(place) is secret


def test_where_names_are_those_of_variables():
    """The environment of engines and of MCP servers; a name that is wrong there may hold a secret."""
    assert names_variables(("engine_env",))
    assert names_variables(("mcp", 0, "env"))
    for place in ((), ("port",), ("mcp",), ("keys",), ("model_overrides",), ("chat_template_kwargs",)):
        assert not names_variables(place)
