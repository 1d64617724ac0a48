"""The whole URL surface, one row each: who answers, and who may ask. The only place where a public path is written.

Quart's rules, the 405 answers, the census test and /openapi.json all come from these rows.
"""

import re
from enum import StrEnum
from functools import cache
from typing import Final, NamedTuple


class Gate(StrEnum):
    """What a caller needs once keys are configured; without keys everything is open (contract)."""

    OPEN = "open"  # nothing, ever
    KEY = "key"  # any configured key
    MANAGE = "manage"  # a key without a models list


class Route(NamedTuple):
    """`key` is family.name: the blueprint and its handler. `lane` rows are answered by the hot lane, before Quart.

    `upload` are the bytes that a body may have which is no JSON and goes to disk as it comes (D12); before Quart, too.
    """

    method: str
    path: str
    key: str
    gate: Gate
    summary: str
    lane: bool = False
    upload: int = 0


LARGEST_UPLOAD: Final = 513 * 2**20
"""Bytes of a form with a file: the largest file (D12), and a megabyte for what stands around it."""
LARGEST_BLOB: Final = 2**46
"""Bytes of a blob. No bound of its own: the room on disk is asked about first (D12)."""

ROUTES: Final = (
    Route("GET", "/", "meta.root", Gate.KEY, "Say that the server runs (HEAD needs no key)"),
    Route("GET", "/health", "meta.health", Gate.OPEN, "Whether the daemon is ready"),
    Route("GET", "/healthz", "meta.health", Gate.OPEN, "Whether the daemon is ready"),
    Route("GET", "/metrics", "meta.metrics", Gate.KEY, "Prometheus text exposition"),
    Route("GET", "/openapi.json", "meta.openapi", Gate.KEY, "This description"),
    Route("GET", "/api/version", "meta.version", Gate.KEY, "The ollama version this server is compatible with"),
    # OpenAI
    Route("GET", "/v1/models", "models.listing", Gate.KEY, "List models; Anthropic's shape with anthropic-version"),
    Route("GET", "/v1/models/{id}", "models.one", Gate.KEY, "Describe one model"),
    Route("POST", "/v1/chat/completions", "lane.chat_completions", Gate.KEY, "Chat", lane=True),
    Route("GET", "/v1/chat/completions", "completions.page", Gate.KEY, "List kept chat completions (`store: true`)"),
    Route("GET", "/v1/chat/completions/{id}", "completions.one", Gate.KEY, "A kept chat completion"),
    Route("POST", "/v1/chat/completions/{id}", "completions.update", Gate.KEY, "Exchange its metadata"),
    Route("DELETE", "/v1/chat/completions/{id}", "completions.delete", Gate.KEY, "Keep it no more"),
    Route(
        "GET", "/v1/chat/completions/{id}/messages", "completions.messages", Gate.KEY, "The messages that it answered"
    ),
    Route("POST", "/v1/responses", "lane.responses", Gate.KEY, "Respond to items, with typed events", lane=True),
    Route("POST", "/v1/responses/input_tokens", "lane.input_tokens", Gate.KEY, "Count what it would read", lane=True),
    Route("GET", "/v1/responses/{id}", "responses.one", Gate.KEY, "A kept response, or its events"),
    Route("DELETE", "/v1/responses/{id}", "responses.delete", Gate.KEY, "Keep it no more"),
    Route("GET", "/v1/responses/{id}/input_items", "responses.input_items", Gate.KEY, "What it was made from"),
    Route("POST", "/v1/responses/{id}/cancel", "responses.cancel", Gate.KEY, "Stop one that runs in the background"),
    Route(
        "POST",
        "/v1/completions",
        "lane.completions",
        Gate.KEY,
        "Complete a prompt; with a suffix, fill in what is missing between the two",
        lane=True,
    ),
    Route("POST", "/v1/embeddings", "lane.embeddings", Gate.KEY, "Embed texts", lane=True),
    Route("POST", "/v1/rerank", "lane.rerank", Gate.KEY, "Score documents for a query", lane=True),
    Route("POST", "/rerank", "lane.rerank", Gate.KEY, "The same as /v1/rerank", lane=True),
    Route("POST", "/v1/reranking", "lane.rerank", Gate.KEY, "The same as /v1/rerank", lane=True),
    Route("POST", "/reranking", "lane.rerank", Gate.KEY, "The same as /v1/rerank", lane=True),
    Route("POST", "/tokenize", "lane.tokenize", Gate.KEY, "Cut a text into a model's tokens", lane=True),
    Route("POST", "/detokenize", "lane.detokenize", Gate.KEY, "Make text of a model's tokens", lane=True),
    Route(
        "POST",
        "/apply-template",
        "lane.apply_template",
        Gate.KEY,
        "The prompt that a model's template makes of a chat",
        lane=True,
    ),
    Route("POST", "/v1/images/generations", "lane.image_generations", Gate.KEY, "Draw pictures", lane=True),
    Route(
        "POST",
        "/v1/files",
        "files.upload",
        Gate.KEY,
        "Send a file, as a form with `file` and `purpose`",
        upload=LARGEST_UPLOAD,
    ),
    Route("GET", "/v1/files", "files.listing", Gate.KEY, "List files"),
    Route("GET", "/v1/files/{id}", "files.one", Gate.KEY, "Describe a file"),
    Route("DELETE", "/v1/files/{id}", "files.delete", Gate.KEY, "Delete a file"),
    Route("GET", "/v1/files/{id}/content", "files.content", Gate.KEY, "A file's bytes"),
    Route("POST", "/v1/batches", "batches.create", Gate.KEY, "Have the requests in a file answered, when nobody waits"),
    Route("GET", "/v1/batches", "batches.listing", Gate.KEY, "List batches"),
    Route("GET", "/v1/batches/{id}", "batches.one", Gate.KEY, "Describe a batch"),
    Route("POST", "/v1/batches/{id}/cancel", "batches.cancel", Gate.KEY, "Ask no more of a batch's requests"),
    # Anthropic
    Route("POST", "/v1/messages", "lane.messages", Gate.KEY, "Chat in Anthropic's dialect", lane=True),
    Route("POST", "/v1/messages/count_tokens", "lane.count_tokens", Gate.KEY, "Count a prompt's tokens", lane=True),
    Route(
        "POST",
        "/v1/messages/batches",
        "message_batches.create",
        Gate.KEY,
        "Have messages answered when nobody waits, in Anthropic's dialect",
    ),
    Route("GET", "/v1/messages/batches", "message_batches.listing", Gate.KEY, "List message batches"),
    Route("GET", "/v1/messages/batches/{id}", "message_batches.one", Gate.KEY, "Describe a message batch"),
    Route("DELETE", "/v1/messages/batches/{id}", "message_batches.delete", Gate.KEY, "Delete a message batch"),
    Route(
        "GET",
        "/v1/messages/batches/{id}/results",
        "message_batches.results",
        Gate.KEY,
        "The results of a message batch, a line each",
    ),
    Route(
        "POST",
        "/v1/messages/batches/{id}/cancel",
        "message_batches.cancel",
        Gate.KEY,
        "Ask no more of a message batch's requests",
    ),
    # ollama
    Route("POST", "/api/chat", "lane.ollama_chat", Gate.KEY, "Chat in ollama's dialect", lane=True),
    Route(
        "POST",
        "/api/generate",
        "lane.ollama_generate",
        Gate.KEY,
        "Complete in ollama's dialect, with or without a suffix",
        lane=True,
    ),
    Route("POST", "/api/embed", "lane.ollama_embed", Gate.KEY, "Embed texts in ollama's dialect", lane=True),
    Route("POST", "/api/embeddings", "lane.ollama_embeddings", Gate.KEY, "Embed one text, older shape", lane=True),
    Route("GET", "/api/tags", "library.tags", Gate.KEY, "List models in ollama's dialect"),
    Route("POST", "/api/show", "library.show", Gate.KEY, "Describe one model in ollama's dialect"),
    Route("DELETE", "/api/delete", "library.delete", Gate.MANAGE, "Remove a model"),
    Route("POST", "/api/copy", "library.copy", Gate.MANAGE, "Give a model a second name, in the place of what has it"),
    Route(
        "POST",
        "/api/pull",
        "library.pull",
        Gate.MANAGE,
        "Download a model, or what is newer of it; who asks for the same joins in",
    ),
    Route("POST", "/api/push", "library.push", Gate.MANAGE, "Refused: nothing is uploaded"),
    Route(
        "POST",
        "/api/create",
        "library.create",
        Gate.MANAGE,
        "Create a model from another one, or from GGUF blobs: a second name and an override, no copy",
    ),
    Route("HEAD", "/api/blobs/{digest}", "library.has_blob", Gate.MANAGE, "Whether a blob is there"),
    Route(
        "POST",
        "/api/blobs/{digest}",
        "library.blob",
        Gate.MANAGE,
        "Send a blob, to create a model from",
        upload=LARGEST_BLOB,
    ),
    # Native
    Route("GET", "/api/ps", "children.ps", Gate.KEY, "List loaded models"),
    Route(
        "POST",
        "/api/ps",
        "children.reset",
        Gate.MANAGE,
        'Close open crash breakers, with {"reset": true}: their models may be loaded again at once (an extension)',
    ),
    Route("POST", "/api/load", "children.load", Gate.MANAGE, "Load a model now"),
    Route("POST", "/api/evict", "children.evict", Gate.MANAGE, "Unload a model"),
    Route(
        "GET",
        "/api/events",
        "events.stream",
        Gate.MANAGE,
        "What happens to models, engines and the configuration, as server-sent events",
    ),
    Route(
        "GET", "/api/why", "why.stories", Gate.KEY, "The stories of requests that have ended, without what they said"
    ),
    Route("GET", "/api/keys", "keys.listing", Gate.MANAGE, "List API keys, without their secrets"),
    Route("POST", "/api/keys", "keys.add", Gate.MANAGE, "Make an API key; its secret is told here and nowhere else"),
    Route("GET", "/api/keys/{name}", "keys.one", Gate.MANAGE, "Describe an API key"),
    Route(
        "PATCH",
        "/api/keys/{name}",
        "keys.update",
        Gate.MANAGE,
        "Change what an API key may do; null takes a limit away",
    ),
    Route("DELETE", "/api/keys/{name}", "keys.delete", Gate.MANAGE, "Remove an API key; the last one stays"),
    Route("POST", "/api/keys/{name}/rotate", "keys.rotate", Gate.MANAGE, "Give an API key a new secret"),
    Route("GET", "/api/keys/{name}/usage", "keys.usage", Gate.MANAGE, "What an API key used, by UTC day"),
    Route("GET", "/api/config", "config.show", Gate.MANAGE, "The configuration that holds now, without secrets"),
    Route("GET", "/api/explain", "reports.explain", Gate.MANAGE, "How a model would be run"),
    Route(
        "POST", "/api/fit", "fit.preview", Gate.MANAGE, "What a model would take, and whether it fits; loads nothing"
    ),
    Route("GET", "/api/engines", "reports.engines", Gate.MANAGE, "List installed engine builds"),
    Route("GET", "/api/doctor", "reports.doctor", Gate.MANAGE, "Check this installation"),
)

