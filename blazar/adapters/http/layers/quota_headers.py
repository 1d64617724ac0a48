"""What a key has left, as headers, in the names and spellings that OpenAI's clients read. Only of limits that it has.

On every route: no stock client of another dialect reads names of its own. Written when the head leaves: what this very request
was charged is in it, what its answer will cost is not known then.
"""

from collections.abc import Awaitable, Callable
from math import ceil
from typing import Final

from blazar.adapters.http.asgi import Message, Send
from blazar.domain.quota import Account, Standing

Pairs = list[tuple[bytes, bytes]]
_STARTS: Final = ("http.response.start", "websocket.http.response.start")


def telling(send: Send, account: Account, now: Callable[[], float]) -> Send:
    """`send` whose head says what is left; `send` itself where there is nothing to say."""
    if account.key.rpm is None and account.key.tpm is None:
        return send

    def tell(message: Message) -> Awaitable[None]:
        if message["type"] in _STARTS:
            message = {**message, "headers": [*message.get("headers", ()), *quota_headers(account, now())]}
        return send(message)

    return tell


def quota_headers(account: Account, now: float) -> Pairs:
    """Limit, what is left, and how long until all of it is free again, of requests and of tokens."""
    key = account.key
    pairs: Pairs = []
    if key.rpm is not None:
        pairs += _of(b"requests", account.requests.standing(key.rpm, now))
    if key.tpm is not None:
        pairs += _of(b"tokens", account.tokens.standing(key.tpm, now))
    return pairs


def _of(what: bytes, standing: Standing) -> Pairs:
    return [
        (b"x-ratelimit-limit-" + what, b"%d" % standing.limit),
        (b"x-ratelimit-remaining-" + what, b"%d" % standing.left),
        (b"x-ratelimit-reset-" + what, duration(standing.reset)),
    ]


def duration(seconds: float) -> bytes:
    """As the API writes times: `250ms`, `8.64s`, `1m0s`. Rounded up: who comes then is not too early."""
    thousandths = max(0, ceil(seconds * 1000 - 1e-6))
    if thousandths < 1000:
        return b"%dms" % thousandths if thousandths else b"0s"
    minutes, rest = divmod(thousandths, 60_000)
    said = f"{rest / 1000:.3f}".rstrip("0").rstrip(".")
    return (f"{minutes}m{said}s" if minutes else f"{said}s").encode()
