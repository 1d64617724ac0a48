"""Which batch is worked on."""

import asyncio
import logging

import pytest

from blazar.application.batches.runner import AFTER_TROUBLE, STINT
from blazar.domain.batches import Answered, State
from tests.fakes.clock import FakeClock
from tests.support.batching import Batches, line, run


async def advance(batches: Batches, seconds: float) -> None:
    assert isinstance(batches.clock, FakeClock)
    await batches.clock.advance(seconds)


def test_the_oldest_batch_first() -> None:
    """One request at a time in the whole daemon."""

    async def test(batches: Batches) -> None:
        batches.answering.held = {"a1"}
        await batches.make(line("a1"), line("a2"))
        await batches.make(line("b1"))
        await advance(batches, 0)
        assert batches.answering.ids == ["a1"]
        batches.answering.let_go()
        await advance(batches, 0)
        assert batches.answering.ids == ["a1", "a2", "b1"]

    run(test)


def test_a_long_batch_lets_others_have_their_turn() -> None:
    """Between two requests, after a while; then it goes on where it was."""

    async def test(batches: Batches) -> None:
        batches.answering.held = {"a1"}
        await batches.make(line("a1"), line("a2"))
        await batches.make(line("b1"))
        await advance(batches, STINT + 1)
        batches.answering.let_go()
        await advance(batches, 0)
        assert batches.answering.ids == ["a1", "b1", "a2"]

    run(test)


def test_a_batch_whose_turn_never_comes_does_not_hold_up_the_next() -> None:
    """It gives its place in line up when its time is over, and gets one again."""

    async def test(batches: Batches) -> None:
        batches.answering.crowded = True
        await batches.make(line("a1"))
        await batches.make(line("b1"))
        await advance(batches, STINT + 1)
        assert batches.answering.asked == []
        batches.answering.thin_out()
        await advance(batches, 0)
        assert batches.answering.ids == ["b1", "a1"]

    run(test)


def test_a_disk_that_will_not_is_tried_again() -> None:
    """Nothing is lost but time, and nothing is answered double."""

    async def test(batches: Batches) -> None:
        batches.kept.full = False
        batches.answering.held = {"a"}
        batch = await batches.make(line("a"), line("b"))
        await advance(batches, 0)
        batches.kept.full = True
        batches.answering.let_go()
        await advance(batches, 0)
        assert (await batches.now(batch)).state is State.IN_PROGRESS
        batches.kept.full = False
        await advance(batches, AFTER_TROUBLE)
        batch = await batches.now(batch)
        assert batch.state is State.COMPLETED
        assert [one["custom_id"] for one in batches.results(batch.output_file_id)] == ["a", "b"]

    run(test)


def test_a_batch_that_goes_wrong_is_not_the_end_of_others(caplog: pytest.LogCaptureFixture) -> None:
    """The log has the traceback; the others are worked on."""

    async def test(batches: Batches) -> None:
        batches.answering.error = ZeroDivisionError()
        await batches.make(line("a"))
        await advance(batches, 0)
        batches.answering.error = None
        batch = await batches.make(line("b"))
        await advance(batches, 0)
        assert (await batches.now(batch)).state is State.COMPLETED

    with caplog.at_level(logging.ERROR):
        run(test)
    assert "ZeroDivisionError" in caplog.text


def test_a_batch_that_went_wrong_can_still_be_cancelled() -> None:
    """It is not stuck for ever."""

    async def test(batches: Batches) -> None:
        batches.answering.error = ZeroDivisionError()
        batch = await batches.make(line("a"))
        await advance(batches, 0)
        await batches.manage.cancel(batch.dialect, batch.id, "")
        await advance(batches, 0)
        assert (await batches.now(batch)).state is State.CANCELLED

    run(test)


def test_a_batch_that_is_over_stays_as_it_is() -> None:
    """Cancelling it is no error and no change."""

    async def test(batches: Batches) -> None:
        batch = await batches.make(line("a"))
        await advance(batches, 0)
        assert (await batches.manage.cancel(batch.dialect, batch.id, "")).state is State.COMPLETED

    run(test)


def test_a_batch_that_is_over_needs_no_runner_to_be_cancelled() -> None:
    """Nobody waits for a runner that has not begun to say so."""

    async def test(batches: Batches) -> None:
        batch = await batches.make(line("a"))
        await advance(batches, 0)
        await batches.stop()
        batches._build()
        async with asyncio.timeout(20):
            assert (await batches.manage.cancel(batch.dialect, batch.id, "")).over

    run(test)


