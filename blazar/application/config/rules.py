"""What keys must have to do with each other, told with the key that is wrong. Asks the world only what it is handed."""

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, get_args

from blazar.application.config.files import named_in
from blazar.application.config.model import Config
from blazar.application.config.table_rules import Broken, table_problems, table_warnings
from blazar.application.config.vision import PolicyWord
from blazar.application.config.waiting import set_in_vain
from blazar.domain import teaching
from blazar.domain.names import near


class World(NamedTuple):
    """What rules must know beside the configuration. Without an answer every file is taken to be there."""

    platform: str = sys.platform
    exists: Callable[[str], bool] = lambda _: True


NEEDS = {
    "sdcpp_ip_adapter": ("sdcpp_clip_vision",),
    "sdcpp_cache_option": ("sdcpp_cache_mode",),
    "server_tools_runtime": ("server_tools", "agent"),
    "whisper_vad_threshold": ("whisper_vad_model",),
    "whisper_vad_min_speech_duration_ms": ("whisper_vad_model",),
    "whisper_vad_min_silence_duration_ms": ("whisper_vad_model",),
    "tls_cert": ("tls_key",),
    "tls_key": ("tls_cert",),
}
"""A key, and those of which it needs one: else it means nothing."""

EXCLUSIVE = {"mcp_servers_json": "mcp_servers_config"}
NOT_ABOVE = {"image_min_tokens": "image_max_tokens", "ngram_mod_n_min": "ngram_mod_n_max"}
FILES = ("lookup_cache_static", "lookup_cache_dynamic", "mcp_servers_config")

WHISPER_RESERVED = frozenset({"--host", "--port", "--model", "-m", "--vad", "--vad-model", "-vm"})
WHISPER_KEYS = {
    # Every spelling that whisper-server has for what is a key here.
    "whisper_beam_size": ("--beam-size", "-bs"),
    "whisper_best_of": ("--best-of", "-bo"),
    "whisper_entropy_thold": ("--entropy-thold", "-et"),
    "whisper_logprob_thold": ("--logprob-thold", "-lpt"),
    "whisper_word_thold": ("--word-thold", "-wt"),
    "whisper_vad_threshold": ("--vad-threshold", "-vt"),
    "whisper_vad_min_speech_duration_ms": ("--vad-min-speech-duration-ms", "-vspd"),
    "whisper_vad_min_silence_duration_ms": ("--vad-min-silence-duration-ms", "-vsd"),
    "whisper_diarize": ("--diarize", "-di"),
    "whisper_tinydiarize": ("--tinydiarize", "-tdrz"),
}
# A model's own parts, its threads and where it listens; what more a build reserves is told when its command line is compiled.
SDCPP_RESERVED = frozenset(
    [
        "--model",
        "-m",
        "--diffusion-model",
        "--vae",
        "--llm",
        "--t5xxl",
        "--clip_l",
        "--clip_g",
        "--threads",
        "-t",
        "--listen-ip",
        "-l",
        "--listen-port",
    ]
)


# What no engine of any kind takes from a person: each reserves these, or does not know them. What more its kind and its build
# reserve is told by `config validate`, and when a command line is compiled.
EXTRA_RESERVED = frozenset({"--host", "--port", "--model", "-m", "--api-key"})


def problems(config: Config, world: World) -> Iterator[Broken]:
    """Every rule that does not hold."""
    for key, others in NEEDS.items():
        if _said(config, key) and not any(_said(config, other) for other in others):
            yield Broken((key,), teaching.config_wants("needs", " or ".join(others)))
    for key, other in EXCLUSIVE.items():
        if _said(config, key) and _said(config, other):
            yield Broken((key,), teaching.config_wants("exclusive", other))
    for key, other in NOT_ABOVE.items():
        low, high = getattr(config, key), getattr(config, other)
        if low > high > 0:
            yield Broken((key,), teaching.config_wants("not_above", f"{other} ({high})"))
    if config.child_transport == "unix" and world.platform == "win32":
        yield Broken(("child_transport",), teaching.config_wants("windows"))
    for model, override in config.model_overrides.items():
        if override.chat_template is not None and override.chat_template_file is not None:
            where = ("model_overrides", model, "chat_template_file")
            yield Broken(where, teaching.config_wants("exclusive", "chat_template"))
    yield from _extra_words(config)
    yield from _override_words(config)
    yield from _files(config, world)
    yield from table_problems(config)


def warnings(config: Config, world: World) -> tuple[str, ...]:
    """What is accepted and should be known all the same."""
    found = list(table_warnings(config))
    if vain := tuple(set_in_vain(config)):
        found.append(teaching.keys_without_effect(vain))
    if config.deterministic and config.slots > 1:
        found.append(teaching.slots_without_effect(config.slots))
    found += _gone(config, world)
    return tuple(found)


def _gone(config: Config, world: World) -> Iterator[str]:
    """Files that one model names: a refusal here would take all the others along, and its load refuses it anyway."""
    for model, override in config.model_overrides.items():
        for key, path in named_in(override):
            if not world.exists(path):
                words = get_args(PolicyWord) if key == "mmproj" and "." not in path and "/" not in path else ()
                yield teaching.override_file_gone(model, key, path, near(path, words))


def _said(config: Config, key: str) -> bool:
    # ODD: a threshold of 0 is said.
    value: Any = getattr(config, key)
    return value is not None and value != "" and value is not False


def _extra_words(config: Config) -> Iterator[Broken]:
    for flag in _flags(config.sdcpp_extra_args):
        if flag in SDCPP_RESERVED:
            yield Broken(("sdcpp_extra_args",), teaching.extra_args_reserved(flag))
    owner = {flag: key for key, flags in WHISPER_KEYS.items() for flag in flags}
    for flag in _flags(config.whisper_extra_args):
        if flag in WHISPER_RESERVED:
            yield Broken(("whisper_extra_args",), teaching.extra_args_reserved(flag))
        elif flag in owner and _said(config, owner[flag]):
            yield Broken(("whisper_extra_args",), teaching.extra_args_twice(flag, owner[flag]))


def _override_words(config: Config) -> Iterator[Broken]:
    for model, override in config.model_overrides.items():
        for flag in _flags(override.extra_args):
            if flag.replace("_", "-") in EXTRA_RESERVED:
                yield Broken(("model_overrides", model, "extra_args"), teaching.extra_args_reserved(flag))


def _flags(words: Sequence[str]) -> Iterator[str]:
    """What may be a flag among words; `--flag=value` is one as well."""
    for word in words:
        if word.startswith("-"):
            yield word.partition("=")[0]


def _files(config: Config, world: World) -> Iterator[Broken]:
    for key in FILES:
        if (path := getattr(config, key)) and not world.exists(path):
            yield Broken((key,), teaching.config_wants("file", path))
