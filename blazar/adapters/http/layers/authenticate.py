"""Who may come in: with keys configured everything needs one but health, `HEAD /` and preflights (D7); without, nothing does.

Default-deny: a path nobody knows answers 401 before it answers 404. Preflights never get here, `cors` stands before.
"""

import hmac
from collections.abc import Awaitable
from hashlib import sha256
from typing import Final

from blazar.adapters.http.asgi import App, Receive, Scope, Send, headers_of
from blazar.adapters.http.errors import refuse
from blazar.adapters.http.layers.doors import Doors, Key
from blazar.adapters.http.record import record_of
from blazar.adapters.http.routes import Gate, gate_of
from blazar.domain import teaching
from blazar.domain.errors import Forbidden, Unauthorized

OPEN_PATHS: Final = frozenset({"/health", "/healthz"})
KEY_MODELS: Final = "blazar.key_models"
"""Where a scoped key's models lie in the scope; absent for a key that may use all."""


def authenticate(app: App, doors: Doors) -> App:
    """Let in who shows a configured key. Without keys this layer is not there at all."""
    if not doors.keys:
        return app
    digests = [(sha256(key.key.encode()).digest(), key) for key in doors.keys]

    def layer(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] == "lifespan" or _is_open(scope):
            return app(scope, receive, send)
        key = _presented(headers_of(scope), digests)
        if key is None:
            client = scope.get("client")
            doors.refused(client[0] if client else "", scope["path"])
            return refuse(scope, send, Unauthorized())
        record_of(scope).key = key.name
        if key.models:
            if gate_of(scope.get("method", "GET"), scope["path"]) is Gate.MANAGE:
                return refuse(scope, send, Forbidden(teaching.key_is_scoped(key.name)))
            scope[KEY_MODELS] = frozenset(key.models)
        return app(scope, receive, send)

    return layer


def _is_open(scope: Scope) -> bool:
    path = scope["path"]
    return path in OPEN_PATHS or (path == "/" and scope.get("method") == "HEAD")


def _presented(headers: dict[bytes, bytes], digests: list[tuple[bytes, Key]]) -> Key | None:
    """The key that the request shows, Bearer first. A client may send a dummy in one header and the key in the other."""
    scheme, _, secret = headers.get(b"authorization", b"").partition(b" ")
    if scheme.lower() == b"bearer" and (key := _find(secret.strip(), digests)) is not None:
        return key
    secret = headers.get(b"x-api-key", b"")
    return _find(secret, digests) if secret else None


def _find(secret: bytes, digests: list[tuple[bytes, Key]]) -> Key | None:
    # Digests of equal length compared in constant time: neither length nor prefix of a key can be timed.
    shown = sha256(secret).digest()
    for digest, key in digests:
        if hmac.compare_digest(digest, shown):
            return key
    return None
