"""Small tables of one copy each: which engine is preferred, which answers are remembered, which engines are warmed up."""

from typing import Annotated, Literal

from pydantic import Field

from blazar.application.config.knob import Keys, Positive


class EngineRouting(Keys):
    """How the engine of a model is chosen."""

    mode: Literal["auto", "manual"] = "auto"
    """auto: by the model's format; manual: of the active engines the one that was chosen last serves everything."""
    policy: Literal["quality", "latency", "throughput"] = "quality"
    """Who comes first for plain safetensors: quality and throughput begin with SGLang, latency with mistral.rs."""


class SemanticCache(Keys):
    """Answers of chats that are given again to questions which mean the same, as a loaded embedding model sees it. A request's `X-Blazar-Cache` wins."""

    enabled: bool = False
    """Remember answers."""
    ttl_secs: Positive = 600
    """Seconds for which an answer is remembered."""
    threshold: Annotated[float, Field(gt=0, le=1)] = 0.9
    """How alike two questions must be, 1 being the same."""
    max_entries: Positive = 256
    """Most answers that are remembered."""


class WarmPeg(Keys):
    """One small request after loading, so that compiling and paging are over before the first real one."""

    default: bool = True
    """For every engine kind that has none of its own below."""
    sglang: bool | None = None
    """For SGLang, whose loading waits for it; unset: as default."""
    mlx: bool | None = None
    """For mlx-lm, whose loading waits for it; unset: as default."""
    llamacpp: bool | None = None
    """For llama.cpp, beside which it runs; unset: as default."""


NEVER_PEGGED = frozenset({"mistralrs", "sdcpp"})
"""Kinds that may not be named under [warm_peg]."""
