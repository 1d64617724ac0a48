"""What a request pays for its key at ten thousand keys: looked up, admitted, charged, written down. And what changing one key takes."""

import asyncio
import json
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from statistics import median
from typing import Any, Final

from blazar.adapters.http.asgi import Message, Scope
from blazar.adapters.http.layers.authenticate import authenticate
from blazar.adapters.http.layers.doors import Doors
from blazar.adapters.http.record import RECORD, RequestRecord
from blazar.adapters.telemetry.clock import MonotonicClock
from blazar.application.access.accounts import Accounts, days_of
from blazar.domain.admission.queue import AdmissionQueue
from blazar.domain.admission.work import Facts, classify
from blazar.domain.keys import Key
from blazar.domain.tab import expected

KEYS: Final = 10_000
REQUESTS: Final = 20_000
CHANGES: Final = 5
BODY: Final = b'{"model":"m","max_tokens":30,"messages":[{"role":"user","content":"' + b"word " * 90 + b'"}]}'


def all_keys() -> tuple[Key, ...]:
    """Each with every limit, so that nothing is spared."""
    limits: dict[str, Any] = {"rpm": 10_000, "tpm": 10**9, "daily_tokens": 10**12, "max_concurrent": 100, "weight": 2.0}
    return tuple(Key(f"key-{number}", f"plm_{number:048d}", **limits) for number in range(KEYS))


class _Unmade:
    """Parts of doors that this layer never touches."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(name)


def accounting_us() -> dict[str, float]:
    """Processor microseconds of one request: layer, queue, charge and usage, over the same request without any of them."""
    clock, accounts = MonotonicClock(), Accounts()
    nothing: Any = _Unmade()
    doors = Doors(nothing, clock, nothing, frozenset, keys=all_keys(), accounts=accounts)
    queue = AdmissionQueue()
    queue.open(64, 0.0)

    async def plain(scope: Scope, receive: Any, send: Callable[[Message], Coroutine[Any, Any, None]]) -> None:  # noqa: ARG001 - the ASGI signature
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def charged(scope: Scope, receive: Any, send: Callable[[Message], Coroutine[Any, Any, None]]) -> None:  # noqa: ARG001 - the ASGI signature
        record: RequestRecord = scope[RECORD]
        tab = record.tab
        assert tab is not None
        work = classify(Facts("", None, tools=False, raw=False, size=500, key=record.key, weight=record.weight))
        tab.reserve(clock.now(), clock.wall(), chat=True, tokens=expected(BODY, answers=True))
        assert queue.try_take(work)
        tab.settle(clock.wall(), admitted=True)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        queue.release()
        tab.spend(clock.now(), clock.wall(), 20, 30)

    guarded = authenticate(charged, doors)
    bare, whole = (median(_cpu_us(app) for _ in range(3)) for app in (plain, guarded))
    begun = time.thread_time()
    for account in accounts.news(KEYS):
        days_of(account)
    written = (time.thread_time() - begun) * 1e6 / KEYS
    return {"accounting": whole - bare + written, "accounting_rows": written}


def _cpu_us(app: Any) -> float:
    async def send(message: Message) -> None:
        del message

    async def main() -> float:
        scopes = []
        for number in range(REQUESTS):
            secret = f"Bearer plm_{number * 7919 % KEYS:048d}".encode()
            scope: Scope = {"type": "http", "method": "POST", "path": "/v1/chat/completions"}
            scope["headers"] = [(b"host", b"127.0.0.1"), (b"authorization", secret)]
            scope[RECORD] = RequestRecord("plm-1-1", 0.0)
            scopes.append(scope)
        begun = time.thread_time()
        for scope in scopes:
            await app(scope, None, send)
        return (time.thread_time() - begun) * 1e6 / REQUESTS

    return asyncio.run(main())


def config_of(keys: int) -> str:
    """A file with so many keys; the first may manage the others."""
    return "".join(
        f'\n[[keys]]\nname = "key-{number}"\nkey = "plm_{number:048d}"\nrpm = 600\n' for number in range(keys)
    )


def key_change_ms(folder: Path) -> float:
    """Milliseconds until another limit of one key is written to such a file and holds, as its administrator waits for it."""
    from tests.support.daemon import Daemon

    admin = {"authorization": f"Bearer plm_{0:048d}"}
    taken = []
    with Daemon(folder, config_of(KEYS)) as daemon:
        for number in range(CHANGES):
            body = json.dumps({"rpm": 700 + number}).encode()
            begun = time.monotonic()
            answer = daemon.ask("PATCH", f"/api/keys/key-{KEYS // 2}", body, admin)
            taken.append((time.monotonic() - begun) * 1000)
            assert answer.status == 200, answer.body
    return median(taken)
