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
from blazar.application.config.layers import load_config
from blazar.application.config.live import LiveConfig, Refused
from blazar.composition.telling import (
    REMEMBERED_SECS,
    MeantNames,
    hint_task,
    speaking,
    standing_troubles,
    why_pages,
)
from blazar.domain.paces import Paces
from tests.fakes.catalog import MemoryModelCatalog, a_model
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


def test_who_begins_to_listen_is_told_what_stands() -> None:
    """A file that was refused an hour ago is refused still, and so is a restart still needed; a file in order is no news."""
    live, clock = LiveConfig(load_config("", "c", {}, {})), FakeClock()
    assert standing_troubles(live, clock) == []
    live.pending, live.refused = ("port",), Refused(5.0, ("wrong",))
    refused, pending = standing_troubles(live, clock)
    assert refused == (0, 5.0, "config_refused", {"problems": ("wrong",)})
    assert (pending.kind, pending.facts["keys"]) == ("restart_needed", ("port",))


def test_a_name_means_a_model_of_the_catalog_however_it_is_spelled():
    """A replica is the same model; what nobody has, or cannot be a name, is none. A flood of questions reads the rows once."""
    clock, asked = FakeClock(), []

    class Counted(MemoryModelCatalog):
        def find_model(self, name: str):
            asked.append(name)
            return super().find_model(name)

    catalog = Counted([a_model("tiny")])
    names = MeantNames(catalog, clock)
    spelled = ["tiny", "Tiny", "tiny:latest", "TINY:latest", "tiny#2", "tiny@vision", "nobody", "x" * 10_000]
    for _ in range(3):
        assert [names(name) for name in spelled] == ["tiny"] * 6 + ["", ""]
    assert len(asked) <= len(spelled)
    catalog.add_model(a_model("nobody"))
    asyncio.run(clock.advance(REMEMBERED_SECS))
    assert names("nobody") == "nobody"


def test_who_speaks_is_told_by_the_clock():
    """Nobody who has been silent."""
    clock, paces = FakeClock(), Paces()
    paces.of("tiny").whole(clock.now(), 20, clock.now() - 2)
    speed = speaking(paces, clock)
    assert (speed("tiny"), speed("other")) == (10, None)
    asyncio.run(clock.advance(60))
    assert speed("tiny") is None
