"""The OpenAPI 3.1 document, made from the route table and the wire models. Pure, and made once.

A row without an entry in `BODIES` has no body; a row without one in `ANSWERS` answers with the text named in `TEXTS` or with nothing.
"""

import json
import re
from functools import cache
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from blazar.adapters.http.errors import dialect_of
from blazar.adapters.http.routes import ROUTES, Gate, Route
from blazar.adapters.http.schema import anthropic, keys, manage, ollama, openai, responses, stories
from blazar.domain.kinds import Dialect

BODIES: Final[dict[str, type[BaseModel]]] = {
    "lane.chat_completions": openai.ChatCompletionBody,
    "lane.completions": openai.CompletionBody,
    "lane.responses": responses.ResponseBody,
    "lane.input_tokens": responses.InputTokensBody,
    "completions.update": responses.MetadataBody,
    "lane.embeddings": openai.EmbeddingBody,
    "lane.rerank": openai.RerankBody,
    "lane.tokenize": openai.TokenizeBody,
    "lane.detokenize": openai.DetokenizeBody,
    "lane.apply_template": openai.TemplateBody,
    "lane.image_generations": openai.ImageBody,
    "lane.messages": anthropic.MessagesBody,
    "lane.count_tokens": anthropic.CountTokensBody,
    "lane.ollama_chat": ollama.OllamaChatBody,
    "lane.ollama_generate": ollama.OllamaGenerateBody,
    "lane.ollama_embed": ollama.OllamaEmbedBody,
    "lane.ollama_embeddings": ollama.OllamaEmbeddingsBody,
    "library.show": ollama.ShowBody,
    "library.delete": ollama.DeleteBody,
    "library.copy": ollama.CopyBody,
    "library.create": ollama.CreateBody,
    "library.pull": ollama.PullBody,
    "children.reset": manage.ResetBody,
    "children.load": manage.LoadBody,
    "children.evict": manage.EvictBody,
    "fit.preview": manage.FitBody,
    "keys.add": keys.NewKey,
    "keys.update": keys.KeySettings,
    "batches.create": openai.BatchBody,
    "message_batches.create": anthropic.MessageBatchBody,
}

FORMS: Final[dict[str, type[BaseModel]]] = {"files.upload": openai.FileForm}
"""Bodies that are no JSON but a form."""

RAW: Final = frozenset({"library.blob"})
"""Bodies that are the bytes themselves."""

