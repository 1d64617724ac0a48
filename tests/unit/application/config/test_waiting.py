"""Keys that nothing reads yet."""

import pytest

from blazar.application.config.layers import load_config
from blazar.application.config.waiting import WAITING, said_anyway, set_in_vain, waits
from blazar.domain import teaching


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("port = 1\nslots = 2", []),
        ("remote_fallback = true", []),  # the default: nobody expects a change of it
        ("whisper_best_of = 2\nwhisper_beam_size = 2", ["whisper_beam_size", "whisper_best_of"]),
        ("[[keys]]\nname = 'a'\nkey = 'b'", []),
        ("[[keys]]\nname = 'a'\nkey = 'b'\nrpm = 2\ntpm = 3\ndaily_tokens = 4\nmax_concurrent = 5\nweight = 6", []),
        ("[model_overrides.m]\nreplicas = 2\nctx = 512", ["model_overrides.m.replicas"]),
        ("[warm_peg]\ndefault = false", ["warm_peg"]),
    ],
)
def test_who_sets_one_is_told(text, keys):
    """Once, with all of them, as they are written; everything else is no matter of a warning."""
    loaded = load_config(text, "config.toml")
    assert list(set_in_vain(loaded.config)) == keys
    said = [teaching.keys_without_effect(keys)] if keys else []
    assert [warning for warning in loaded.warnings if "without effect" in warning] == said


def test_every_row_names_what_it_waits_for():
    """For whoever wonders when."""
    assert all(WAITING.values())


def test_what_is_written_down_as_it_is_anyway_is_known():
    """Also from a group; other values are told elsewhere, and keys that have readers nowhere."""
    text = "remote_fallback = true\nslots = 0\n[whisper]\nwhisper_diarize = true\nwhisper_idle_secs = 900"
    assert set(said_anyway(load_config(text, "c").config)) == {"remote_fallback", "whisper_idle_secs"}


@pytest.mark.parametrize(
    ("key", "idle"),
    [
        ("remote_fallback", True),
        ("warm_peg.default", True),
        ("model_overrides.a.b.replicas", True),
        ("model_overrides.a.b.ctx", False),
        ("port", False),
    ],
)
def test_a_listed_key_is_marked(key, idle):
    """As listings write it."""
    assert waits(key) is idle
