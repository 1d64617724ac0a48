"""The work on one batch, from its first line to its files."""

import json
from dataclasses import replace

import pytest

from blazar.application.batches.records import change_of, row_of
from blazar.application.batches.work import DURABLE_EVERY
from blazar.application.ports.saved import Keeping
from blazar.domain.batches import Answered, Spent, State, Tally
from tests.fakes.clock import FakeClock
from tests.support.batching import Batches, line, run


async def advance(batches: Batches, seconds: float) -> None:
    assert isinstance(batches.clock, FakeClock)
    await batches.clock.advance(seconds)


def test_every_line_is_asked_once_and_in_order() -> None:
    """Its answer is in the output file."""

    async def test(batches: Batches) -> None:
        batch = await batches.make(*(line(f"r{n}") for n in range(7)))
        await advance(batches, 0)
        batch = await batches.now(batch)
        assert (batch.state, batch.tally) == (State.COMPLETED, Tally(7, 7))
        assert batches.answering.ids == [f"r{n}" for n in range(7)]
        told = batches.results(batch.output_file_id)
        assert [one["custom_id"] for one in told] == batches.answering.ids
        assert len({one["id"] for one in told}) == 7
        assert batch.error_file_id == ""
        assert batches.papers.asked == {}

    run(test)


COUNTED = Answered(200, b'{"usage":{"prompt_tokens":9,"completion_tokens":5}}', "plm-1-9")


def test_what_it_cost_is_summed() -> None:
    """Over all its answers."""

    async def test(batches: Batches) -> None:
        batches.answering.script |= {"a": [COUNTED], "b": [COUNTED]}
        batch = await batches.make(line("a"), line("b"), line("c"))
        await advance(batches, 0)
        batch = await batches.now(batch)
        assert batch.spent == Spent(18, 0, 10)
        assert batch.model == "m"

    run(test)


def test_what_failed_is_in_the_error_file() -> None:
    """With the status and the body that a client would have got."""

    async def test(batches: Batches) -> None:
        batches.answering.script["b"] = [Answered(404, b'{"error":{}}', "plm-1-9")]
        batch = await batches.make(line("a"), line("b"))
        await advance(batches, 0)
        batch = await batches.now(batch)
        assert batch.tally == Tally(2, 1, 1)
        assert [one["custom_id"] for one in batches.results(batch.output_file_id)] == ["a"]
        (bad,) = batches.results(batch.error_file_id)
        assert bad["response"] == {"status_code": 404, "request_id": "plm-1-9", "body": {"error": {}}}

    run(test)


@pytest.mark.parametrize(
    ("lines", "codes", "numbers"),
    [
        ((), ["empty_file"], [0]),
        ((line("a"), line("a")), ["duplicate_custom_id"], [2]),
        (
            (line("a"), line("b", method="GET"), line("c"), line("d", url="/x")),
            ["invalid_method", "mismatched_url"],
            [2, 4],
        ),
    ],
)
def test_a_file_with_a_wrong_line_is_not_begun(lines: tuple, codes: list[str], numbers: list[int]) -> None:
    """All that is wrong is told, with its line."""

    async def test(batches: Batches) -> None:
        batch = await batches.make(*lines)
        await advance(batches, 0)
        batch = await batches.now(batch)
        assert batch.state is State.FAILED
        assert [(flaw.code, flaw.line) for flaw in batch.flaws] == [*zip(codes, numbers, strict=True)]
        assert batches.answering.asked == []

    run(test)


def test_empty_lines_are_nothing() -> None:
    """They count as lines all the same, when a later one is wrong."""

    async def test(batches: Batches) -> None:
        note = batches.upload(b'\n  \n{"custom_id":1}\n')
        order = {"input_file_id": note.id, "endpoint": "/v1/chat/completions", "completion_window": "24h"}
        batch = (await batches.manage.make("", order)).batch
        await advance(batches, 0)
        assert [flaw.line for flaw in (await batches.now(batch)).flaws] == [3]

    run(test)