ANSWERS: Final[dict[str, tuple[type[BaseModel], ...]]] = {
    "lane.chat_completions": (openai.ChatCompletion,),
    "lane.completions": (openai.Completion,),
    "completions.page": (responses.StoredCompletions,),
    "completions.one": (responses.StoredCompletion,),
    "completions.update": (responses.StoredCompletion,),
    "completions.delete": (responses.Deleted,),
    "completions.messages": (responses.StoredMessages,),
    "lane.responses": (responses.ResponseObject,),
    "lane.input_tokens": (responses.InputTokens,),
    "responses.one": (responses.ResponseObject,),
    "responses.delete": (responses.Deleted,),
    "responses.input_items": (responses.InputItems,),
    "responses.cancel": (responses.ResponseObject,),
    "lane.embeddings": (openai.Embeddings,),
    "lane.rerank": (openai.Ranking,),
    "lane.tokenize": (openai.Tokens,),
    "lane.detokenize": (openai.Detokenized,),
    "lane.apply_template": (openai.TemplatePrompt,),
    "lane.image_generations": (openai.Images,),
    "lane.messages": (anthropic.AnthropicReply,),
    "lane.count_tokens": (anthropic.TokenCount,),
    "lane.ollama_chat": (ollama.OllamaChat,),
    "lane.ollama_generate": (ollama.OllamaGenerate,),
    "lane.ollama_embed": (ollama.OllamaEmbed,),
    "lane.ollama_embeddings": (ollama.OllamaEmbedding,),
    "meta.health": (manage.Health,),
    "meta.version": (manage.Version,),
    "models.listing": (openai.OpenAiModels, anthropic.AnthropicModels),
    "models.one": (openai.OpenAiModel, anthropic.AnthropicModel),
    "files.upload": (openai.FileObject,),
    "files.listing": (openai.FileObjects,),
    "files.one": (openai.FileObject,),
    "files.delete": (openai.FileDeleted,),
    "batches.create": (openai.BatchObject,),
    "batches.listing": (openai.BatchObjects,),
    "batches.one": (openai.BatchObject,),
    "batches.cancel": (openai.BatchObject,),
    "message_batches.create": (anthropic.MessageBatch,),
    "message_batches.listing": (anthropic.MessageBatches,),
    "message_batches.one": (anthropic.MessageBatch,),
    "message_batches.cancel": (anthropic.MessageBatch,),
    "message_batches.delete": (anthropic.MessageBatchDeleted,),
    "library.tags": (ollama.Tags,),
    "library.show": (ollama.Shown,),
    "library.create": (ollama.OllamaStatus,),
    "library.pull": (ollama.PullStatus,),
    "children.ps": (ollama.ProcessList,),
    "children.reset": (manage.Reset,),
    "children.load": (ollama.Running,),
    "children.evict": (manage.Evicted,),
    "fit.preview": (manage.FitAnswer,),
    "why.stories": (stories.Stories,),
    "config.show": (manage.Configuration,),
    "keys.listing": (keys.KeyList,),
    "keys.one": (keys.ApiKeyRow,),
    "keys.add": (keys.ApiKeyTold,),
    "keys.update": (keys.ApiKeyRow,),
    "keys.rotate": (keys.ApiKeyTold,),
    "keys.delete": (keys.KeyDeleted,),
    "keys.usage": (keys.KeyUsage,),
    "reports.explain": (manage.Explanation,),
    "reports.engines": (manage.Engines,),
    "reports.doctor": (manage.Doctor,),
}

TEXTS: Final = {
    "meta.root": "text/plain",
    "meta.metrics": "text/plain",
    "meta.openapi": "application/json",
    "events.stream": "text/event-stream",
    "files.content": "application/octet-stream",
    "message_batches.results": "application/x-jsonl",
}

# Beside the buffered answer: what the same row sends when it streams.
STREAMS: Final = {
    "lane.chat_completions": "text/event-stream",
    "lane.completions": "text/event-stream",
    "lane.responses": "text/event-stream",
    "responses.one": "text/event-stream",
    "lane.messages": "text/event-stream",
    "lane.ollama_chat": "application/x-ndjson",
    "lane.ollama_generate": "application/x-ndjson",
    "library.create": "application/x-ndjson",
    "library.pull": "application/x-ndjson",
}

REFUSED: Final = frozenset({"library.push"})

ERRORS: Final[dict[Dialect, type[BaseModel]]] = {
    Dialect.OPENAI: manage.NativeError,
    Dialect.NATIVE: manage.NativeError,
    Dialect.OLLAMA: ollama.OllamaError,
    Dialect.ANTHROPIC: anthropic.AnthropicError,
}

QUERIES: Final = {
    "reports.explain": (("model", True),),
    "keys.usage": (("days", False),),
    "why.stories": tuple((name, False) for name in ("trace", "model", "limit", "key", "status")),
    "events.stream": (("after", False), ("scrub", False)),
    "models.listing": (("limit", False), ("after_id", False), ("before_id", False)),
    "completions.page": (("model", False), ("limit", False), ("after", False), ("order", False)),
    "completions.messages": (("limit", False), ("after", False), ("order", False)),
    "responses.one": (("stream", False), ("starting_after", False)),
    "responses.input_items": (("limit", False), ("after", False), ("order", False)),
    "files.listing": (("purpose", False), ("limit", False), ("after", False), ("order", False)),
    "batches.listing": (("limit", False), ("after", False)),
    "message_batches.listing": (("limit", False), ("after_id", False), ("before_id", False)),
}