WITH_SLASHES: Final = frozenset({"/v1/models/{id}"})
"""Paths whose id is a model's name, which may hold slashes. Elsewhere it is one segment: what stands behind it is another path."""

_NO_ID: Final = re.compile(r"/v1/responses/(?!resp_)[^/]+")


def is_no_id(path: str) -> bool:
    """Whether a word stands where an id would: a route of the service that is not here, and no response that cannot do this."""
    path = "/" + path.strip("/")
    return _NO_ID.fullmatch(path) is not None and path not in _table()[0]


_ABROAD: Final = re.compile(r"/api/(me|signout|web_search|web_fetch|user/.*|experimental/.*)")
"""What newer clients of ollama ask its cloud for, through the local server. Refused by name, or they show a bare path."""


def is_abroad(path: str) -> bool:
    """Whether only an account elsewhere could answer."""
    return _ABROAD.fullmatch("/" + path.strip("/")) is not None


@cache
def _table() -> tuple[dict[str, list[Route]], list[tuple[re.Pattern[str], Route]]]:
    exact: dict[str, list[Route]] = {}
    patterns = []
    for route in ROUTES:
        if "{" in route.path:
            one = "(.+)" if route.path in WITH_SLASHES else "([^/]+)"
            patterns.append((re.compile(re.sub(r"\{\w+\}", one, route.path)), route))
        else:
            exact.setdefault(route.path, []).append(route)
    return exact, patterns


