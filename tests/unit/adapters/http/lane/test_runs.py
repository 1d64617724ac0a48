"""Responses in the background."""

import asyncio
from typing import Any

import pytest

from blazar.adapters.http.lane import runs
from blazar.domain.errors import ChildDied, Malformed, NotFound, StoreTrouble
from blazar.domain.keys import Key
from blazar.domain.quota import Account
from tests.support.kept_rig import RESPONSES, KeptRig, run_kept
from tests.support.typed_events import events


async def behind(rig: KeptRig, key: str = "", **body: Any) -> str:
    """Begin one; its id, once the child was asked."""
    before = len(rig.upstream.exchanges)
    reply = await rig.ask(RESPONSES, key, input="hi", background=True, **body)
    await rig.until(lambda: len(rig.upstream.exchanges) > before)
    return str(reply.json()["id"])


async def over(rig: KeptRig) -> None:
    await rig.until(lambda: not rig.runs.running())


def test_its_caller_is_answered_at_once() -> None:
    """The response is queued; later it is there as any other."""

    async def test(rig: KeptRig) -> None:
        reply = await rig.ask(RESPONSES, input="hi", background=True)
        await rig.until(rig.tasks[-1].done)
        response = reply.json()
        assert (response["status"], response["background"], response["output"]) == ("queued", True, [])
        await rig.until(lambda: rig.upstream.exchanges)
        rig.begin()
        rig.say("Hel", "lo")
        run = rig.runs.find(response["id"], "")
        assert run is not None
        assert (run.response() or {})["status"] == "in_progress"
        rig.end()
        await over(rig)
        found = rig.recall.find(response["id"], "").response
        assert (found["status"], found["output"][0]["content"][0]["text"]) == ("completed", "Hello")

    run_kept(test)


def test_cancelling_stops_the_child() -> None:
    """At once; what was said stays, and cancelling again changes nothing (K8)."""

    async def test(rig: KeptRig) -> None:
        id_ = await behind(rig)
        rig.begin()
        rig.say("Hel")
        await rig.runs.cancel(id_, "")
        assert rig.exchange.aborted
        assert rig.lease.released
        found = rig.recall.find(id_, "").response
        assert (found["status"], found["output"][0]["content"][0]["text"]) == ("cancelled", "Hel")
        await rig.runs.cancel(id_, "")
        assert rig.recall.find(id_, "").response == found

    run_kept(test)


def test_one_that_waits_in_line_is_cancelled_before_it_reaches_the_child() -> None:
    """As a client that leaves the line (K3)."""

    async def test(rig: KeptRig) -> None:
        rig.leasing.busy = True
        reply = await rig.ask(RESPONSES, input="hi", background=True)
        await rig.until(lambda: rig.leasing.waiting)
        await rig.runs.cancel(reply.json()["id"], "")
        assert rig.leasing.cancelled == 1
        assert rig.upstream.exchanges == []
        assert rig.recall.find(reply.json()["id"], "").response["status"] == "cancelled"

    run_kept(test)


def test_another_owner_neither_sees_nor_cancels_it() -> None:
    """It is a 404 (A29)."""

    async def test(rig: KeptRig) -> None:
        id_ = await behind(rig, "ada")
        assert rig.runs.find(id_, "eve") is None
        with pytest.raises(NotFound):
            await rig.runs.cancel(id_, "eve")
        with pytest.raises(Malformed):
            rig.runs.listen(id_, "eve", -1)
        assert not rig.exchange.aborted
        await rig.runs.cancel(id_, "ada")

    run_kept(test)