def test_a_passing_trouble_is_asked_again() -> None:
    """After a pause; the answer that counts is the last."""

    async def test(batches: Batches) -> None:
        batches.answering.script["a"] = [Answered(503, b"{}", "t", 5.0), Answered(502, b"{}", "t")]
        batch = await batches.make(line("a"))
        await advance(batches, 4)
        assert batches.answering.ids == ["a"]
        await advance(batches, 1)
        assert batches.answering.ids == ["a", "a"]
        await advance(batches, 2)
        assert (await batches.now(batch)).tally == Tally(1, 1)

    run(test)


def test_nobody_is_kept_waiting() -> None:
    """While others wait nothing of it runs; then at once."""

    async def test(batches: Batches) -> None:
        batches.answering.crowded = True
        batch = await batches.make(line("a"))
        await advance(batches, 100)
        assert batches.answering.asked == []
        assert (await batches.now(batch)).state is State.IN_PROGRESS
        batches.answering.thin_out()
        await advance(batches, 0)
        assert (await batches.now(batch)).state is State.COMPLETED

    run(test)


def test_cancelling_drains_the_request_under_way() -> None:
    """The rest is told to have been cancelled, each once."""

    async def test(batches: Batches) -> None:
        batches.answering.held = {"b"}
        batch = await batches.make(*(line(id_) for id_ in "abcde"))
        await advance(batches, 0)
        assert (await batches.manage.cancel(batch.dialect, batch.id, "")).state is State.CANCELLING
        await advance(batches, 0)
        assert (await batches.now(batch)).state is State.CANCELLING
        batches.answering.let_go()
        await advance(batches, 0)
        batch = await batches.now(batch)
        assert (batch.state, batch.tally) == (State.CANCELLED, Tally(5, 2, 0, 3))
        assert batches.answering.ids == ["a", "b"]
        errors = batches.results(batch.error_file_id)
        assert [(one["custom_id"], one["error"]["code"]) for one in errors] == [(x, "batch_cancelled") for x in "cde"]

    run(test)


def test_a_window_that_ends_expires_the_rest() -> None:
    """What was answered stays answered."""

    async def test(batches: Batches) -> None:
        batches.answering.held = {"b"}
        batch = await batches.make(*(line(id_) for id_ in "abc"), completion_window="1m")
        await advance(batches, 61)
        batches.answering.let_go()
        await advance(batches, 0)
        batch = await batches.now(batch)
        assert (batch.state, batch.tally) == (State.EXPIRED, Tally(3, 2, 0, 0, 1))
        assert [one["error"]["code"] for one in batches.results(batch.error_file_id)] == ["batch_expired"]

    run(test)


def test_a_window_may_end_while_it_waits_for_its_turn() -> None:
    """It is not held up by whoever is served."""

    async def test(batches: Batches) -> None:
        batches.answering.crowded = True
        batch = await batches.make(line("a"), completion_window="1m")
        await advance(batches, 61)
        assert (await batches.now(batch)).state is State.EXPIRED

    run(test)


def test_message_batches_end_in_one_file() -> None:
    """All results, whatever became of them, below the batch's own id."""

    async def test(batches: Batches) -> None:
        batches.answering.script["b"] = [Answered(400, b'{"type":"error"}', "t")]
        batch = await batches.make_messages("a", "b")
        await advance(batches, 0)
        assert (await batches.now(batch)).state is State.COMPLETED
        kinds = [(one["custom_id"], one["result"]["type"]) for one in batches.results(batch.id)]
        assert kinds == [("a", "succeeded"), ("b", "errored")]
        assert batches.answering.asked[0].endpoint == "/v1/messages"

    run(test)


def test_the_owner_is_asked_for() -> None:
    """Each request goes in the name of the key that made the batch."""

    async def test(batches: Batches) -> None:
        await batches.make(line("a"), owner="laptop")
        await advance(batches, 0)
        assert [question.owner for question in batches.answering.asked] == ["laptop"]

    run(test)


@pytest.mark.parametrize("answered", [0, 1, 3, 4])
def test_a_killed_daemons_successor_asks_only_for_the_rest(answered: int) -> None:
    """Wherever it stopped, each id has one result in the end, and none is asked again that had one."""

    async def test(batches: Batches) -> None:
        ids = [f"r{n}" for n in range(5)]
        batches.answering.held = {ids[answered]}
        batch = await batches.make(*(line(id_) for id_ in ids))
        await advance(batches, 0)
        await batches.restart()
        await advance(batches, 0)
        batch = await batches.now(batch)
        assert batches.answering.ids == ids[answered:]
        assert (batch.state, batch.tally) == (State.COMPLETED, Tally(5, 5))
        assert [one["custom_id"] for one in batches.results(batch.output_file_id)] == ids

    run(test)


