"""The configuration that holds now."""

import pytest

from blazar.application.config.layers import Loaded, load_config
from blazar.application.config.live import RESTART_KEYS, LiveConfig, Refused, changed_keys, keeping
from blazar.application.config.model import Config


def loaded(text: str = "") -> Loaded:
    """What a file would say."""
    return load_config(text, "config.toml", {}, {})


def test_who_keeps_it_sees_the_next_one() -> None:
    """Settings, their origins and the engine's variables."""
    live = LiveConfig(loaded('[engine_env]\nA = "1"\n'))
    env, settings_for, origins_for = live.engine_env, live.settings_for, live.origins_for
    assert dict(env) == {"A": "1"}
    live.replace(loaded('[engine_env]\nB = "2"\nC = "3"\n[model_overrides.m]\nctx = 512\n'))
    assert (dict(env), len(env), env["B"]) == ({"B": "2", "C": "3"}, 2, "2")
    assert (settings_for("m")["ctx"], settings_for("n")["ctx"]) == (512, None)
    assert origins_for("m")["ctx"] == "[model_overrides.m]"


def test_a_good_file_ends_the_refusal_of_the_one_before() -> None:
    """And says anew what waits for a restart."""
    live = LiveConfig(loaded())
    assert live.problems() == ()
    live.refused = Refused(5.0, ("wrong",))
    assert live.problems() == ("wrong",)
    live.replace(loaded(), ("port",))
    assert (live.refused, live.pending) == (None, ("port",))


def test_paths_of_the_file_that_holds_count_from_its_folder() -> None:
    """After a reload too, and where keys of the socket kept their value."""
    live = LiveConfig(load_config("", "/a/config.toml"))
    live.replace(keeping(live.loaded, load_config('video_ffmpeg_dir = "tools"', "/a/config.toml")))
    assert live.settings_for("m")["video_ffmpeg_dir"] == "/a/tools"


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("", "", ()),
        ("threads = 2", "threads = 2  # the same\n", ()),
        ("", "[gateway]\nport = 11435\n", ()),
        ("port = 1", "port = 2\nthreads = 3", ("port", "threads")),
        ('[[keys]]\nname = "a"\nkey = "plm_one"\n', '[[keys]]\nname = "a"\nkey = "plm_two"\n', ("keys",)),
        ("", "[model_overrides.m]\nctx = 512\npin = true\n", ("model_overrides.m.ctx", "model_overrides.m.pin")),
        ("[model_overrides.m]\nctx = 512\n", "[model_overrides.m]\nctx = 1024\n", ("model_overrides.m.ctx",)),
        ("[model_overrides.m]\nctx = 512\n", "[model_overrides.n]\nctx = 512\n", ("model_overrides.m.ctx", "model_overrides.n.ctx")),
        ("[model_overrides.m]\nctx = 512\n", "", ("model_overrides.m.ctx",)),
    ],
)  # fmt: skip
def test_what_differs_is_named_and_never_shown(old: str, new: str, changed: tuple[str, ...]) -> None:
    """By values, whatever the text looks like; a secret's name and no secret."""
    assert changed_keys(loaded(old).config, loaded(new).config) == changed


def test_keys_of_the_socket_keep_their_running_value() -> None:
    """With who set it, so that nobody is told that the file did."""
    kept = keeping(loaded("port = 1"), loaded("port = 2\nthreads = 3"))
    assert (kept.config.port, kept.config.threads, kept.origins["port"].where) == (1, 3, "line 1")
    assert {"host", "port"} <= RESTART_KEYS <= set(Config.model_fields)
    assert {name for name in Config.model_fields if name.startswith("tls_")} <= RESTART_KEYS