def test_events_can_be_read_while_it_runs_and_afterwards() -> None:
    """From any number on; together they are the whole stream, whose end ends the listening."""

    async def test(rig: KeptRig) -> None:
        id_ = await behind(rig)
        rig.begin()
        rig.say("Hel")
        heard: list[bytes] = []

        async def listen() -> None:
            async for data in rig.runs.listen(id_, "", -1):
                heard.append(data)  # noqa: PERF401 - one by one, as they come

        listening = asyncio.create_task(listen())
        await rig.until(lambda: heard)
        rig.say("lo")
        rig.end()
        await asyncio.wait_for(listening, 20)
        numbers = [event["sequence_number"] for event in events(b"".join(heard))]
        assert numbers == list(range(len(numbers)))
        assert events(b"".join(heard))[-1]["type"] == "response.completed"
        await over(rig)
        later = b"".join([data async for data in rig.runs.listen(id_, "", 4)])
        assert [event["sequence_number"] for event in events(later)] == numbers[5:]
        assert [data async for data in rig.runs.listen(id_, "", 999)] == []

    run_kept(test)


def test_its_caller_may_listen_from_the_start_and_leave() -> None:
    """The response goes on without it."""

    async def test(rig: KeptRig) -> None:
        reply = await rig.ask(RESPONSES, input="hi", background=True, stream=True)
        await rig.until(lambda: rig.upstream.exchanges and reply.writes)
        rig.begin()
        rig.say("Hel")
        await rig.until(lambda: b"Hel" in reply.body)
        first = events(reply.body)
        assert [event["type"] for event in first[:3]] == [
            "response.created",
            "response.queued",
            "response.in_progress",
        ]
        reply.leave()
        await rig.until(rig.tasks[-1].done)
        assert not rig.exchange.aborted
        rig.end()
        await over(rig)
        assert rig.recall.find(first[0]["response"]["id"], "").response["status"] == "completed"

    run_kept(test)


def test_its_caller_may_listen_to_the_end() -> None:
    """As to any stream."""

    async def test(rig: KeptRig) -> None:
        reply = await rig.ask(RESPONSES, input="hi", background=True, stream=True)
        await rig.until(lambda: rig.upstream.exchanges)
        rig.begin()
        rig.say("Hel")
        rig.end()
        await rig.until(rig.tasks[-1].done)
        assert reply.finished
        assert events(reply.body)[-1]["type"] == "response.completed"
        assert reply.header(b"content-type") == [b"text/event-stream"]

    run_kept(test)


def test_a_caller_that_reads_slowly_is_waited_for() -> None:
    """Nothing is written to it meanwhile."""

    async def test(rig: KeptRig) -> None:
        reply = await rig.ask(RESPONSES, input="hi", background=True, stream=True)
        await rig.until(lambda: rig.upstream.exchanges and reply.writes)
        assert reply.on_pause is not None
        assert reply.on_resume is not None
        reply.on_pause()
        rig.begin()
        rig.say("Hel")
        rig.end()
        await over(rig)
        assert b"Hel" not in reply.body
        reply.on_resume()
        await rig.until(rig.tasks[-1].done)
        assert b"Hel" in reply.body

    run_kept(test)


def test_the_buffer_of_one_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first events go; who asks for them is told that they are gone (A29)."""
    monkeypatch.setattr(runs, "BUFFER", 4000)

    async def test(rig: KeptRig) -> None:
        id_ = await behind(rig)
        rig.begin()
        rig.say(*["x" * 50] * 100)
        run = rig.runs.find(id_, "")
        assert run is not None
        assert run.size <= 4000
        rig.end()
        await over(rig)
        with pytest.raises(Malformed, match="not kept any more"):
            rig.runs.listen(id_, "", -1)
        assert rig.recall.find(id_, "").response["output"][0]["content"][0]["text"] == "x" * 5000

    run_kept(test)


def test_a_request_is_not_remembered_behind_its_answer() -> None:
    """Only its events are: a body may be large, and the response is read from what was kept."""

    async def test(rig: KeptRig) -> None:
        id_ = await behind(rig)
        rig.begin()
        rig.end()
        await over(rig)
        run = rig.runs.find(id_, "")
        assert run is not None
        assert run.response() is None
        assert b"".join([data async for data in run.events(-1)])

    run_kept(test)


def test_all_buffers_together_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest that ended goes first; its response is still kept."""
    monkeypatch.setattr(runs, "ALL_BUFFERS", 12_000)

    async def test(rig: KeptRig) -> None:
        ids = []
        for _ in range(3):
            ids.append(await behind(rig))
            rig.begin()
            rig.say("x")
            rig.end()
            await over(rig)
        assert rig.runs.find(ids[0], "") is None
        assert rig.runs.find(ids[-1], "") is not None
        assert rig.recall.find(ids[0], "").response["status"] == "completed"

    run_kept(test)


