"""The ollama dialect: bodies of the library routes, which are checked, and everything else, which is only described."""

from typing import Annotated, Any

from pydantic import AfterValidator, AliasChoices, Field

from blazar.adapters.http.schema.wire import Wire
from blazar.domain.names import untagged


def _untagged(name: str | None) -> str | None:
    return name and untagged(name)


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
    destination: Annotated[str, Field(min_length=1), AfterValidator(untagged)]
    overwrite: bool = True
    """Ours: false refuses a name that is taken. Ollama's clients know no such word, and expect that the copy takes its place."""


class CreateBody(Wire):
    """POST /api/create; streams unless told otherwise."""

    model: Annotated[ModelName, AfterValidator(untagged)]
    from_: Annotated[str | None, Field(alias="from")] = None
    """A model of the catalog."""
    files: dict[str, Any] | None = None
    """Names of GGUF files, and digests of the blobs that they are."""
    adapters: dict[str, Any] | None = None
    """LoRA adapters, likewise."""
    template: str | None = None
    """A Jinja template over `messages`."""
    system: str | None = None
    parameters: dict[str, Any] | None = None
    messages: list[Any] | None = None
    license: str | list[Any] | None = None
    quantize: str | None = None
    """Refused: weights are used as they are."""
    quantization: str | None = None
    """What older clients call it."""
    modelfile: str | None = None
    """The text of a Modelfile, as older clients send it."""
    fresh: bool = False
    """An extension: nothing of what lies over `from` is taken over, only its weights."""
    stream: bool = True


class PullBody(Wire):
    """POST /api/pull; streams unless told otherwise. `with`, `draft`, `as` and `hub` are extensions."""

    model: ModelName
    """A reference: `qwen3:0.6b`, `hf:owner/repo:Q4_K_M`, an address of a GGUF file."""
    insecure: bool = False
    """Has no effect: nothing is fetched without TLS but from this machine."""
    stream: bool = True
    with_: Annotated[dict[str, Any] | None, Field(alias="with")] = None
    """References of the other files of a diffusion set, by their role."""
    draft: Any = None
    """A reference of a model that guesses ahead for this one; true for the one that is known to go with it."""
    as_: Annotated[str | None, Field(alias="as"), AfterValidator(_untagged)] = None
    """What the catalog shall call it: without it what `model` says, as clients ask for it; empty for a short name by the reference."""
    hub: str | None = None
    """The hub that its caller would ask; where another one is asked, a note says so. Nothing is asked of it."""


class OllamaStatus(Wire):
    """A step of a creation, or how it ended."""

    status: str


class PullStatus(OllamaStatus):
    """A step of a pull, or how it ended. The last one is `success`, and the only one that says what came."""

    digest: str | None = None
    """Of the file that the step is about."""
    total: int | None = None
    completed: int | None = None
    file: str | None = None
    """What people call it."""
    note: str | None = None
    model: str | None = None
    """What the catalog calls it now; absent where what came is no model by itself."""
    fresh: bool | None = None
    """False: everything was there already."""
    path: str | None = None
    notes: list[str] | None = None
    unserved: str | None = None
    """Why no engine here serves it, and what to do about that."""


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
    logprobs: bool | None = None
    top_logprobs: int | None = None
    """Alternatives a token, up to 20."""
    keep_alive: int | float | str | None = None


class OllamaGenerateBody(Wire):
    """POST /api/generate; an empty prompt loads, with `keep_alive: 0` it unloads."""

    model: str
    prompt: str | None = None
    suffix: str | None = None
    """What follows the gap behind the prompt. Refused for models without infill tokens."""
    system: str | None = None
    template: str | None = None
    """One of Go's, with .System, .Prompt and .Response, instead of the model's own."""
    context: list[int] | None = None
    """The context of an earlier answer: the conversation goes on."""
    raw: bool | None = None
    images: list[str] | None = None
    stream: bool | None = None
    format: str | dict[str, Any] | None = None
    options: dict[str, Any] | None = None
    think: bool | str | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    """Alternatives a token, up to 20."""
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
    logprobs: list[dict[str, Any]] | None = None
    """A row a token, where they were asked for."""


class OllamaChat(OllamaDone):
    """A chat answer, or one line of it."""

    message: OllamaMessage


class OllamaGenerate(OllamaDone):
    """A completion, or one line of it."""

    response: str
    thinking: str | None = None
    context: list[int] | None = None
    """With the last line: the conversation so far, for a next request."""


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
    fit: str | None = None
    """With `?fit=true`: whether it fits this machine, about, by its size alone. Empty where that cannot be told."""
    lane: str | None = None
    """With `?fit=true`: the kind of engine that would serve it. Empty where none that is installed would."""


class Tags(Wire):
    """GET /api/tags."""

    models: list[Tag]


class Queued(Wire):
    """How many requests of one priority and class wait."""

    priority: str
    work: str
    waiting: int


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
    abandoned: int
    """Of those in flight: their clients have left, and the engine computes them to their end."""
    waiting: int
    queued: list[Queued]
    """The same by priority and class; first those whose turn comes first."""
    rss: int
    planned: int
    """What the plan counts, all places together; 0: nobody could count it."""
    measured: int
    """What it uses, all places together, without pages of its files that it will not read again."""
    allocated: int
    """What of that the engine says it allocated or mapped; 0: it says nothing."""
    devices: dict[str, int]
    """What of that lies on accelerators, by the engine's names for them."""
    load_seconds: float
    until_seconds: int | None = None
    """Until it is unloaded if nobody asks; null: it stays, or is busy."""
    cache_hint: float | None = None
    """Share of its prompts that its cache held, smoothed over minutes; null: not known, or its engine does not tell."""
    spec_accept: float | None = None
    """The same of what was guessed ahead for it and was right."""
    tokens_per_second: float | None = None
    """How fast its last streamed answers came, smoothed; null: none did yet."""
    blazar_sleeping: bool
    """It let its memory go until it is asked for again (`idle_sleep_secs`)."""
    outdated: bool
    """The configuration means otherwise by now: it is replaced once nothing runs on it."""
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
    """The file's metadata; long lists are null unless `verbose`."""
    capabilities: list[str]
    modified_at: str
    license: str | None = None
    system: str | None = None
    """The system prompt that it was created with."""
    messages: list[dict[str, Any]] | None = None
    """What stands before every conversation with it."""
    projector_info: dict[str, Any] | None = None
    """Metadata of the projector that a request with pictures is served with, and `general.parameter_count`."""


class OllamaError(Wire):
    """Errors of ollama routes."""

    error: str
