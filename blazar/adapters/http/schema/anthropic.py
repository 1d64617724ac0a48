"""The Anthropic dialect as the hot lane reads and writes it, for the description. Nothing is validated with these."""

from typing import Any, Literal

from blazar.adapters.http.schema.wire import Wire


class AnthropicMessage(Wire):
    """One turn; the content is text or a list of blocks."""

    role: str
    content: str | list[dict[str, Any]]


class MessagesBody(Wire):
    """POST /v1/messages."""

    model: str
    max_tokens: int
    messages: list[AnthropicMessage]
    system: str | list[dict[str, Any]] | None = None
    stream: bool | None = None
    stop_sequences: list[str] | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: dict[str, Any] | None = None
    thinking: dict[str, Any] | None = None
    """Absent means that the model does not think."""


class CountTokensBody(Wire):
    """POST /v1/messages/count_tokens."""

    model: str
    messages: list[AnthropicMessage]
    system: str | list[dict[str, Any]] | None = None
    tools: list[dict[str, Any]] | None = None


class TokenCount(Wire):
    """What the whole rendered prompt costs."""

    input_tokens: int


class AnthropicUsage(Wire):
    """Token counts. Most engines do not count thoughts apart: theirs is then their share of the text."""

    input_tokens: int
    output_tokens: int
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    output_tokens_details: dict[str, int] | None = None


class AnthropicReply(Wire):
    """A buffered answer; a stream sends the events `message_start` to `message_stop`."""

    id: str
    type: Literal["message"]
    role: Literal["assistant"]
    model: str
    content: list[dict[str, Any]]
    stop_reason: str | None = None
    stop_sequence: str | None = None
    usage: AnthropicUsage


class AnthropicErrorBody(Wire):
    """What is inside `error`."""

    type: str
    message: str


class AnthropicError(Wire):
    """Errors of Anthropic routes."""

    type: Literal["error"]
    error: AnthropicErrorBody
    request_id: str | None = None


class AnthropicModel(Wire):
    """One model."""

    type: Literal["model"]
    id: str
    display_name: str
    created_at: str
    lifecycle: str
    max_input_tokens: int | None = None
    """Null where it is unknown; left out of a model that draws."""
    max_tokens: int | None = None


class AnthropicModels(Wire):
    """GET /v1/models with an anthropic-version header."""

    data: list[AnthropicModel]
    has_more: bool
    first_id: str | None = None
    last_id: str | None = None


class BatchedMessage(Wire):
    """One request of a batch: `params` are those of POST /v1/messages, without `stream`."""

    custom_id: str
    params: dict[str, Any]


class MessageBatchBody(Wire):
    """POST /v1/messages/batches."""

    requests: list[BatchedMessage]


class MessageBatchCounts(Wire):
    """All are processing until the batch has ended."""

    processing: int
    succeeded: int
    errored: int
    canceled: int
    expired: int


class MessageBatch(Wire):
    """One message batch."""

    id: str
    type: Literal["message_batch"]
    processing_status: Literal["in_progress", "canceling", "ended"]
    request_counts: MessageBatchCounts
    created_at: str
    expires_at: str
    ended_at: str | None = None
    cancel_initiated_at: str | None = None
    archived_at: str | None = None
    results_url: str | None = None


class MessageBatches(Wire):
    """GET /v1/messages/batches."""

    data: list[MessageBatch]
    has_more: bool
    first_id: str | None = None
    last_id: str | None = None


class MessageBatchDeleted(Wire):
    """What a deletion answers."""

    id: str
    type: Literal["message_batch_deleted"]