def test_so_many_at_a_time_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next is told to come back."""
    monkeypatch.setattr(runs, "MOST_RUNNING", 1)

    async def test(rig: KeptRig) -> None:
        id_ = await behind(rig)
        reply = await rig.ask(RESPONSES, input="hi", background=True)
        assert reply.status == 503
        assert reply.header(b"retry-after") == [b"5"]
        await rig.runs.cancel(id_, "")

    run_kept(test)


@pytest.mark.parametrize("how", ["refused", "died"])
def test_what_went_wrong_stands_in_the_response(how: str) -> None:
    """A child's refusal, a child's death: it has failed, with the sentence."""

    async def test(rig: KeptRig) -> None:
        reply = await rig.ask(RESPONSES, model="tiny", input="hi", background=True)
        if how == "refused":
            await rig.until(lambda: rig.upstream.exchanges)
            rig.exchange.head(400)
            rig.exchange.body(b'{"error":{"message":"no such thing"}}')
            rig.exchange.end()
        elif how == "died":
            await rig.until(lambda: rig.upstream.exchanges)
            rig.begin()
            rig.say("a")
            rig.exchange.fault(ChildDied("the engine went away"))
        await over(rig)
        found = rig.recall.find(reply.json()["id"], "").response
        assert found["status"] == "failed"
        words = {"refused": "no such thing", "died": "the engine went away"}
        assert words[how] in found["error"]["message"]
        last = events(b"".join([data async for data in rig.runs.listen(found["id"], "", -1)]))[-1]
        assert last["type"] == "response.failed"

    run_kept(test)


def test_the_daemons_end_stops_all_and_they_are_found_lost() -> None:
    """By the daemon that comes next."""

    async def test(rig: KeptRig) -> None:
        id_ = await behind(rig)
        rig.begin()
        rig.say("a")
        await rig.runs.aclose()
        assert rig.exchange.aborted
        found = rig.recall.find(id_, "").response
        assert found["status"] == "failed"
        assert "daemon was stopped" in found["error"]["message"]

    run_kept(test)


def test_a_full_disk_is_told_at_the_start() -> None:
    """The response can be fetched while the daemon remembers it."""

    async def test(rig: KeptRig) -> None:
        rig.store.full = True
        reply = await rig.ask(RESPONSES, input="hi", background=True)
        await rig.until(lambda: rig.upstream.exchanges)
        assert reply.header(b"x-blazar-warning")[0].startswith(b"not_kept; ")
        rig.begin()
        rig.end()
        await over(rig)
        run = rig.runs.find(reply.json()["id"], "")
        assert run is not None
        assert (run.response() or {})["status"] == "completed"

    run_kept(test)


def test_what_was_deleted_is_forgotten() -> None:
    """Its events too."""

    async def test(rig: KeptRig) -> None:
        id_ = await behind(rig)
        await rig.runs.cancel(id_, "")
        rig.runs.forget(id_)
        assert rig.runs.find(id_, "") is None

    run_kept(test)


def test_work_in_the_background_is_charged_and_holds_its_place() -> None:
    """The key pays for it once, and is as busy until the work is done, though its request was answered long ago."""

    async def test(rig: KeptRig) -> None:
        account = rig.account = Account(Key("a", "k", rpm=1, max_concurrent=1))
        await behind(rig)
        day = account.today(rig.clock.wall())
        assert (account.requests.total, account.running, day.requests) == (1, 1, 1)
        refused = await rig.ask(RESPONSES, input="more", background=True)
        assert (refused.status, len(rig.upstream.exchanges)) == (429, 1)
        rig.begin()
        rig.say("Hel", "lo")
        rig.end()
        await over(rig)
        assert (account.requests.total, account.running, day.requests) == (1, 0, 1)
        assert day.tokens > 0

    run_kept(test)


def test_work_that_cannot_begin_costs_nothing() -> None:
    """Neither a request nor a place."""

    async def test(rig: KeptRig, monkeypatch: pytest.MonkeyPatch) -> None:
        account = rig.account = Account(Key("a", "k", rpm=1))

        async def fails(*_: Any) -> str:
            raise StoreTrouble("no disk")

        monkeypatch.setattr(rig.runs, "_write", fails)
        assert (await rig.ask(RESPONSES, input="hi", background=True)).status == 500
        assert (account.requests.total, account.running) == (0, 0)

    with pytest.MonkeyPatch.context() as patch:
        run_kept(lambda rig: test(rig, patch))


def test_a_model_that_is_not_there_is_told_at_once() -> None:
    """Its caller hears the 404 that it would hear in the foreground, and nothing is kept (B17)."""

    async def test(rig: KeptRig) -> None:
        reply = await rig.ask(RESPONSES, model="nope", input="hi", background=True)
        await rig.until(rig.tasks[-1].done)
        assert reply.status == 404
        assert not rig.runs.running()

    run_kept(test)


def test_no_more_begin_than_may_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of those that come while the first are being written down (B7)."""

    async def test(rig: KeptRig) -> None:
        monkeypatch.setattr(runs, "MOST_RUNNING", 3)
        replies = [await rig.ask(RESPONSES, input="hi", background=True) for _ in range(8)]
        await rig.until(lambda: all(task.done() for task in rig.tasks))
        assert sorted(reply.status for reply in replies) == [200] * 3 + [503] * 5
        assert len(rig.runs.running()) == 3
        for id_ in list(rig.runs.running()):
            await rig.runs.cancel(id_, "")

    run_kept(test)


