"""Keys of what happens to a request on its way: joining, judging, tools, other gateways. Root-only (D26)."""

from typing import Annotated, ClassVar, Literal

from blazar.application.config.knob import Keys, Knob, Positive, Whole


class RequestKeys(Keys):
    """Requests on their way through the gateway."""

    title: ClassVar[str] = "Requests"
    daemon: ClassVar[bool] = True

    singleflight: bool = True
    """Answer identical chats that arrive together, and are not streamed, with one computation."""
    prompt_preflight: bool = True
    """Refuse a prompt that does not fit the window before it is computed, counting its tokens exactly where it is close."""
    sentinel: bool = True
    """Observe answers: cut off, empty, stalled, or not of the form or the tools that were asked for. Report what is seen, change nothing."""
    sentinel_stall_secs: Positive = 30
    """Seconds without a token after which a stream that has begun counts as stalled."""
    sentinel_enforce: bool = False
    """Answer 422 where a chat that is not streamed breaks what it was asked for; a request's X-Blazar-Enforce header wins."""
    decode_policy: Literal["free", "strict"] = "free"
    """What models without tools of their own may write when a request brings some: anything, or only well-formed calls of these."""
    raw_lane_max_tokens: Annotated[Whole, Knob(per_model=True)] = 2048
    """Most tokens of a raw completion for models marked ollama_compat. 0: no limit."""
    pii_scrub: bool = True
    """Hide mail addresses, secrets and IPv4 addresses in what the verbs why and watch show."""
    mcp_default: str = ""
    """Which MCP servers add their tools to a request that does not say: `all`, one server's name, or `none`; unset: none."""
    remote_fallback: bool = True
    """Send a request for a model that is not here to the peer of [[remotes]] that has it."""
