"""A child without a head: its slots are looked at before it is given up."""

import json
from typing import Any

import pytest

from blazar.adapters.http.lane.probing import APART, LARGEST, Probe
from blazar.adapters.http.lane.relay import Limits
from blazar.domain import teaching
from blazar.domain.errors import ChildDied
from blazar.domain.instance.progress import Look
from blazar.domain.manners import LLAMACPP
from tests.fakes.upstream import FakeExchange
from tests.support.lane_rig import JSON, SSE, Rig, chunk, run, whole_chat

CHAT = "/v1/chat/completions"
WHOLE = {"model": "tiny", "messages": [{"role": "user", "content": "hi"}]}
IDLE = [{"id": 0, "is_processing": False}]
BUSY = [{"id": 0, "is_processing": True}]


def say(exchange: FakeExchange, slots: Any, status: int = 200) -> None:
    """Answer a look."""
    assert exchange.call.path == b"/slots"
    exchange.head(status, JSON)
    exchange.body(slots if isinstance(slots, bytes) else json.dumps(slots).encode())
    exchange.end()


async def looks(rig: Rig, slots: Any) -> None:
    """Both looks, answered alike."""
    say(rig.exchange, slots)
    await rig.clock.advance(APART)
    say(rig.exchange, slots)
    await rig.clock.settle()


def test_a_child_that_computes_stays_and_its_request_is_told_the_levers() -> None:
    """504 with advice; it is no failure of the child's, and the request was not given up while its slots were looked at."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(CHAT, WHOLE)
        await rig.clock.advance(120)
        assert not rig.upstream.exchanges[0].aborted
        await looks(rig, BUSY)
        assert reply.status == 504
        assert reply.json()["error"]["message"] == teaching.child_still_computing("tiny", 120)
        assert rig.upstream.exchanges[0].aborted
        assert (rig.lease.released, rig.lease.condemned) == ([(None, False)], False)

    run(test)


@pytest.mark.parametrize("how", ["idle", "mute", "gone"])
def test_a_wedged_child_goes_and_the_next_one_answers(how: str) -> None:
    """Slots at rest, or no answer even to this: it is condemned, and the same request answered without its client noticing."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(CHAT, WHOLE)
        await rig.clock.advance(120)
        if how == "idle":
            await looks(rig, IDLE)
        elif how == "gone":
            rig.exchange.fault(ChildDied("gone"))
            await rig.clock.settle()
        else:
            await rig.clock.advance(120)
        first, second = rig.leasing.leases
        assert (first.condemned, first.released) == (True, [(None, True)])
        assert (reply.status, rig.exchange.call.path) == (0, b"/v1/chat/completions")
        await rig.answer(whole_chat())
        assert reply.status == 200
        assert (second.condemned, second.released) == (False, [(None, False)])
        assert [note[1] for note in rig.records[0].notes] == ["asked_again"]

    run(test)


def test_a_second_wedged_child_ends_it() -> None:
    """One more try, no third: 504, and that child goes, too."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(CHAT, WHOLE)
        for _ in range(2):
            await rig.clock.advance(120)
            await looks(rig, IDLE)
        assert reply.status == 504
        assert reply.json()["error"]["message"] == teaching.child_silent("tiny", 120)
        assert [lease.condemned for lease in rig.leasing.leases] == [True, True]

    run(test)


def test_whose_client_was_told_something_is_not_asked_again() -> None:
    """A comment was sent: the stream ends in an error, and the child goes all the same."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(CHAT, {**WHOLE, "stream": True})
        await rig.clock.advance(120)
        await looks(rig, IDLE)
        assert reply.status == 200
        assert teaching.child_silent("tiny", 120) in reply.body.decode()
        assert len(rig.leasing.leases) == 1
        assert rig.lease.condemned

    run(test, Limits(heartbeat=15))


