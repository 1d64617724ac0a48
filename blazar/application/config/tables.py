"""Tables of the file that are more than a value: API keys, other servers, tools, what engine kinds are tuned with."""

from typing import Annotated, ClassVar

from pydantic import Field, Strict

from blazar.application.config.knob import Keys, Words
from blazar.application.config.mcp import McpServer
from blazar.application.config.remotes import Remote
from blazar.application.config.switchboard import SemanticCache, WarmPeg
from blazar.application.config.tuning import MistralrsTuning, MlxTuning, SglangTuning


class ApiKey(Keys):
    """One `[[keys]]` entry. As soon as there is one, every request needs a key."""

    name: Annotated[str, Field(min_length=1)]
    """What the key is called in logs and listings."""
    key: Annotated[str, Field(min_length=1, repr=False)]
    """The secret that a client sends."""
    models: Words = ()
    """Models that this key may use; empty: all of them, and management."""
    rpm: Annotated[int, Field(ge=1)] | None = None
    """Requests in any sixty seconds; unset: as many as come."""
    tpm: Annotated[int, Field(ge=1)] | None = None
    """Tokens in any sixty seconds, of prompts and answers of chats; unset: no limit."""
    daily_tokens: Annotated[int, Field(ge=1)] | None = None
    """Tokens in a day of UTC, of prompts and answers; unset: no limit."""
    max_concurrent: Annotated[int, Field(ge=1)] | None = None
    """Requests at the same time, a stream counting until its end; unset: no limit."""
    weight: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    """Share of this key where several wait: twice the weight, twice the turns."""


class TableKeys(Keys):
    """Entries that repeat."""

    title: ClassVar[str] = "Tables"

    keys: Annotated[tuple[ApiKey, ...], Strict(strict=False)] = ()
    """API keys, one `[[keys]]` table each. Without any the gateway is open and refuses management."""
    remotes: Annotated[tuple[Remote, ...], Strict(strict=False)] = ()
    """Other servers, one `[[remotes]]` table each."""
    mcp: Annotated[tuple[McpServer, ...], Strict(strict=False)] = ()
    """MCP servers whose tools requests may ask for, one `[[mcp]]` table each."""
    semantic_cache: SemanticCache = SemanticCache()
    """Answers that are given again."""
    warm_peg: WarmPeg = WarmPeg()
    """Engines that are warmed up after loading."""
    sglang: SglangTuning = SglangTuning()
    """Knobs of SGLang."""
    mistralrs: MistralrsTuning = MistralrsTuning()
    """Knobs of mistral.rs."""
    mlx: MlxTuning = MlxTuning()
    """Knobs of mlx-lm."""
