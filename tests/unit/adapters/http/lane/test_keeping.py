"""Answers that are kept before their last bytes leave."""

import pytest

from blazar.application.kept import keep_answer
from blazar.application.ports.saved import Keeping
from tests.support.kept_rig import CHAT, RESPONSES, KeptRig, run_kept
from tests.support.lane_rig import whole_chat
from tests.support.typed_events import events

USER = [{"role": "user", "content": "hi"}]


def test_a_whole_answer_is_kept_before_it_leaves() -> None:
    """Who has read it can ask for it."""

    async def test(rig: KeptRig) -> None:
        reply = await rig.ask(RESPONSES, input="hi")
        rig.exchange.head(200)
        rig.exchange.body(whole_chat())
        rig.exchange.end()
        assert (reply.status, reply.body) == (0, b"")  # it is being written down
        await rig.until(rig.tasks[-1].done)
        assert (reply.status, reply.finished) == (200, True)
        assert rig.recall.find(reply.json()["id"], "").response == reply.json()

    run_kept(test)


@pytest.mark.parametrize("path", [RESPONSES, CHAT])
def test_only_the_last_bytes_of_a_stream_wait(path: str) -> None:
    """Everything before goes at once."""

    async def test(rig: KeptRig) -> None:
        asked = {"input": "hi"} if path == RESPONSES else {"messages": USER}
        reply = await rig.ask(path, stream=True, store=True, **asked)
        rig.begin()
        rig.say("a", "b")
        assert reply.body.count(b"delta") >= 2
        assert not reply.finished
        rig.end()
        assert b"response.completed" not in reply.body
        assert b"[DONE]" not in reply.body
        await rig.until(rig.tasks[-1].done)
        assert reply.finished
        assert (b"response.completed" if path == RESPONSES else b"[DONE]") in reply.body

    run_kept(test)


@pytest.mark.parametrize("store", [False, None])
def test_nothing_is_kept_that_nobody_wants_kept(store: bool | None) -> None:
    """A response says so itself; a chat completion is kept only when it is asked for."""

    async def test(rig: KeptRig) -> None:
        await rig.ask(CHAT, messages=USER, store=store)
        await rig.answered(whole_chat())
        if store is False:
            await rig.respond(input="hi", store=False)
        for kind in (Keeping.RESPONSE, Keeping.COMPLETION):
            assert rig.store.with_status(kind, ("", "completed")) == []

    run_kept(test)


@pytest.mark.parametrize("path", [RESPONSES, CHAT])
@pytest.mark.parametrize("stream", [False, True])
def test_a_full_disk_costs_a_warning_and_never_the_answer(path: str, stream: bool) -> None:
    """A whole answer is told so at once; a stream, whose head is gone by then, the next time."""

    async def test(rig: KeptRig) -> None:
        rig.store.full = True
        asked = {"input": "hi"} if path == RESPONSES else {"messages": USER}
        for turn in range(2):
            reply = await rig.ask(path, stream=stream, store=True, **asked)
            if stream:
                rig.begin()
                rig.say("a")
                rig.end()
                await rig.until(rig.tasks[-1].done)
            else:
                await rig.answered(whole_chat())
            assert (reply.status, reply.finished) == (200, True)
            warned = [value for value in reply.header(b"x-blazar-warning") if value.startswith(b"not_kept; ")]
            assert len(warned) == (1 if turn or not stream else 0)

    run_kept(test)