def test_a_silent_stream_without_beats_is_asked_again() -> None:
    """Nothing was sent."""

    async def test(rig: Rig) -> None:
        reply = await rig.post("/api/chat", {**WHOLE})
        await rig.clock.advance(120)
        await looks(rig, IDLE)
        rig.exchange.head(200, SSE)
        rig.exchange.body(chunk("a") + chunk(finish="stop"))
        rig.exchange.end()
        await rig.clock.settle()
        assert reply.status == 200
        assert reply.finished

    run(test)


@pytest.mark.parametrize("said", [b"{", b"{}", b"[]"])
@pytest.mark.parametrize("status", [200, 501])
def test_a_child_that_does_not_tell_is_not_condemned(said: bytes, status: int) -> None:
    """Its request ends as before there were looks."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(CHAT, WHOLE)
        await rig.clock.advance(120)
        say(rig.exchange, said, status)
        await rig.clock.settle()
        assert reply.status == 504
        assert reply.json()["error"]["message"] == teaching.child_silent("tiny", 120)
        assert not rig.lease.condemned

    run(test)


def test_an_answer_during_the_looks_is_the_answer() -> None:
    """What comes late is not thrown away."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(CHAT, WHOLE)
        await rig.clock.advance(120)
        probe, first = rig.exchange, rig.upstream.exchanges[0]
        first.head(200, JSON)
        say(probe, IDLE)
        await rig.clock.advance(APART)
        say(rig.exchange, IDLE)
        first.body(whole_chat())
        first.end()
        await rig.clock.settle()
        assert reply.status == 200

    run(test)


@pytest.mark.parametrize("when", ["before", "between"])
def test_a_client_that_leaves_ends_the_looks(when: str) -> None:
    """Nothing is left behind: no timer, no connection, and nobody is condemned."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(CHAT, WHOLE)
        await rig.clock.advance(120)
        if when == "between":
            say(rig.exchange, IDLE)
        reply.leave()
        await rig.clock.settle()
        assert rig.exchange.aborted or rig.exchange.finished
        assert not rig.lease.condemned

    run(test)


def test_kinds_without_the_route_are_not_asked() -> None:
    """Their silence is all there is."""

    async def test(rig: Rig) -> None:
        rig.leasing.manners = LLAMACPP._replace(routes=frozenset())
        reply = await rig.post(CHAT, WHOLE)
        await rig.clock.advance(120)
        await rig.clock.settle()
        assert reply.status == 504
        assert len(rig.upstream.exchanges) == 1

    run(test)


def test_a_stream_that_began_is_not_looked_at() -> None:
    """The looks are about heads: a stream that falls silent has ended."""

    async def test(rig: Rig) -> None:
        await rig.post(CHAT, {**WHOLE, "stream": True})
        rig.exchange.head(200, SSE)
        rig.exchange.body(chunk("a"))
        await rig.clock.advance(240)
        assert len(rig.upstream.exchanges) == 1

    run(test)


def test_an_endless_answer_is_read_to_its_bound() -> None:
    """It says nothing about slots."""

    async def test(rig: Rig) -> None:
        told: list[Look] = []
        Probe(rig.upstream, rig.clock, 5, told.append)
        rig.exchange.head(200)
        rig.exchange.body(b"[" * (LARGEST + 1))
        assert told == [Look.UNKNOWN]
        assert rig.exchange.aborted

    run(test)


def test_a_door_that_fails_at_once_says_so_once() -> None:
    """An upstream may fail before it returns."""

    async def test(rig: Rig) -> None:
        told: list[Look] = []
        rig.upstream.closed = True
        Probe(rig.upstream, rig.clock, 5, told.append)
        assert told == [Look.WEDGED]

    run(test)


def test_odd_each_answer_is_waited_for_as_long_as_the_head_was() -> None:
    """llama-server answers between two batches: a slow one is no sign of anything."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(CHAT, WHOLE)
        await rig.clock.advance(120)
        await rig.clock.advance(119)
        say(rig.exchange, BUSY)
        await rig.clock.advance(APART)
        await rig.clock.advance(119)
        say(rig.exchange, BUSY)
        await rig.clock.settle()
        assert reply.json()["error"]["message"] == teaching.child_still_computing("tiny", 120)

    run(test)
