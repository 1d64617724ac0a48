"""The hot endpoints, one row each. Adding one is adding a row."""

from collections.abc import Callable
from typing import Final, NamedTuple

from blazar.adapters.http.lane import (
    embed_jobs,
    image_jobs,
    openai_jobs,
    rerank_jobs,
    responses_jobs,
    token_jobs,
    translated_jobs,
)
from blazar.adapters.http.lane.job import Job
from blazar.domain.kinds import Dialect, Task


class Row(NamedTuple):
    """Whose envelopes an endpoint wears, what a child must be able to do, and how a body is understood."""

    dialect: Dialect
    task: Task
    understand: Callable[[bytes], Job]


ROWS: Final[dict[str, Row]] = {
    "/v1/chat/completions": Row(Dialect.OPENAI, Task.CHAT, openai_jobs.chat),
    "/v1/completions": Row(Dialect.OPENAI, Task.CHAT, openai_jobs.completion),
    "/v1/responses": Row(Dialect.OPENAI, Task.CHAT, responses_jobs.responses),
    "/v1/responses/input_tokens": Row(Dialect.OPENAI, Task.CHAT, responses_jobs.input_tokens),
    "/v1/embeddings": Row(Dialect.OPENAI, Task.EMBED, embed_jobs.embeddings),
    "/v1/rerank": Row(Dialect.OPENAI, Task.RERANK, rerank_jobs.rerank),
    "/v1/reranking": Row(Dialect.OPENAI, Task.RERANK, rerank_jobs.rerank),
    "/rerank": Row(Dialect.NATIVE, Task.RERANK, rerank_jobs.rerank),
    "/reranking": Row(Dialect.NATIVE, Task.RERANK, rerank_jobs.rerank),
    "/tokenize": Row(Dialect.NATIVE, Task.TEXT, token_jobs.tokenize),
    "/detokenize": Row(Dialect.NATIVE, Task.TEXT, token_jobs.detokenize),
    "/apply-template": Row(Dialect.NATIVE, Task.TEXT, token_jobs.apply_template),
    "/v1/images/generations": Row(Dialect.OPENAI, Task.IMAGE, image_jobs.generations),
    "/v1/messages": Row(Dialect.ANTHROPIC, Task.CHAT, translated_jobs.messages),
    "/v1/messages/count_tokens": Row(Dialect.ANTHROPIC, Task.CHAT, translated_jobs.count_tokens),
    "/api/chat": Row(Dialect.OLLAMA, Task.CHAT, translated_jobs.ollama_chat),
    "/api/generate": Row(Dialect.OLLAMA, Task.CHAT, translated_jobs.ollama_generate),
    "/api/embed": Row(Dialect.OLLAMA, Task.EMBED, embed_jobs.ollama_embed),
    "/api/embeddings": Row(Dialect.OLLAMA, Task.EMBED, embed_jobs.ollama_embeddings),
}

HOT_PATHS: Final = frozenset(ROWS)
