"""Rules over plain keys, told with the key that is wrong, its line, or the layer that brought it."""

import pytest

from blazar.adapters.engines.llamacpp.reserved import RESERVED as LLAMACPP
from blazar.adapters.engines.mistralrs.reserved import RESERVED as MISTRALRS
from blazar.adapters.engines.mlx.reserved import RESERVED as MLX
from blazar.adapters.engines.sdcpp.reserved import RESERVED
from blazar.adapters.engines.sglang.reserved import RESERVED as SGLANG
from blazar.application.config.layers import load_config
from blazar.application.config.model import Config
from blazar.application.config.rules import (
    EXCLUSIVE,
    EXTRA_RESERVED,
    FILES,
    NEEDS,
    NOT_ABOVE,
    SDCPP_RESERVED,
    WHISPER_KEYS,
    World,
)
from blazar.domain import teaching
from blazar.domain.errors import BadConfig
from tests.support.manifests import golden


def problems(text="", env=None, world=None, **overrides):
    with pytest.raises(BadConfig) as caught:
        load_config(text, "config.toml", env, overrides, world)
    return caught.value.problems


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("\nsdcpp_ip_adapter = 'a'", "line 2: 'sdcpp_ip_adapter' needs sdcpp_clip_vision: set it too, or remove this"),
        ("[diffusion]\nsdcpp_ip_adapter = 'a'", "line 2: 'sdcpp_ip_adapter' needs sdcpp_clip_vision"),
        ("server_tools_runtime = 'docker:x'", "line 1: 'server_tools_runtime' needs server_tools or agent: set it too"),
        ("sdcpp_cache_option = 'reset=0'", "line 1: 'sdcpp_cache_option' needs sdcpp_cache_mode"),
        (
            "[model_overrides.m]\nchat_template_file = 'b'\nchat_template = 'a'",
            "line 2: 'model_overrides.m.chat_template_file' excludes chat_template: set one of the two",
        ),
        (
            "[model_overrides.m]\nctx = 512\nextra_args = ['--temp', '-1', '--host=0.0.0.0']",
            "line 3: 'model_overrides.m.extra_args' must not hold --host: Blazar says it itself",
        ),
        (
            "[model_overrides.m]\nextra_args = ['--api_key', 'x']",
            "line 2: 'model_overrides.m.extra_args' must not hold --api_key",
        ),
        ("tls_cert = 'a'", "line 1: 'tls_cert' needs tls_key"),
        ("[gateway]\ntls_key = 'a'", "line 2: 'tls_key' needs tls_cert"),
        ("whisper_vad_threshold = 0.0", "line 1: 'whisper_vad_threshold' needs whisper_vad_model"),
        (
            "whisper_vad_min_silence_duration_ms = 1",
            "line 1: 'whisper_vad_min_silence_duration_ms' needs whisper_vad_model",
        ),
        (
            "mcp_servers_config = 'a'\nmcp_servers_json = '{}'",
            "line 2: 'mcp_servers_json' excludes mcp_servers_config: set one of the two",
        ),
        (
            "image_max_tokens = 64\nimage_min_tokens = 65",
            "line 2: 'image_min_tokens' must not be more than image_max_tokens (64)",
        ),
        (
            "ngram_mod_n_max = 2\nngram_mod_n_min = 3",
            "line 2: 'ngram_mod_n_min' must not be more than ngram_mod_n_max (2)",
        ),
        (
            "whisper_extra_args = ['--vad-model', 'x']",
            "line 1: 'whisper_extra_args' must not hold --vad-model: Blazar says it",
        ),
        ("whisper_extra_args = ['-m', 'x']", "line 1: 'whisper_extra_args' must not hold -m: Blazar says it itself"),
        ("whisper_extra_args = ['--host=0.0.0.0']", "line 1: 'whisper_extra_args' must not hold --host"),
        (
            "whisper_beam_size = 5\nwhisper_extra_args = ['-bs', '4']",
            "line 2: 'whisper_extra_args' must not hold -bs: whisper_beam_size says it already; keep one of them",
        ),
        ("sdcpp_extra_args = ['--vae', 'x']", "line 1: 'sdcpp_extra_args' must not hold --vae: Blazar says it itself"),
    ],
)
def test_a_rule_that_does_not_hold(text, sentence):
    """One sentence with its line."""
    (found,) = problems(text)
    assert found.startswith(f"config.toml {sentence}")


@pytest.mark.parametrize(
    "text",
    [
        "sdcpp_clip_vision = 'a'",
        "sdcpp_ip_adapter = 'a'\nsdcpp_clip_vision = 'b'",
        "tls_cert = 'a'\ntls_key = 'b'",
        "agent = true\nserver_tools_runtime = 'docker:x'",
        "sdcpp_cache_mode = 'ucache'\nsdcpp_cache_option = 'reset=0'",
        "[model_overrides.m]\nchat_template_file = 'b'\n[model_overrides.n]\nchat_template = 'a'",
        "image_min_tokens = 65",
        "image_min_tokens = 64\nimage_max_tokens = 64",
        "ngram_mod_n_min = 3",
        "whisper_extra_args = ['--beam-size', '4', '--dtw', 'tiny']",
        "whisper_beam_size = 5\nwhisper_extra_args = ['--dtw', 'tiny']",
        "whisper_diarize = false\nwhisper_extra_args = ['-di']",
        "sdcpp_extra_args = ['--control-net', 'x', '--backend', 'clip=cpu']",
        "child_transport = 'unix'",
    ],
)
def test_what_goes_together(text):
    """No more is refused than the documents say."""
    load_config(text, "config.toml", world=World(platform="linux"))


