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
    n: int | None = None
    """Answers to the same chat, at most 128. They are made one after the other."""
    logprobs: bool | None = None
    top_logprobs: int | None = None
    logit_bias: dict[str, float] | None = None
    reasoning_effort: str | None = None
    think: bool | str | None = None
    stop: str | list[str] | None = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: str | dict[str, Any] | None = None
    response_format: dict[str, Any] | None = None
    """Not beside tools, which win: then it is ignored, and `x-blazar-warning` says so. An extension:
    `{"type": "gbnf", "grammar": …}` holds the answer to a grammar.
    """
    keep_alive: int | float | str | None = None
    """An extension: how long the model stays when idle."""


class CompletionBody(Wire):
    """POST /v1/completions."""

    model: str
    prompt: str | list[Any]
    suffix: str | None = None
    """What follows the gap: the prompt, one text, is what stands before it. Refused for models without infill tokens."""
    n: int | None = None
    """Completions for each prompt; at most 128 for all prompts together, and one with a suffix."""
    logprobs: int | None = None
    """Alternatives for each token; 0: the chosen ones' own. Not together with a suffix."""
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
    dimensions: int | None = None
    """The first so many numbers of each vector, of length 1 again; at most as many as the model makes."""
    truncate: bool | None = None
    """An extension: cut inputs to the model's window instead of refusing them; off without it."""
    late_chunking: bool | None = None
    """An extension, for models with `late_chunking` in their override: the inputs are the pieces of one text, each
    embedded with what stands around it.
    """
    user: str | None = None
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


class RerankDocument(Wire):
    """A document with more than its text; only that is read."""

    text: str


class RerankBody(Wire):
    """POST /v1/rerank."""

    model: str
    query: str
    documents: list[str | RerankDocument]
    top_n: int | None = None
    """How many of the best to answer with; all of them without it."""
    return_documents: bool | None = None
    """Answer with the documents beside their scores; off without it."""
    normalize: bool | None = None
    """An extension: scores between 0 and 1, by the logistic function. The order stays."""
    keep_alive: int | float | str | None = None


class RankedDocument(Wire):
    """One document's place. The score is what the model's head gives, any number: only larger means better."""

    index: int
    relevance_score: float
    document: dict[str, Any] | None = None


class Ranking(Wire):
    """The best first; of equals the one that came first."""

    id: str
    object: str
    model: str
    results: list[RankedDocument]
    usage: TokenUsage


class TokenizeBody(Wire):
    """POST /tokenize."""

    model: str
    content: str | list[str | int]
    add_special: bool | None = None
    """With the marks that the model wants around a text; off without it."""
    parse_special: bool | None = None
    """Read marks that are written out in the text as such; on without it."""
    with_pieces: bool | None = None
    """Tell the text of every token, too; off without it."""
    keep_alive: int | float | str | None = None


class TokenPiece(Wire):
    """A token with its text, or with its bytes where they are no text on their own."""

    id: int
    piece: str | list[int]


class Tokens(Wire):
    """The tokens in their order."""

    tokens: list[int | TokenPiece]


class DetokenizeBody(Wire):
    """POST /detokenize."""

    model: str
    tokens: list[int]
    keep_alive: int | float | str | None = None


class Detokenized(Wire):
    """The text."""

    content: str


class TemplateBody(Wire):
    """POST /apply-template: a chat, as for `/v1/chat/completions`."""

    model: str
    messages: list[ChatMessage]
    tools: list[dict[str, Any]] | None = None
    chat_template_kwargs: dict[str, Any] | None = None
    add_generation_prompt: bool | None = None
    keep_alive: int | float | str | None = None


class TemplatePrompt(Wire):
    """What the model would be given to go on with."""

    prompt: str


class ImageBody(Wire):
    """POST /v1/images/generations."""

    model: str
    prompt: str
    n: int | None = None
    """At most 8."""
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


class ModelMeta(Wire):
    """What is known of the weights; what is not, or means nothing for them, is left out."""

    arch: str | None = None
    quant: str | None = None
    n_params: int | None = None
    n_ctx_train: int | None = None
    n_embd: int | None = None
    size: int | None = None
    """Bytes on disk."""


class OpenAiModel(Wire):
    """One model; `meta` is an extension."""

    id: str
    object: Literal["model"]
    created: int
    owned_by: str
    meta: ModelMeta | None = None


class OpenAiModels(Wire):
    """GET /v1/models."""

    object: Literal["list"]
    data: list[OpenAiModel]


class Lifetime(Wire):
    """How long a file is kept: an hour to 30 days."""

    anchor: Literal["created_at"]
    seconds: int


class FileForm(Wire):
    """POST /v1/files, as multipart/form-data."""

    file: bytes
    """At most 512 MiB."""
    purpose: Literal["batch", "user_data", "assistants", "vision"]
    expires_after: Lifetime | None = None
    """As the fields `expires_after[anchor]` and `expires_after[seconds]`. Without it files for batches are kept 30 days."""


class FileObject(Wire):
    """One file."""

    id: str
    object: Literal["file"]
    bytes: int
    created_at: int
    expires_at: int | None = None
    filename: str
    purpose: str
    status: Literal["processed"]
    status_details: str | None = None


class FileObjects(Wire):
    """GET /v1/files."""

    object: Literal["list"]
    data: list[FileObject]
    has_more: bool
    first_id: str | None = None
    last_id: str | None = None


class FileDeleted(Wire):
    """What a deletion answers."""

    id: str
    object: Literal["file"]
    deleted: Literal[True]


class BatchBody(Wire):
    """POST /v1/batches."""

    input_file_id: str
    """A file that was sent with the purpose `batch`: one request a line, as custom_id, method, url and body."""
    endpoint: str
    completion_window: str
    """`24h`; as an extension any number of minutes (m), hours (h) or days (d)."""
    metadata: dict[str, str] | None = None
    output_expires_after: Lifetime | None = None


class ResponseTokens(Wire):
    """Token counts; the input's include cached ones. Where an engine does not count thoughts apart, theirs is their share of the text."""

    input_tokens: int
    input_tokens_details: dict[str, int]
    output_tokens: int
    output_tokens_details: dict[str, int]
    total_tokens: int


class BatchCounts(Wire):
    """How many requests there are, and what became of how many."""

    total: int
    completed: int
    failed: int


class BatchObject(Wire):
    """One batch."""

    id: str
    object: Literal["batch"]
    endpoint: str
    errors: dict[str, Any] | None = None
    input_file_id: str
    completion_window: str
    status: Literal[
        "validating", "failed", "in_progress", "finalizing", "completed", "expired", "cancelling", "cancelled"
    ]
    output_file_id: str | None = None
    error_file_id: str | None = None
    created_at: int
    expires_at: int
    in_progress_at: int | None = None
    finalizing_at: int | None = None
    completed_at: int | None = None
    failed_at: int | None = None
    expired_at: int | None = None
    cancelling_at: int | None = None
    cancelled_at: int | None = None
    request_counts: BatchCounts
    usage: ResponseTokens
    """Of all answers so far."""
    model: str | None = None
    """The one that all requests name."""
    metadata: dict[str, str] | None = None


class BatchObjects(Wire):
    """GET /v1/batches."""

    object: Literal["list"]
    data: list[BatchObject]
    has_more: bool
    first_id: str | None = None
    last_id: str | None = None