def test_the_work_is_told_of_when_it_has_ended() -> None:
    """Under the trace of its acceptance, which is no work: its model, its tokens, its time, its place."""

    async def test(rig: KeptRig) -> None:
        await rig.ask(RESPONSES, model="tiny:latest", input="hi", background=True)
        await rig.until(lambda: rig.upstream.exchanges)
        assert rig.records[0].accepted
        assert not rig.meter.served
        rig.begin()
        rig.say("a")
        rig.end()
        await over(rig)
        (served,) = rig.meter.served
        assert (served.model, served.status, served.placed, served.accepted) == ("tiny", 200, True, False)
        assert (served.prompt_tokens, served.completion_tokens, served.trace) == (11, 7, rig.records[0].trace)
        assert (served.method, served.path, served.dialect, served.outcome) == ("POST", RESPONSES, "openai", "answered")

    run_kept(test)


@pytest.mark.parametrize("how", ["cancelled", "died", "refused"])
def test_work_that_fails_is_told_with_its_end(how: str) -> None:
    """Its caller got 200 for the acceptance."""

    async def test(rig: KeptRig) -> None:
        reply = await rig.ask(RESPONSES, model="tiny", input="hi", background=True)
        await rig.until(lambda: rig.upstream.exchanges)
        if how == "cancelled":
            await rig.runs.cancel(reply.json()["id"], "")
        elif how == "died":
            rig.exchange.fault(ChildDied("the engine went away"))
        else:
            rig.exchange.head(400)
            rig.exchange.body(b'{"error":{"message":"no such thing"}}')
            rig.exchange.end()
        await over(rig)
        (served,) = rig.meter.served
        ends = {"cancelled": (499, "left"), "died": (502, "refused"), "refused": (400, "refused")}
        assert (served.status, served.outcome) == ends[how]

    run_kept(test)


def test_one_that_is_followed_holds_one_place() -> None:
    """While its caller listens the place at the door is the work's; from then on the work's own is (B8)."""

    async def test(rig: KeptRig) -> None:
        account = rig.account = Account(Key("a", "k", max_concurrent=2))
        reply = await rig.ask(RESPONSES, input="hi", background=True, stream=True)
        await rig.until(lambda: rig.upstream.exchanges)
        assert account.running == 0  # the rig has no door
        reply.leave()
        await rig.until(lambda: account.running == 1)
        rig.begin()
        rig.end()
        await over(rig)
        assert account.running == 0

    run_kept(test)
