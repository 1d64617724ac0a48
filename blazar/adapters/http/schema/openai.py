"""The OpenAI dialect as the hot lane reads and writes it, for the description. Nothing is validated with these."""

from typing import Any, Literal

from blazar.adapters.http.schema.wire import Wire


class ChatMessage(Wire):
    """One message; the content is text or a list of parts."""

    role: str
    content: str | list[dict[str, Any]] | None = None
    tool_calls: list[dict[str, Any]] | None = None
    tool_call_id: str | None = None


class StreamOptions(Wire):
    """What a stream carries beside the answer."""

    include_usage: bool | None = None


class ChatCompletionBody(Wire):
    """POST /v1/chat/completions. Sampling fields go to the engine as they are."""

    model: str
    messages: list[ChatMessage]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    stop: str | list[str] | None = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: str | dict[str, Any] | None = None
    response_format: dict[str, Any] | None = None
    """Not beside tools, which win: then it is ignored, and `x-blazar-warning` says so."""
    keep_alive: int | float | str | None = None
    """An extension: how long the model stays when idle."""


class CompletionBody(Wire):
    """POST /v1/completions."""

    model: str
    prompt: str | list[Any]
    suffix: str | None = None
    """What follows the gap: the prompt, one text, is what stands before it. Refused for models without infill tokens."""
    n: int | None = None
    """At most as many as the engine has slots."""
    logprobs: int | None = None
    """Not together with a suffix."""
    echo: Literal[False] | None = None
    best_of: Literal[1] | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    stop: str | list[str] | None = None
    json_schema: dict[str, Any] | bool | None = None
    """An extension: the JSON Schema that the text must satisfy; `response_format` has no effect on raw completions."""
    grammar: str | None = None
    """An extension: a grammar (GBNF) that the text must satisfy."""
    keep_alive: int | float | str | None = None
    """An extension: how long the model stays when idle."""


class EmbeddingBody(Wire):
    """POST /v1/embeddings."""

    model: str
    input: str | list[str] | list[int] | list[list[int]]
    encoding_format: Literal["float", "base64"] | None = None
    keep_alive: int | float | str | None = None


class TokenUsage(Wire):
    """Token counts; the prompt's include cached ones."""

    prompt_tokens: int
    total_tokens: int
    completion_tokens: int | None = None
    prompt_tokens_details: dict[str, Any] | None = None


class ChatChoice(Wire):
    """One answer."""

    index: int
    message: ChatMessage
    finish_reason: str | None = None


class ChatCompletion(Wire):
    """A buffered chat answer; a stream sends `chat.completion.chunk` events and ends with `[DONE]`."""

    id: str
    object: str
    created: int
    model: str
    choices: list[ChatChoice]
    usage: TokenUsage | None = None


class TextChoice(Wire):
    """One completion."""

    index: int
    text: str
    finish_reason: str | None = None


class Completion(Wire):
    """A buffered completion."""

    id: str
    object: str
    created: int
    model: str
    choices: list[TextChoice]
    usage: TokenUsage | None = None


class Embedding(Wire):
    """One vector; base64 of little-endian float32 when that was asked for."""

    object: str
    index: int
    embedding: list[float] | str


class Embeddings(Wire):
    """The vectors in the order of the input."""

    object: str
    data: list[Embedding]
    model: str
    usage: TokenUsage | None = None


class ImageBody(Wire):
    """POST /v1/images/generations."""

    model: str
    prompt: str
    n: int | None = None
    """At most 10."""
    size: str | None = None
    """Width and height in pixels as `512x512`, or `auto`."""
    response_format: Literal["b64_json", "url"] | None = None
    """`url` is answered with a `data:` URL."""
    output_format: Literal["png", "jpeg", "webp"] | None = None
    output_compression: int | None = None
    seed: int | None = None
    """An extension; without it every picture is another one."""
    steps: int | None = None
    """An extension: sampling steps, instead of the engine's own number."""
    cfg_scale: float | None = None
    """An extension: how closely the prompt is followed."""
    keep_alive: int | float | str | None = None
    """An extension: how long the model stays when idle."""


class Picture(Wire):
    """One picture in one of the two forms."""

    b64_json: str | None = None
    url: str | None = None


class Images(Wire):
    """The pictures, all at once."""

    created: int
    data: list[Picture]
    output_format: str | None = None


class OpenAiModel(Wire):
    """One model; `meta` is an extension."""

    id: str
    object: Literal["model"]
    created: int
    owned_by: str
    meta: dict[str, Any] | None = None


class OpenAiModels(Wire):
    """GET /v1/models."""

    object: Literal["list"]
    data: list[OpenAiModel]
