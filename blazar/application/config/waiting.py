"""Keys that are declared, checked and documented before anything reads them: who sets one has to be told.

The list may only become shorter: who builds a feature takes its keys out (a test finds them).
"""

from collections.abc import Iterator

from blazar.application.config.model import Config

WAITING: dict[str, str] = {
    "failover": "failover chains",
    "idle_ram_warm": "predictive loading",
    "mcp": "the catalog of MCP tools",
    "mcp_default": "the catalog of MCP tools",
    "predictive_preload": "predictive loading",
    "remote_fallback": "remotes and federation",
    "remotes": "remotes and federation",
    "replicas": "replicas",
    "router": "router children",
    "router_max_models": "router children",
    "session_bank": "sessions",
    "session_keep_secs": "sessions",
    "spec_auto_manage": "the governor of speculation",
    "ubatch_auto": "adaptive micro-batches of the supervisor",
    "warm_peg": "warm pegs",
    "whisper_beam_size": "the whisper lane",
    "whisper_best_of": "the whisper lane",
    "whisper_diarize": "the whisper lane",
    "whisper_entropy_thold": "the whisper lane",
    "whisper_extra_args": "the whisper lane",
    "whisper_idle_secs": "the whisper lane",
    "whisper_logprob_thold": "the whisper lane",
    "whisper_stream_chunk_ms": "the whisper lane",
    "whisper_tinydiarize": "the whisper lane",
    "whisper_vad_min_silence_duration_ms": "the whisper lane",
    "whisper_vad_min_speech_duration_ms": "the whisper lane",
    "whisper_vad_model": "the whisper lane",
    "whisper_vad_threshold": "the whisper lane",
    "whisper_word_thold": "the whisper lane",
}
"""A key, and the feature that will read it."""


def said_anyway(config: Config) -> tuple[str, ...]:
    """The root keys of the list that somebody wrote down with the value that they have by default: nothing follows from that either."""
    return tuple(
        name
        for name in Config.model_fields
        if name in WAITING
        and name in config.model_fields_set
        and getattr(config, name) == Config.model_fields[name].default
    )


def waits(key: str) -> bool:
    """Whether nothing reads a key, as listings write it: dotted, a key of a table or of an override."""
    head, _, rest = key.partition(".")
    return head in WAITING or (head == "model_overrides" and rest.rpartition(".")[2] in WAITING)


def set_in_vain(config: Config) -> Iterator[str]:
    """The keys of the list that somebody gave another value than the default, as they are written."""
    for name in Config.model_fields:
        if name in WAITING and getattr(config, name) != Config.model_fields[name].default:
            yield name
    for model, override in config.model_overrides.items():
        for name in type(override).model_fields:
            if name in WAITING and name in override.model_fields_set:
                yield f"model_overrides.{model}.{name}"
