"""Which web pages may read answers, and which may change anything (D9).

Local origins and desktop web views always may, listed ones are added, "*" is any. The bind address changes nothing (J2). An
unlisted page may look without reading (served without the header), but its writes are refused with the reason (J4): a form or
a text/plain request needs no preflight, so any site could otherwise evict models and spend the processor of a keyless gateway.
"""

import re
from collections.abc import Awaitable, Callable, Collection
from typing import Final

from blazar.adapters.http.asgi import App, Message, Receive, Scope, Send, headers_of
from blazar.adapters.http.errors import refuse
from blazar.adapters.http.layers.doors import Doors
from blazar.domain import teaching
from blazar.domain.errors import Forbidden

# The setup document's list. "null" is not on it: sandboxed frames of any site send that.
_LOCAL: Final = re.compile(
    rb"https?://(?:localhost|127\.0\.0\.1|\[::1\]|0\.0\.0\.0)(?::[0-9]{1,5})?"
    rb"|(?:app|file|tauri|vscode-webview|vscode-file)://[^\s]*",
    re.IGNORECASE,
)
_TOKENS: Final = re.compile(rb"[A-Za-z0-9!#$%&'*+.^_`|~, \t-]{1,4096}")

METHODS: Final = b"GET, POST, PUT, PATCH, DELETE"
EXPOSED: Final = (
    b"x-blazar-trace-id, x-request-id, request-id, retry-after, x-blazar-warning, x-blazar-structured-output, "
    b"x-blazar-served-model, x-blazar-queue-ms, x-blazar-cache, "
    b"x-ratelimit-limit-requests, x-ratelimit-remaining-requests, x-ratelimit-reset-requests, "
    b"x-ratelimit-limit-tokens, x-ratelimit-remaining-tokens, x-ratelimit-reset-tokens"
)
_MAX_AGE: Final = b"600"  # seconds a browser may remember a preflight; a changed cors_origins shows within it
_VARY: Final = (b"vary", b"origin")
_READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})


def cors(app: App, doors: Doors) -> App:
    """Answer preflights, and add the headers that let an allowed page read the answer."""
    allowed_for = _policy(doors.cors_origins)

    def layer(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] == "lifespan":
            return app(scope, receive, send)
        headers = headers_of(scope)
        origin = headers.get(b"origin")
        if origin is None:
            return app(scope, receive, send)
        allowed = allowed_for(origin)
        if scope["type"] == "websocket":
            # Browsers do not apply CORS to WebSockets, so a foreign page would get through to the socket itself.
            foreign = allowed is None and not _same_site(origin, headers)
            return _refusal(scope, send, origin) if foreign else app(scope, receive, send)
        if scope["method"] == "OPTIONS" and b"access-control-request-method" in headers:
            return _preflight(headers, allowed, send)
        if allowed is None and scope["method"] not in _READING and not _same_site(origin, headers):
            return _refusal(scope, _allowing(send, allowed), origin)
        return app(scope, receive, _allowing(send, allowed))

    return layer


def _same_site(origin: bytes, headers: dict[bytes, bytes]) -> bool:
    """Whether the page came from this very gateway (browsers send an Origin with every write, their own site's too)."""
    return origin.partition(b"://")[2] == headers.get(b"host")


def _refusal(scope: Scope, send: Send, origin: bytes) -> Awaitable[None]:
    return refuse(scope, send, Forbidden(teaching.origin_refused(origin.decode("latin-1"))))


def _policy(listed: Collection[str]) -> Callable[[bytes], bytes | None]:
    """What Access-Control-Allow-Origin says to an origin; None where it is not sent."""
    exact = {entry.strip().rstrip("/").lower().encode() for entry in listed}
    anyone = b"*" in exact

    def allowed_for(origin: bytes) -> bytes | None:
        if anyone:
            return b"*"
        return origin if _LOCAL.fullmatch(origin) or origin.lower() in exact else None

    return allowed_for


async def _preflight(headers: dict[bytes, bytes], allowed: bytes | None, send: Send) -> None:
    granted = [_VARY]
    if allowed is not None:
        wanted = headers.get(b"access-control-request-headers", b"")
        granted += [
            (b"access-control-allow-origin", allowed),
            (b"access-control-allow-methods", METHODS),
            (b"access-control-max-age", _MAX_AGE),
        ]
        if _TOKENS.fullmatch(wanted):
            granted.append((b"access-control-allow-headers", wanted))
        if headers.get(b"access-control-request-private-network") == b"true":
            granted.append((b"access-control-allow-private-network", b"true"))
    await send({"type": "http.response.start", "status": 204, "headers": granted})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def _allowing(send: Send, allowed: bytes | None) -> Send:
    """`send` whose head carries our CORS headers and nobody else's: an engine's own must not open us to a page."""
    ours = [_VARY]
    if allowed is not None:
        ours += [(b"access-control-allow-origin", allowed), (b"access-control-expose-headers", EXPOSED)]

    def allowing(message: Message) -> Awaitable[None]:
        if message["type"] == "http.response.start":
            kept = [pair for pair in message.get("headers", ()) if not pair[0].startswith(b"access-control-")]
            message = {**message, "headers": kept + ours}
        return send(message)

    return allowing
