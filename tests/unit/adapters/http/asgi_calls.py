"""Calling an ASGI app without a server, and the small parts that the HTTP tests share."""

import asyncio
import json
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

from blazar.adapters.http.asgi import App, Message, Receive, Scope, Send
from blazar.adapters.http.layers.doors import Doors, Key
from blazar.application.ports.clock import Clock, Timer
from blazar.application.ports.entropy import Entropy
from blazar.application.ports.telemetry import Meter, Served

Headers = Iterable[tuple[str, str]]


LAST = ("http.response.body", "websocket.close")
"""Messages behind which nothing follows."""


class Answer(NamedTuple):
    """What an app sent, joined."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes
    messages: list[Message]

    def json(self) -> Any:
        return json.loads(self.body)

    def header(self, name: str) -> str | None:
        """The one value of a header; a repeated one fails the test."""
        values = [value for key, value in self.headers if key == name]
        assert len(values) <= 1, f"{name} repeated"
        return values[0] if values else None


class SilentMeter(Meter):
    """Remembers what was served."""

    def __init__(self) -> None:
        self.served: list[Served] = []

    def on_served(self, served: Served) -> None:
        self.served.append(served)

    def on_spawn(self, model: str, seconds: float) -> None: ...

    def on_evicted(self, model: str, cause: str) -> None: ...

    def on_crashed(self, model: str) -> None: ...

    def exposition(self, models: Collection[str] | None = None) -> bytes:
        up = b"# HELP blazar_up 1 while serving\nblazar_up 1\n"
        return up if models is None else up + f"# of {sorted(models)}\n".encode()


class _NeverTimer(Timer):
    def cancel(self) -> None: ...


class StepClock(Clock):
    """Time that stands still unless told."""

    def __init__(self, now: float = 100.0, wall: float = 1_700_000_000.0) -> None:
        self.time, self.unix = now, wall

    def now(self) -> float:
        return self.time

    def wall(self) -> float:
        return self.unix

    def call_later(self, delay: float, callback: Any) -> Timer:
        """Never fires: what is waited for here is there."""
        return _NeverTimer()

    async def sleep(self, delay: float) -> None:
        raise AssertionError("nothing here waits")


class CountedEntropy(Entropy):
    """The same token each time."""

    def token(self, nbytes: int) -> str:
        return "ab" * nbytes


def doors(**changes: Any) -> Doors:
    """Doors of an open gateway on a machine called box with the address 192.168.7.5."""
    parts: dict[str, Any] = {
        "meter": SilentMeter(),
        "clock": StepClock(),
        "entropy": CountedEntropy(),
        "machine_names": lambda: frozenset({"box", "box.local", "192.168.7.5", "fd00::5"}),
    }
    return Doors(**{**parts, **changes})


KEY = Key("laptop", "plm_secret")


def scope_of(method: str = "GET", path: str = "/", headers: Headers = (), kind: str = "http") -> Scope:
    """A scope as a server makes it, with a Host unless one is given."""
    given = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers]
    if not any(name == b"host" for name, _ in given):
        given.insert(0, (b"host", b"127.0.0.1:11435"))
    plain, _, query = path.partition("?")
    scope: dict[str, Any] = {
        "type": kind,
        "asgi": {},
        "http_version": "1.1",
        "scheme": "http" if kind == "http" else "ws",
        "path": plain,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": given,
        "client": ("127.0.0.1", 5),
        "server": ("127.0.0.1", 11435),
    }
    scope["method" if kind == "http" else "subprotocols"] = method if kind == "http" else []
    return scope


async def run(app: App, scope: Scope, chunks: Iterable[bytes] = (b"",)) -> Answer:
    """One request through `app`; the body arrives in these chunks, after it the client stays until it has its answer."""
    pending = list(chunks)
    sent: list[Message] = []
    answered = asyncio.Event()

    async def receive() -> Message:
        if not pending:
            # As ASGI says and servers do: after the answer comes a disconnect. Quart waits for it from 0.23 on.
            await answered.wait()
            return {"type": f"{scope['type']}.disconnect"}
        body = pending.pop(0)
        return {"type": "http.request", "body": body, "more_body": bool(pending)}

    async def send(message: Message) -> None:
        sent.append(message)
        if message["type"] in LAST and not message.get("more_body", False):
            answered.set()

    await app(scope, receive, send)
    starts = [message for message in sent if message["type"].endswith(".start")]
    headers = [(k.decode(), v.decode("latin-1")) for k, v in (starts[0].get("headers", ()) if starts else ())]
    body = b"".join(message.get("body", b"") for message in sent)
    return Answer(starts[0]["status"] if starts else 0, headers, body, sent)


def call(app: App, method: str, path: str, headers: Headers = (), body: Any = b"") -> Answer:
    """`run` from a synchronous test; a body that is not bytes is sent as JSON."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    given = list(headers)
    if raw and not any(name.lower() in ("content-length", "transfer-encoding") for name, _ in given):
        given.append(("content-length", str(len(raw))))
    return asyncio.run(run(app, scope_of(method, path, given), (raw,)))


async def fine(scope: Scope, receive: Receive, send: Send) -> None:
    """An app that reads everything and answers 200 with what it was asked."""
    size = 0
    while True:
        message = await receive()
        size += len(message.get("body", b""))
        if not message.get("more_body"):
            break
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
    await send({"type": "http.response.body", "body": f"{scope['path']} {size}".encode(), "more_body": False})


class Spy:
    """An app that remembers the scopes it saw, of whatever kind."""

    def __init__(self) -> None:
        self.scopes: list[Scope] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scopes.append(scope)
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
