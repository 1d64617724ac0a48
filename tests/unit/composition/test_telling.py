"""Stories and hints, put together of a daemon's parts."""

import asyncio
import json
from types import SimpleNamespace
from typing import Any

from blazar.adapters.engines.drivers import SPECS
from blazar.adapters.http.app import create_app
from blazar.adapters.http.record import RECORD, RequestRecord
from blazar.adapters.telemetry.chronicle import Chronicle
from blazar.adapters.telemetry.recent import RecentRequests
from blazar.composition.telling import hint_task, why_pages
from tests.fakes.clock import FakeClock
from tests.fakes.telemetry import MemoryEvents, a_served
from tests.unit.adapters.http.asgi_calls import call


def test_a_story_is_told_as_pii_scrub_says():
    """Of what was remembered, with the key as it is now."""
    clock = FakeClock()
    live = SimpleNamespace(config=SimpleNamespace(pii_scrub=True))
    about: Any = SimpleNamespace(
        recent=RecentRequests(clock), chronicle=Chronicle(MemoryEvents(), clock), live=live, clock=clock
    )
    about.recent.on_served(a_served(refusal="ask joe@mail.example"))
    app = create_app([why_pages(about)])

    async def known(scope: Any, receive: Any, send: Any) -> None:
        scope[RECORD] = RequestRecord("plm-1-1", 0.0)
        await app(scope, receive, send)

    assert "joe@mail.example" not in json.dumps(call(known, "GET", "/api/why").json())
    live.config.pii_scrub = False
    assert call(known, "GET", "/api/why").json()["requests"][0]["refusal"] == "ask joe@mail.example"


def test_children_are_asked_for_as_long_as_the_daemon_lives():
    """And no longer."""

    async def go() -> None:
        clock, looked = FakeClock(), []
        supervisor: Any = SimpleNamespace(residents=lambda: looked.append(clock.now()) or [])
        task = hint_task(supervisor, SPECS, clock)
        await task.start()
        await clock.settle()
        await clock.advance(120.0)
        await task.aclose()
        assert looked == [1060.0, 1120.0]
        assert clock.pending == 0

    asyncio.run(go())