def test_what_it_cost_outlives_the_daemon() -> None:
    """It is read out of the results that are there."""

    async def test(batches: Batches) -> None:
        batches.answering.script["a"] = [COUNTED]
        batches.answering.held = {"b"}
        batch = await batches.make(line("a"), line("b"))
        await advance(batches, 0)
        await batches.restart()
        await advance(batches, 0)
        assert (await batches.now(batch)).spent == Spent(9, 0, 5)

    run(test)


def test_a_cancellation_outlives_the_daemon() -> None:
    """What was being drained is not asked again."""

    async def test(batches: Batches) -> None:
        batches.answering.held = {"a"}
        batch = await batches.make(line("a"), line("b"))
        await advance(batches, 0)
        await batches.manage.cancel(batch.dialect, batch.id, "")
        await batches.restart()
        await advance(batches, 0)
        batch = await batches.now(batch)
        assert (batch.state, batch.tally) == (State.CANCELLED, Tally(2, 0, 0, 2))
        assert batches.answering.asked == []

    run(test)


def test_files_that_were_written_before_the_end_are_written_again() -> None:
    """A crash between the files and the last state leaves nothing double."""

    async def test(batches: Batches) -> None:
        batch = await batches.make(line("a"))
        await advance(batches, 0)
        done = await batches.now(batch)
        files = len(batches.kept.files)
        # As the disk would look after the crash.
        batches.papers.take(batch.id, batch.input_file_id)
        told = batches.results(done.output_file_id)
        batches.papers.append(
            batch.id, [b"s" + json.dumps(one, separators=(",", ":")).encode() for one in told], durable=True
        )
        batches.store.add(row_of(replace(done, state=State.FINALIZING, output_file_id="")))
        await batches.restart()
        await advance(batches, 0)
        again = await batches.now(batch)
        assert (again.state, again.output_file_id) == (State.COMPLETED, done.output_file_id)
        assert len(batches.kept.files) == files
        assert batches.answering.asked == []

    run(test)


def test_the_journal_is_durable_every_few_results() -> None:
    """A sync a result would be slower than many an answer."""

    async def test(batches: Batches) -> None:
        batches.answering.held = {f"r{DURABLE_EVERY + 2}"}
        batch = await batches.make(*(line(f"r{n}") for n in range(DURABLE_EVERY + 3)))
        await advance(batches, 0)
        assert batches.papers.synced[batch.id] == DURABLE_EVERY
        batches.answering.let_go()

    run(test)


def test_a_batch_cancelled_before_its_lines_were_judged() -> None:
    """Each id that can be read is told once, also where the file names it twice or is wrong elsewhere."""

    async def test(batches: Batches) -> None:
        await batches.stop()
        batch = await batches.make(line("a"), line("a"), line("b", method="GET"), line("c"))
        batches.store.change(Keeping.BATCH, batch.id, change_of(replace(batch, state=State.CANCELLING)))
        await batches.restart()
        await advance(batches, 0)
        batch = await batches.now(batch)
        assert (batch.state, batch.tally) == (State.CANCELLED, Tally(2, 0, 0, 2))
        assert batches.answering.asked == []

    run(test)


@pytest.mark.parametrize("state", [State.VALIDATING, State.IN_PROGRESS, State.CANCELLING, State.FINALIZING])
def test_a_batch_whose_papers_are_gone_has_failed(state: State) -> None:
    """Somebody has tidied the folder: it says so, instead of being tried for ever."""

    async def test(batches: Batches) -> None:
        await batches.stop()
        batch = await batches.make(line("a"))
        batches.store.change(Keeping.BATCH, batch.id, change_of(replace(batch, state=state)))
        batches.papers.asked.clear()
        await batches.restart()
        await advance(batches, 0)
        failed = await batches.now(batch)
        assert failed.state is State.FAILED
        assert [flaw.code for flaw in failed.flaws] == ["requests_gone"]

    run(test)