def test_counts_are_those_of_this_moment() -> None:
    """Though the row is not written with every answer."""

    async def test(batches: Batches) -> None:
        batches.answering.held = {"c"}
        batch = await batches.make(line("a"), line("b"), line("c"))
        await advance(batches, 0)
        assert (await batches.now(batch)).tally.succeeded == 2
        batches.answering.let_go()

    run(test)


def test_counts_outlive_the_daemon() -> None:
    """Also those of a batch whose turn has not come again."""

    async def test(batches: Batches) -> None:
        batches.answering.held = {"a2", "b2"}
        await batches.make(line("a1"), line("a2"), line("a3"))
        second = await batches.make(line("b1"), line("b2"))
        await advance(batches, STINT + 1)
        batches.answering.let_go()
        batches.answering._wake.clear()
        batches.answering.held = {"b2"}
        await advance(batches, 0)
        assert batches.answering.ids == ["a1", "a2", "b1", "b2"]
        await batches.stop()
        batches._build()
        batches.answering.held = {"a3"}
        batches.start()
        await advance(batches, 0)
        assert batches.answering.ids[4:] == ["a3"]
        assert (await batches.now(second)).tally.succeeded == 1

    run(test)


def test_nothing_is_polled_when_there_is_nothing_to_do() -> None:
    """No timer stands: an idle daemon sleeps."""

    async def test(batches: Batches) -> None:
        batch = await batches.make(line("a"))
        await advance(batches, 0)
        assert (await batches.now(batch)).over
        assert isinstance(batches.clock, FakeClock)
        assert batches.clock.pending == 0

    run(test)


def test_a_waiting_batch_is_cancelled_at_once() -> None:
    """Also while others keep its model busy."""

    async def test(batches: Batches) -> None:
        batches.answering.crowded = True
        batch = await batches.make(line("a"))
        await advance(batches, 1)
        await batches.manage.cancel(batch.dialect, batch.id, "")
        await advance(batches, 1)
        assert (await batches.now(batch)).state is State.CANCELLED

    run(test)


def test_a_batch_that_is_cancelled_while_it_is_worked_on_is_not_taken_up_again() -> None:
    """The cancellation puts it in line once more; when its turn comes it is over, and the next one is worked on."""

    async def test(batches: Batches) -> None:
        batches.answering.held = {"a"}
        first = await batches.make(line("a"), line("b"))
        await advance(batches, 0)
        await batches.manage.cancel(first.dialect, first.id, "")
        batches.answering.let_go()
        await advance(batches, 0)
        second = await batches.make(line("c"))
        await advance(batches, 0)
        assert [(await batches.now(one)).state for one in (first, second)] == [State.CANCELLED, State.COMPLETED]

    run(test)


LIMITED = Answered(429, b'{"error":{"message":"no more"}}', "plm-1-2", 40.0)


def test_a_request_that_is_asked_again_later_holds_up_nobody() -> None:
    """While it rests others have their turn, and it goes on with the same request (B4)."""

    async def test(batches: Batches) -> None:
        batches.answering.script["a1"] = [LIMITED, LIMITED]
        await batches.make(line("a1"), line("a2"))
        await batches.make(line("b1"), owner="b")
        await advance(batches, 0)
        assert batches.answering.ids == ["a1", "b1"]
        await advance(batches, 39)
        await batches.make(line("c1"), owner="c")
        await advance(batches, 0)
        assert batches.answering.ids == ["a1", "b1", "c1"]
        await advance(batches, 1)
        assert batches.answering.ids == ["a1", "b1", "c1", "a1"]
        await advance(batches, 40)
        assert batches.answering.ids == ["a1", "b1", "c1", "a1", "a1", "a2"]

    run(test)


def test_a_day_that_is_used_up_ends_every_request_at_once() -> None:
    """With that 429, and without a pause for anybody."""

    async def test(batches: Batches) -> None:
        day = LIMITED._replace(retry_after=30_000.0)
        batches.answering.script = {id_: [day] for id_ in ("a1", "a2", "a3")}
        batch = await batches.make(line("a1"), line("a2"), line("a3"))
        await batches.make(line("b1"), owner="b")
        await advance(batches, 0)
        assert batches.answering.ids == ["a1", "a2", "a3", "b1"]
        ended = await batches.now(batch)
        assert (ended.state, ended.tally.errored) == (State.COMPLETED, 3)

    run(test)


def test_a_batch_that_rests_can_be_cancelled() -> None:
    """At once: there is nothing that it would wait for."""

    async def test(batches: Batches) -> None:
        batches.answering.script["a1"] = [LIMITED]
        batch = await batches.make(line("a1"))
        await advance(batches, 0)
        await batches.manage.cancel(batch.dialect, batch.id, batch.owner)
        await advance(batches, 0)
        assert (await batches.now(batch)).state is State.CANCELLED

    run(test)
