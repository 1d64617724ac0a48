"""The running configuration as an answer."""

import json

from blazar.application.config.layers import load_config
from blazar.application.config.live import LiveConfig, Refused
from blazar.application.ops.show_config import ShowConfig

TEXT = 'threads = 3\n[[keys]]\nname = "a"\nkey = "plm_very_secret"\n[engine_env]\nTOKEN = "hidden"\n'


def test_values_and_who_set_them_without_secrets() -> None:
    """Only what is not at its default has an origin."""
    live = LiveConfig(load_config(TEXT, "config.toml", {"BLAZAR_LOG": "debug"}, {}))
    shown = ShowConfig(live, "/c/config.toml")()
    assert (shown["path"], shown["values"]["threads"], shown["refused"]) == ("/c/config.toml", 3, None)
    assert shown["origins"]["threads"] == {"layer": "file", "where": "line 1"}
    assert shown["origins"]["log_level"] == {"layer": "environment", "where": "BLAZAR_LOG"}
    assert "port" not in shown["origins"]
    assert "secret" not in json.dumps(shown)
    assert "hidden" not in json.dumps(shown)


def test_whether_the_file_says_more_by_now() -> None:
    """Who has just written it waits for that."""
    live = LiveConfig(load_config("", "config.toml", {}, {}))
    assert ShowConfig(live, "c")()["behind"] is False
    assert ShowConfig(live, "c", lambda: True)()["behind"] is True


def test_what_of_the_file_does_not_hold_is_told() -> None:
    """Keys that wait for a restart, and a file that cannot be used."""
    live = LiveConfig(load_config("", "config.toml", {}, {}))
    live.pending, live.refused = ("port",), Refused(0.5, ("wrong",))
    shown = ShowConfig(live, "c")()
    assert shown["restart_needed"] == ["port"]
    assert shown["refused"] == {"since": "1970-01-01T00:00:00.500000Z", "problems": ["wrong"]}
