"""Who may come in: with keys configured everything needs one but health, `HEAD /` and preflights (D7); without, nothing does.

Default-deny: a path nobody knows answers 401 before it answers 404. Preflights never get here, `cors` stands before. A key's
`max_concurrent` is judged here, before anything else of it; its place is held until the answer is drained or dropped.
"""

import asyncio
import hmac
import re
from collections.abc import Awaitable, Iterable
from contextlib import suppress
from hashlib import blake2b
from typing import Final, NamedTuple

from blazar.adapters.http.asgi import App, Receive, Scope, Send, headers_of
from blazar.adapters.http.errors import refuse
from blazar.adapters.http.layers.doors import Doors
from blazar.adapters.http.layers.quota_headers import telling
from blazar.adapters.http.record import RequestRecord, record_of
from blazar.adapters.http.routes import Gate, gate_of
from blazar.application.access.accounts import Accounts
from blazar.domain import teaching
from blazar.domain.errors import BlazarError, Forbidden, Unauthorized
from blazar.domain.keys import Key
from blazar.domain.quota import Account
from blazar.domain.tab import Tab

OPEN_PATHS: Final = frozenset({"/health", "/healthz"})
KEY_MODELS: Final = "blazar.key_models"
"""Where a scoped key's models lie in the scope; absent for a key that may use all."""

_MODEL: Final = re.compile(rb'"model"\s*:\s*"([^"\\\x00-\x1f]{1,256})"')
_LOOKED_AT: Final = 64 * 1024
_GLANCE_SECS: Final = 0.02
"""A body that came with its headers is there a moment after them."""

_OWN_THINGS: Final = ("/v1/responses", "/v1/files", "/v1/batches", "/v1/messages/batches", "/v1/chat/completions")
"""What is kept of requests, and goes on behind them."""


class Entry(NamedTuple):
    """A key as requests meet it."""

    secret: bytes
    name: str
    weight: float
    models: frozenset[str]
    account: Account


def authenticate(app: App, doors: Doors) -> App:
    """Let in who shows a configured key. Without keys this layer is not there at all."""
    if not doors.keys:
        return app
    entries = index_of(doors.keys, doors.accounts)
    doors.accounts.bar_others({key.name for key in doors.keys})
    now = doors.clock.now

    def layer(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] == "lifespan" or _is_open(scope):
            return app(scope, receive, send)
        entry = _presented(headers_of(scope), entries)
        if entry is None:
            client = scope.get("client")
            doors.refused(client[0] if client else "", scope["path"])
            return refuse(scope, send, Unauthorized())
        record = record_of(scope)
        record.key, record.weight = entry.name, entry.weight
        record.tab = Tab(entry.account)
        if is_errand(scope):
            return _scoped(app, entry, scope, receive, telling(send, entry.account, now))
        return _counted(app, entry, (scope, receive, telling(send, entry.account, now)), record)

    return layer


def index_of(keys: Iterable[Key], accounts: Accounts) -> dict[bytes, Entry]:
    """Every key by the digest of its secret: the time that a look-up takes tells nothing of any secret, nor how many there are."""
    return {
        blake2b(secret := key.key.encode()).digest(): Entry(
            secret,
            key.name,
            key.weight,
            frozenset(key.models),
            accounts.open(key),
        )
        for key in keys
    }


def is_errand(scope: Scope) -> bool:
    """Whether it only looks at, or ends, what its caller has going: that takes no place, or who uses all could end nothing.

    One that listens to events does: a stream that is held is a bounded resource (contract).
    """
    path: str = scope["path"]
    if not path.startswith(_OWN_THINGS):
        return False
    return path.endswith("/cancel") if scope["method"] == "POST" else b"stream=" not in scope.get("query_string", b"")


def _is_open(scope: Scope) -> bool:
    path = scope["path"]
    return path in OPEN_PATHS or (path == "/" and scope.get("method") == "HEAD")


async def _counted(app: App, entry: Entry, request: tuple[Scope, Receive, Send], record: RequestRecord) -> None:
    """Hold one of the key's places until the app is done, however that ends. Refused for that it costs nothing else (case L3)."""
    scope, receive, send = request
    account = entry.account
    if (exhausted := account.enter()) is not None:
        assert record.tab is not None
        if scope["type"] == "http" and not record.model:
            record.model = await _named(receive)
        await refuse(scope, send, record.tab.denied(exhausted))
        return
    try:
        await _scoped(app, entry, scope, receive, send)
    finally:
        account.leave()


async def _named(receive: Receive) -> str:
    """The model that is asked for, for the record of a refusal, where the beginning of the body is there and says one. It is not waited for.

    ODD: a refusal for too many at once names the model: it is looked for in the first bytes, whatever it belongs to; nothing but a
    column of the record comes of it.
    """
    with suppress(TimeoutError, BlazarError):
        message = await asyncio.wait_for(receive(), _GLANCE_SECS)
        if (found := _MODEL.search(message.get("body", b""), 0, _LOOKED_AT)) is not None:
            return found[1].decode(errors="replace")
    return ""


def _scoped(app: App, entry: Entry, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
    """A key with a models list manages nothing; which models it may use is for those who know what a name means."""
    if entry.models:
        if gate_of(scope.get("method", "GET"), scope["path"]) is Gate.MANAGE:
            return refuse(scope, send, Forbidden(teaching.key_is_scoped(entry.name)))
        scope[KEY_MODELS] = entry.models
    return app(scope, receive, send)


def _presented(headers: dict[bytes, bytes], entries: dict[bytes, Entry]) -> Entry | None:
    """The key that the request shows, Bearer first. A client may send a dummy in one header and the key in the other."""
    scheme, _, secret = headers.get(b"authorization", b"").partition(b" ")
    if scheme.lower() == b"bearer" and (entry := _find(secret.strip(), entries)) is not None:
        return entry
    secret = headers.get(b"x-api-key", b"")
    return _find(secret, entries) if secret else None


def _find(secret: bytes, entries: dict[bytes, Entry]) -> Entry | None:
    # BLAKE2 is in Python itself; OpenSSL's digests bring code that a first token waits for, once it has left the processor's cache.
    entry = entries.get(blake2b(secret).digest())
    # Found by its digest, and then judged by every byte in constant time: no collision and no dict decides who comes in.
    return entry if entry is not None and hmac.compare_digest(entry.secret, secret) else None