def routes_at(path: str) -> list[Route]:
    """Every row that `path` belongs to, whatever the method.

    Quart forgives slashes before and after, so they are no way around a gate.
    """
    exact, patterns = _table()
    path = "/" + path.strip("/")
    return exact.get(path) or [route for pattern, route in patterns if pattern.fullmatch(path)]


def methods_at(path: str) -> list[str]:
    """The methods that `path` knows; empty when there is no such path."""
    methods = {route.method for route in routes_at(path)}
    return sorted(methods | {"HEAD"} if "GET" in methods else methods)


@cache
def gate_of_row(key: str) -> Gate:
    """The gate of whatever `family.name` answers: the strictest of its rows."""
    gates = {route.gate for route in ROUTES if route.key == key}
    return Gate.MANAGE if Gate.MANAGE in gates or not gates else Gate.KEY


def upload_at(method: str, path: str) -> Route | None:
    """The row whose bodies go to disk as they come; None where they are JSON."""
    return next((route for route in routes_at(path) if route.upload and route.method == method), None)


def gate_of(method: str, path: str) -> Gate:
    """The gate of a request. Anything that is not a row is default-deny: it needs a key, even to hear 404 (D7)."""
    rows = {route.method: route.gate for route in routes_at(path)}
    return rows.get(method, rows.get("GET", Gate.KEY) if method == "HEAD" else Gate.KEY)