_QUERY_TYPES: Final[dict[str, dict[str, Any]]] = {
    "limit": {"type": "integer", "minimum": 1},
    "days": {"type": "integer", "minimum": 1, "maximum": 400},
    "order": {"type": "string", "enum": ["asc", "desc"]},
    "stream": {"type": "boolean"},
    "scrub": {"type": "boolean"},
}
"""Whatever is not here is text."""

_DESCRIPTION: Final = "Local inference over unmodified engines, in the OpenAI, ollama and Anthropic dialects."


@cache
def document_bytes(version: str) -> bytes:
    """The document as it is served."""
    return json.dumps(document(version), ensure_ascii=False, separators=(",", ":")).encode()


def document(version: str) -> dict[str, Any]:
    """The document as data."""
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Blazar", "version": version, "description": _DESCRIPTION},
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": _schemas(),
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "apiKey": {"type": "apiKey", "in": "header", "name": "x-api-key"},
            },
        },
        "security": [{}, {"bearer": []}, {"apiKey": []}],
    }


def _schemas() -> dict[str, Any]:
    used = {
        *BODIES.values(),
        *FORMS.values(),
        *ERRORS.values(),
        *(model for answers in ANSWERS.values() for model in answers),
    }
    ordered = sorted(used, key=lambda model: model.__name__)
    pairs: Any = [(model, "validation") for model in ordered]
    _, definitions = models_json_schema(pairs, ref_template="#/components/schemas/{model}")
    found: dict[str, Any] = definitions["$defs"]
    return found


def _ref(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{model.__name__}"}


def _operation(route: Route) -> dict[str, Any]:
    several = sum(other.key == route.key for other in ROUTES) > 1  # one handler at several paths
    method = route.path.strip("/").replace("/", "_") + "_" if several else ""
    operation: dict[str, Any] = {
        "operationId": f"{method}{route.key.replace('.', '_')}",
        "summary": route.summary,
        "tags": [dialect_of(route.path).value],
        "responses": _responses(route),
    }
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"\{(\w+)\}", route.path)
    ] + [
        {
            "name": name,
            "in": "query",
            "required": required,
            "schema": _QUERY_TYPES.get(name, {"type": "string"}),
        }
        for name, required in QUERIES.get(route.key, ())
    ]
    if parameters:
        operation["parameters"] = parameters
    if (body := BODIES.get(route.key)) is not None:
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": _ref(body)}}}
    if route.key in RAW:
        content = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
        operation["requestBody"] = {"required": True, "content": content}
    if (form := FORMS.get(route.key)) is not None:
        operation["requestBody"] = {"required": True, "content": {"multipart/form-data": {"schema": _ref(form)}}}
    if route.gate is Gate.OPEN:
        operation["security"] = []
    return operation


def _responses(route: Route) -> dict[str, Any]:
    error = {"application/json": {"schema": _ref(ERRORS[dialect_of(route.path)])}}
    if route.key in REFUSED:
        return {"400": {"description": "Refused, and what to do instead", "content": error}}
    good: dict[str, Any] = {"description": "Done"}
    if route.method == "HEAD":
        return {"200": good, "default": {"description": "It is not there, or an error"}}
    if answers := ANSWERS.get(route.key):
        schemas = [_ref(model) for model in answers]
        content = {"application/json": {"schema": schemas[0] if len(schemas) == 1 else {"anyOf": schemas}}}
        if stream := STREAMS.get(route.key):
            content[stream] = {"schema": {"type": "string"}}
        good["content"] = content
    elif text := TEXTS.get(route.key):
        good["content"] = {text: {"schema": {"type": "object" if text.endswith("json") else "string"}}}
    return {"200": good, "default": {"description": "An error, in this route's dialect", "content": error}}
