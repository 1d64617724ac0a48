"""GET /api/events: server-sent events."""

import asyncio
import json

import pytest

from blazar.adapters.http.app import create_app
from blazar.adapters.http.layers.doors import Key
from blazar.adapters.http.manage.events import KEEP_ALIVE_SECS, EventPages, event_bytes, events_blueprint
from blazar.adapters.http.record import RECORD, RequestRecord
from blazar.adapters.telemetry.feed import Feed
from blazar.application.ports.telemetry import Told
from blazar.domain import teaching
from tests.fakes.clock import FakeClock
from tests.fakes.telemetry import MemoryEvents
from tests.unit.adapters.http.asgi_calls import KEY, call, doors, scope_of
from tests.unit.adapters.http.gateway import Parts


def test_every_event_has_its_number_its_kind_and_its_facts() -> None:
    """As EventSource reads them; the stream ends when the feed does, and the place is given back."""
    parts = Parts()
    answer = call(parts.app, "GET", "/api/events")
    assert (answer.status, answer.header("content-type")) == (200, "text/event-stream")
    assert (answer.header("cache-control"), answer.header("x-accel-buffering")) == ("no-store", "no")
    assert answer.body.decode() == (
        ": \n\n"
        'id: 7\nevent: loading\ndata: {"at":"1970-01-01T00:00:00.500000Z","kind":"loading","model":"m"}\n\n'
        'id: 8\nevent: serving\ndata: {"at":"1970-01-01T00:00:01.000000Z","kind":"serving","seconds":0.25}\n\n'
        ": \n\n"
    )
    assert parts.feed.left == 1


def test_who_comes_back_says_the_last_number() -> None:
    """By the standard's header, or in the address where a client cannot set one; anything else is refused."""
    parts = Parts()
    call(parts.app, "GET", "/api/events")
    call(parts.app, "GET", "/api/events?after=4")
    call(parts.app, "GET", "/api/events?after=4", [("last-event-id", "9")])
    assert parts.feed.after == [None, 4, 9]
    for wrong in ("x", "-1", "1.5", "9" * 16, "٣"):
        answer = call(parts.app, "GET", "/api/events", [("last-event-id", wrong.encode().decode("latin-1"))])
        assert answer.status == 400
        assert answer.json()["error"]["message"] == teaching.field_must("after", "event")
    assert len(parts.feed.after) == 3


def test_what_stands_is_told_to_who_begins_to_listen() -> None:
    """Before anything else and without a number; who comes back has heard it, or gets it with what he missed."""
    parts = Parts()
    parts.standing = [Told(0, 0.0, "config_refused", {"problems": ("bad",)})]
    first = call(parts.app, "GET", "/api/events").body.decode()
    assert first.startswith(": \n\nevent: config_refused\n")
    assert "id: 7" in first
    assert "config_refused" not in call(parts.app, "GET", "/api/events?after=4").body.decode()


def test_who_shows_it_to_people_has_it_scrubbed() -> None:
    """Who asks for that gets it as the configuration says; a program gets every word."""
    parts = Parts()
    parts.scrub = lambda text: text.replace("10.1.2.3", "[address]")
    parts.standing = [Told(0, 0.0, "key_refused", {"peer": "10.1.2.3", "more": ["10.1.2.3"], "count": 3})]
    shown = call(parts.app, "GET", "/api/events?scrub=true").body.decode()
    assert '"peer":"[address]","more":["[address]"],"count":3' in shown
    for path in ("/api/events", "/api/events?scrub=false"):
        assert '"peer":"10.1.2.3"' in call(parts.app, "GET", path).body.decode()
    assert call(parts.app, "GET", "/api/events?scrub=maybe").status == 400


def test_a_head_listens_to_nothing() -> None:
    """It asks for the head alone."""
    parts = Parts()
    answer = call(parts.app, "HEAD", "/api/events")
    assert (answer.status, answer.body, parts.feed.after) == (200, b"", [])


def test_a_scoped_key_hears_nothing() -> None:
    """Events name every model and what goes wrong with it: for managers only."""
    scoped = Key("guest", "plm_guest", ("m",))
    parts = Parts(layers=doors(keys=(KEY, scoped)))
    for key, status in (("", 401), ("plm_guest", 403), ("plm_secret", 200)):
        headers = [("authorization", f"Bearer {key}")] if key else []
        assert call(parts.app, "GET", "/api/events", headers).status == status
    assert len(parts.feed.after) == 1


@pytest.mark.parametrize(
    ("fact", "shown"),
    [
        (float("inf"), None),
        (("a", 1.5), ["a", 1.5]),
        ({"a": {1: b"x"}}, {"a": {"1": "b'x'"}}),
        ("two\nlines\r\n\u2028\udcff", "two\nlines\r\n\u2028\udcff"),
        (True, True),
    ],
)
def test_any_fact_is_one_line_of_json(fact: object, shown: object) -> None:
    """A line end in it would begin another field of the stream."""
    text = event_bytes(Told(1, 0.0, "failed", {"why": fact})).decode()
    head, kind, data, *end = text.split("\n")
    assert (head, kind, end) == ("id: 1", "event: failed", ["", ""])
    assert json.loads(data.removeprefix("data: "))["why"] == shown


def test_what_concerns_one_listener_has_no_number() -> None:
    """Its client keeps the last one, and can ask again for what it lost."""
    assert event_bytes(Told(0, 0.0, "dropped", {"count": 3})).startswith(b"event: dropped\n")


def test_a_silent_stream_is_kept_awake_and_a_client_that_leaves_is_forgotten() -> None:
    """Comments while nothing happens; no task and no queue stays behind."""

    async def main() -> None:
        clock = FakeClock()
        feed = Feed(MemoryEvents(), clock)
        app = create_app([events_blueprint(EventPages(feed))])
        sent: list[bytes] = []
        gone = asyncio.Event()
        asked = asyncio.Event()

        async def receive() -> dict[str, object]:
            if not asked.is_set():
                asked.set()
                return {"type": "http.request", "body": b"", "more_body": False}
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: dict[str, object]) -> None:
            if body := message.get("body"):
                sent.append(bytes(body))  # type: ignore[call-overload]

        scope = {**scope_of("GET", "/api/events"), RECORD: RequestRecord("plm-1-1", 0.0)}
        stream = asyncio.create_task(app(scope, receive, send))  # type: ignore[arg-type]
        await clock.settle()
        assert feed.listeners == 1
        await clock.advance(2 * KEEP_ALIVE_SECS)
        feed.emit("loading", model="m")
        await clock.settle()
        assert sent[:3] == [b": \n\n"] * 3
        assert b"event: loading\n" in sent[3]
        gone.set()
        await stream
        await clock.settle()
        assert feed.listeners == 0
        assert clock.pending == 0
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())