def test_sockets_are_refused_on_windows():
    """Wherever the word comes from."""
    windows = World(platform="win32")
    told = "must be tcp on Windows, where engines cannot listen on unix sockets"
    assert problems("child_transport = 'unix'", world=windows) == (f"config.toml line 1: 'child_transport' {told}",)
    (found,) = problems(env={"BLAZAR_CHILD_TRANSPORT": "unix"}, world=windows)
    assert found == f"environment variable BLAZAR_CHILD_TRANSPORT: 'child_transport' {told}"


def test_what_a_layer_above_the_file_breaks_names_that_layer():
    """Or the line of the file that it does not go with."""
    (found,) = problems("", {"BLAZAR_WHISPER_EXTRA_ARGS": "--port,1"})
    assert (
        found
        == "environment variable BLAZAR_WHISPER_EXTRA_ARGS: 'whisper_extra_args' must not hold --port: Blazar says it itself"
    )
    (found,) = problems("", tls_cert="a")
    assert found.startswith("the command line: 'tls_cert' needs tls_key")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("lookup_cache_static = '/nowhere'", "line 1: 'lookup_cache_static'"),
        ("lookup_cache_dynamic = '/nowhere'", "line 1: 'lookup_cache_dynamic'"),
        ("mcp_servers_config = '/nowhere'", "line 1: 'mcp_servers_config'"),
    ],
)
def test_named_files_must_exist(text, place):
    """Asked of the world; where nobody can answer, they are taken to be there."""
    (found,) = problems(text, world=World(exists=lambda path: path != "/nowhere"))
    assert found == f"config.toml {place} names a file that does not exist: /nowhere"
    load_config(text, "config.toml")


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("chat_template_file = '/nowhere'", ("chat_template_file", "/nowhere")),
        ("loras = ['/there', '/nowhere:0.5']", ("loras", "/nowhere")),
        ("mmproj = '/nowhere'", ("mmproj", "/nowhere")),
        ("mmproj = 'lazzy'", ("mmproj", "lazzy", ("lazy",))),
        ("mistralrs.imatrix = '/nowhere'", ("mistralrs.imatrix", "/nowhere")),
        ("mmproj = 'lazy'\nloras = ['/there:2']", None),
    ],
)
def test_a_file_that_only_one_model_needs_is_no_reason_to_stop_the_others(override, told):
    """Missing, it is told; the load of that model refuses it."""
    text = f"[model_overrides.m]\n{override}"
    loaded = load_config(text, "config.toml", world=World(exists=lambda path: path == "/there"))
    assert loaded.warnings == (() if told is None else (teaching.override_file_gone("m", *told),))
    assert load_config(text, "config.toml").warnings == ()


def test_odd_a_threshold_of_0_is_said():
    """Unlike a switch that is off and a text that is empty: it needs what it belongs to, and no second word."""
    (found,) = problems("whisper_vad_threshold = 0.0")
    assert "'whisper_vad_threshold' needs whisper_vad_model" in found
    (found,) = problems("whisper_vad_model = 'a'\nwhisper_vad_threshold = 0.0\nwhisper_extra_args = ['-vt', '1']")
    assert "must not hold -vt: whisper_vad_threshold says it already" in found


def test_slots_beside_deterministic_have_no_effect():
    """The setup document forces one slot; who asked for more is told."""
    (warning,) = load_config("deterministic = true\nslots = 4", "c").warnings
    assert warning == "slots = 4 has no effect: deterministic serves one request at a time"
    assert load_config("deterministic = true\nslots = 1", "c").warnings == ()


def test_rules_name_keys_that_exist():
    """And the words that are refused early are among those that are refused when a command line is compiled."""
    named = {
        *NEEDS,
        *(other for others in NEEDS.values() for other in others),
        *EXCLUSIVE,
        *EXCLUSIVE.values(),
        *NOT_ABOVE,
        *NOT_ABOVE.values(),
        *FILES,
        *WHISPER_KEYS,
    }
    assert named <= set(Config.model_fields)
    assert SDCPP_RESERVED <= RESERVED


@pytest.mark.parametrize(
    ("stem", "reserved"),
    [
        ("llama-server-b11434", LLAMACPP),
        ("mistralrs-0.9.2", MISTRALRS),
        ("mlx-lm-0.32.2", MLX),
        ("sd-server-0.4.7", RESERVED),
        ("sglang-0.5.23", SGLANG),
    ],
)
def test_what_no_engine_takes_is_refused_for_every_kind(stem, reserved):
    """A word is judged before its engine is known only where each of them reserves it or lacks it."""
    known = golden(stem)
    assert all(flag in reserved or flag not in known for flag in EXTRA_RESERVED)
