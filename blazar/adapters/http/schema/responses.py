"""The Responses dialect and kept chat completions, for the description. Nothing is validated with these."""

from typing import Any, Literal

from blazar.adapters.http.schema.openai import ChatCompletion, ChatMessage, ResponseTokens
from blazar.adapters.http.schema.wire import Wire


class InputTokensBody(Wire):
    """POST /v1/responses/input_tokens: what a response would be asked for with."""

    model: str
    input: str | list[dict[str, Any]]
    """A text, or items: messages (with or without a type), calls and their outputs, reasoning, references to kept items."""
    instructions: str | None = None
    """Stands before everything, and holds for this answer alone."""
    previous_response_id: str | None = None
    """The kept response that this one goes on from."""
    tools: list[dict[str, Any]] | None = None
    """`function`, `custom` and `namespace`; others are left out, and `x-blazar-warning` says so."""
    tool_choice: str | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    text: dict[str, Any] | None = None
    """`format`: text, json_object or json_schema. Not beside tools, which win."""
    reasoning: dict[str, Any] | None = None
    """`effort`; with a `summary` thoughts are told as summaries."""
    truncation: Literal["auto", "disabled"] | None = None
    """`auto`: a conversation that is longer than the window loses its beginning, and `x-blazar-warning` says how much."""


class ResponseBody(InputTokensBody):
    """POST /v1/responses."""

    max_output_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    metadata: dict[str, str] | None = None
    store: bool | None = None
    """Whether the response is kept; true unless said."""
    background: bool | None = None
    """Answer at once, and work on it while nobody waits."""
    stream: bool | None = None
    include: list[str] | None = None
    """`reasoning.encrypted_content` hands thoughts out for keeping, `message.output_text.logprobs` tells probabilities."""
    top_logprobs: int | None = None
    """So many alternatives to each token, up to 20."""
    keep_alive: int | float | str | None = None
    """An extension: how long the model stays when idle."""


class InputTokens(Wire):
    """What the whole rendered prompt costs."""

    object: Literal["response.input_tokens"]
    input_tokens: int


class ResponseObject(Wire):
    """A response; a stream sends typed events, the last of which holds it."""

    id: str
    object: Literal["response"]
    created_at: int
    status: Literal["queued", "in_progress", "completed", "incomplete", "failed", "cancelled"]
    model: str
    output: list[dict[str, Any]]
    error: dict[str, Any] | None = None
    incomplete_details: dict[str, Any] | None = None
    previous_response_id: str | None = None
    metadata: dict[str, str] | None = None
    usage: ResponseTokens | None = None


class Deleted(Wire):
    """What is kept no more."""

    id: str
    object: str
    deleted: bool


class InputItems(Wire):
    """What a response was made from, the conversation before it included."""

    object: Literal["list"]
    data: list[dict[str, Any]]
    first_id: str | None
    last_id: str | None
    has_more: bool


class MetadataBody(Wire):
    """POST /v1/chat/completions/{id}."""

    metadata: dict[str, str] | None


class StoredCompletion(ChatCompletion):
    """A chat completion that was kept."""

    metadata: dict[str, str]


class StoredCompletions(Wire):
    """GET /v1/chat/completions."""

    object: Literal["list"]
    data: list[StoredCompletion]
    first_id: str | None
    last_id: str | None
    has_more: bool


class StoredMessage(ChatMessage):
    """A message of a kept completion."""

    id: str
    content_parts: list[dict[str, Any]] | None = None


class StoredMessages(Wire):
    """GET /v1/chat/completions/{id}/messages."""

    object: Literal["list"]
    data: list[StoredMessage]
    first_id: str | None
    last_id: str | None
    has_more: bool
