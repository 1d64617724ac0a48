"""The ollama dialect: bodies of the library routes, which are checked, and everything else, which is only described."""

from typing import Annotated, Any

from pydantic import AliasChoices, Field

from blazar.adapters.http.schema.wire import Wire

# ollama's older clients say `name`.
ModelName = Annotated[str, Field(min_length=1, validation_alias=AliasChoices("model", "name"))]


class ShowBody(Wire):
    """POST /api/show."""

    model: ModelName
    verbose: bool = False
    """Also long lists of the model's metadata."""


class DeleteBody(Wire):
    """DELETE /api/delete."""

    model: ModelName
    force: bool = False
    """An extension: do not wait for requests in flight."""


class CopyBody(Wire):
    """POST /api/copy."""

    source: Annotated[str, Field(min_length=1)]
    destination: Annotated[str, Field(min_length=1)]


class OllamaMessage(Wire):
    """One message; images are base64."""

    role: str
    content: str | None = None
    thinking: str | None = None
    images: list[str] | None = None
    tool_calls: list[dict[str, Any]] | None = None
    tool_name: str | None = None


class OllamaChatBody(Wire):
    """POST /api/chat; streams unless told otherwise."""

    model: str
    messages: list[OllamaMessage] | None = None
    stream: bool | None = None
    format: str | dict[str, Any] | None = None
    options: dict[str, Any] | None = None
    tools: list[dict[str, Any]] | None = None
    think: bool | str | None = None
    keep_alive: int | float | str | None = None


class OllamaGenerateBody(Wire):
    """POST /api/generate; an empty prompt loads, with `keep_alive: 0` it unloads."""

    model: str
    prompt: str | None = None
    suffix: str | None = None
    """What follows the gap behind the prompt. Refused for models without infill tokens."""
    system: str | None = None
    raw: bool | None = None
    images: list[str] | None = None
    stream: bool | None = None
    format: str | dict[str, Any] | None = None
    options: dict[str, Any] | None = None
    think: bool | str | None = None
    keep_alive: int | float | str | None = None


class OllamaEmbedBody(Wire):
    """POST /api/embed."""

    model: str
    input: str | list[str]
    truncate: bool | None = None
    keep_alive: int | float | str | None = None


class OllamaEmbeddingsBody(Wire):
    """POST /api/embeddings, the older shape. `input` is taken for `prompt` too."""

    model: str
    prompt: str | None = None
    keep_alive: int | float | str | None = None


class OllamaDone(Wire):
    """What the last line of every answer carries. Durations are nanoseconds."""

    model: str
    created_at: str
    done: bool
    done_reason: str | None = None
    total_duration: int | None = None
    load_duration: int | None = None
    prompt_eval_count: int | None = None
    prompt_eval_duration: int | None = None
    eval_count: int | None = None
    eval_duration: int | None = None


class OllamaChat(OllamaDone):
    """A chat answer, or one line of it."""

    message: OllamaMessage


class OllamaGenerate(OllamaDone):
    """A completion, or one line of it."""

    response: str
    thinking: str | None = None


class OllamaEmbed(Wire):
    """Vectors in the order of the input."""

    model: str
    embeddings: list[list[float]]
    total_duration: int | None = None
    load_duration: int | None = None
    prompt_eval_count: int | None = None


class OllamaEmbedding(Wire):
    """One vector."""

    embedding: list[float]


class Details(Wire):
    """What kind of weights."""

    format: str
    family: str
    parameter_size: str
    quantization_level: str
    families: list[str] | None = None
    parent_model: str | None = None


class Tag(Wire):
    """One model on disk."""

    name: str
    model: str
    modified_at: str
    size: int
    digest: str
    details: Details


class Tags(Wire):
    """GET /api/tags."""

    models: list[Tag]


class Running(Wire):
    """One loaded model: ollama's fields, then ours. Sizes are bytes."""

    name: str
    model: str
    size: int
    size_vram: int
    digest: str
    details: Details
    expires_at: str
    context_length: int
    key: str
    state: str
    engine: str
    provenance: str
    pid: int
    port: int
    slots: int
    in_flight: int
    waiting: int
    rss: int
    load_seconds: float
    until_seconds: int | None = None
    """Until it is unloaded if nobody asks; null: it stays, or is busy."""
    notes: list[str]
    last_error: str


class ProcessList(Wire):
    """GET /api/ps."""

    models: list[Running]


class Shown(Wire):
    """POST /api/show."""

    modelfile: str
    parameters: str
    template: str
    details: Details
    model_info: dict[str, Any]
    capabilities: list[str]


class OllamaError(Wire):
    """Errors of ollama routes."""

    error: str