def test_an_answer_that_is_too_large_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its copy is dropped on the way."""
    monkeypatch.setattr("blazar.adapters.http.lane.keeping.LARGEST", 100)

    async def test(rig: KeptRig) -> None:
        reply = await rig.ask(CHAT, messages=USER, store=True)
        await rig.answered(whole_chat("x" * 200))
        assert reply.header(b"x-blazar-warning")[0].startswith(b"not_kept; the answer")
        assert "x" * 200 in reply.json()["choices"][0]["message"]["content"]

    run_kept(test)
    assert keep_answer.LARGEST > 100


def test_a_refusal_passes() -> None:
    """With its own status; nothing is kept."""

    async def test(rig: KeptRig) -> None:
        reply = await rig.ask(RESPONSES, input="hi")
        rig.exchange.head(400)
        rig.exchange.body(b'{"error":{"message":"no"}}')
        rig.exchange.end()
        await rig.until(rig.tasks[-1].done)
        assert (reply.status, reply.json()["error"]["message"]) == (400, "no")
        assert rig.store.with_status(Keeping.RESPONSE, ("completed", "failed")) == []

    run_kept(test)


def test_a_conversation_goes_on() -> None:
    """The child gets what was asked and answered before; the instructions of before are gone."""

    async def test(rig: KeptRig) -> None:
        first = await rig.respond(input="my name is Ada", instructions="Be brief.", said="hello")
        await rig.respond(input="who am I?", previous_response_id=first.json()["id"])
        said = [(message["role"], message["content"]) for message in rig.asked["messages"]]
        assert said == [("user", "my name is Ada"), ("assistant", "hello"), ("user", "who am I?")]

    run_kept(test)


def test_items_can_be_referred_to() -> None:
    """By the ids that they had in an earlier response."""

    async def test(rig: KeptRig) -> None:
        first = (await rig.respond(input="x", said="said")).json()
        await rig.respond(input=[{"type": "item_reference", "id": first["output"][0]["id"]}, *USER])
        assert rig.asked["messages"][0]["content"] == "said"

    run_kept(test)


def test_files_can_be_named_and_stay_in_the_conversation() -> None:
    """A text that was sent to /v1/files before is read for its owner alone, in later turns too (A29)."""

    async def test(rig: KeptRig) -> None:
        file = rig.files.upload(b"the text", "ada").id
        asked = [{"role": "user", "content": [{"type": "input_file", "file_id": file}]}]
        first = await rig.respond(key="ada", input=asked)
        assert "the text" in rig.asked["messages"][0]["content"]
        await rig.respond(key="ada", input="more", previous_response_id=first.json()["id"])
        assert "the text" in rig.asked["messages"][0]["content"]
        assert (await rig.ask(RESPONSES, key="eve", input=asked)).status == 404
        assert (await rig.ask(RESPONSES, key="ada", store=False, input=asked)).status == 0
        await rig.answered(whole_chat())

    run_kept(test)


def test_what_is_not_there_is_a_404_before_anything_is_leased() -> None:
    """Nor is what another key kept (A29)."""

    async def test(rig: KeptRig) -> None:
        mine = (await rig.respond(key="ada", input="x")).json()
        leases = len(rig.leasing.leases)
        reference = [{"type": "item_reference", "id": mine["output"][0]["id"]}]
        for body in (
            {"input": "y", "previous_response_id": mine["id"]},
            {"input": reference},
            {"input": [{"id": "msg_1"}]},
        ):
            reply = await rig.ask(RESPONSES, key="eve", **body)
            assert reply.status == 404
        assert len(rig.leasing.leases) == leases

    run_kept(test)


def test_a_client_that_leaves_keeps_nothing() -> None:
    """The child stops, as for any other request (K1)."""

    async def test(rig: KeptRig) -> None:
        reply = await rig.ask(RESPONSES, input="hi", stream=True)
        rig.begin()
        rig.say("a")
        reply.leave()
        await rig.until(rig.tasks[-1].done)
        assert rig.exchange.aborted
        assert rig.store.with_status(Keeping.RESPONSE, ("completed", "incomplete", "in_progress")) == []

    run_kept(test)


def test_a_stream_that_breaks_is_kept_as_failed() -> None:
    """With what it said; the last event says why."""

    async def test(rig: KeptRig) -> None:
        reply = await rig.ask(RESPONSES, input="hi", stream=True)
        rig.begin()
        rig.say("a")
        rig.exchange.end()
        await rig.until(rig.tasks[-1].done)
        last = events(reply.body)[-1]
        assert last["type"] == "response.failed"
        assert rig.recall.find(last["response"]["id"], "").response["status"] == "failed"

    run_kept(test)
