"""Identical chats that come together are answered by one computation."""

import asyncio
import json
from typing import Any

import pytest

from blazar.adapters.http.lane.joining import WITHIN
from blazar.adapters.http.lane.relay import Limits
from blazar.adapters.http.lane.reply import LaneRequest
from blazar.adapters.http.record import RequestRecord
from blazar.domain.errors import Busy
from blazar.domain.keys import Key
from blazar.domain.quota import Account
from blazar.domain.tab import Tab
from tests.support.lane_rig import MemoryReply, Rig, run, whole_chat

USER = [{"role": "user", "content": "hi"}]
CHATS: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"model": "tiny", "messages": USER},
    "/v1/messages": {"model": "tiny", "messages": USER, "max_tokens": 9},
    "/api/chat": {"model": "tiny", "messages": USER, "stream": False},
}
CHAT = "/v1/chat/completions"


async def together(rig: Rig, path: str = CHAT, count: int = 3, **more: Any) -> list[MemoryReply]:
    """So many of the same. Only the first one gets as far as a child."""
    return [await post(rig, path, {**CHATS[path], **more}) for _ in range(count)]


async def post(
    rig: Rig, path: str, body: Any, headers: dict[bytes, bytes] | None = None, *, key: str = "", tab: Tab | None = None
) -> MemoryReply:
    """Begin one, under a trace of its own, and let it get as far as it can: `rig.post` waits for a place to be asked for."""
    record = RequestRecord(f"plm-{len(rig.records)}", rig.clock.now())
    record.key, record.tab = key, tab
    rig.records.append(record)
    reply = MemoryReply()
    request = LaneRequest("POST", path, b"", headers or {}, json.dumps(body).encode(), record)
    rig.tasks.append(asyncio.create_task(rig.lane.serve(request, reply)))
    await rig.clock.settle()
    return reply


@pytest.mark.parametrize("path", CHATS)
def test_all_get_the_bytes_of_one_answer(path: str) -> None:
    """One place, one computation; each record knows what it cost and whose it was."""

    async def test(rig: Rig) -> None:
        replies = await together(rig, path)
        assert len(rig.upstream.exchanges) == 1
        await rig.answer(whole_chat())
        assert [reply.status for reply in replies] == [200] * 3
        assert {reply.body for reply in replies} == {replies[0].body}
        assert all(reply.finished for reply in replies)
        assert [(one.prompt_tokens, one.completion_tokens) for one in rig.records] == [(11, 7)] * 3
        assert [[note[1:] for note in one.notes] for one in rig.records[1:]] == [[("joined", {"trace": "plm-0"})]] * 2

    run(test)


@pytest.mark.parametrize(
    ("path", "first", "second"),
    [
        (CHAT, {}, {"stream": True}),
        (CHAT, {"stream": True}, {"stream": True}),
        (CHAT, {}, {"seed": 1}),
        (CHAT, {"store": True}, {"store": True}),
    ],
)
def test_what_differs_or_streams_is_computed_for_itself(
    path: str, first: dict[str, Any], second: dict[str, Any]
) -> None:
    """A stream, another byte, something that is kept."""

    async def test(rig: Rig) -> None:
        for more in (first, second):
            await post(rig, path, {**CHATS[path], **more})
        assert len(rig.upstream.exchanges) == 2
        for exchange in rig.upstream.exchanges:
            exchange.head(400)
            exchange.end()

    run(test)


@pytest.mark.parametrize("how", ["key", "header", "off", "path"])
def test_another_key_header_or_route_is_another_request(how: str) -> None:
    """Nobody gets what another key asked for; what a header says about the answer counts; the switch turns it off."""

    async def test(rig: Rig) -> None:
        await post(rig, CHAT, CHATS[CHAT], key="a")
        headers = {b"x-blazar-enforce": b"on"} if how == "header" else None
        path = "/api/chat" if how == "path" else CHAT
        body = CHATS[path]
        await post(rig, path, body, headers, key="b" if how == "key" else "a")
        assert len(rig.upstream.exchanges) == 2
        for exchange in rig.upstream.exchanges:
            exchange.head(400)
            exchange.end()

    run(test, Limits(singleflight=how != "off"))


def test_headers_that_say_nothing_about_the_answer_do_not_matter() -> None:
    """Two clients' names for themselves."""

    async def test(rig: Rig) -> None:
        for name in (b"one", b"two"):
            await post(rig, CHAT, CHATS[CHAT], {b"user-agent": name})
        assert len(rig.upstream.exchanges) == 1
        await rig.answer(whole_chat())

    run(test)


def test_who_waits_longer_than_its_bound_goes_its_own_way() -> None:
    """And is answered as if it had just come."""

    async def test(rig: Rig) -> None:
        replies = await together(rig, count=2)
        await rig.clock.advance(WITHIN)
        assert len(rig.upstream.exchanges) == 2
        await rig.answer(whole_chat("mine"))
        assert (replies[0].status, replies[1].json()["choices"][0]["message"]["content"]) == (0, "mine")
        rig.upstream.exchanges[0].head(200)
        rig.upstream.exchanges[0].body(whole_chat())
        rig.upstream.exchanges[0].end()

    run(test)


@pytest.mark.parametrize("how", ["child", "refused"])
def test_an_error_is_the_leaders_alone(how: str) -> None:
    """Whoever waited tries for itself, and may fare better."""

    async def test(rig: Rig) -> None:
        rig.leasing.busy = how == "refused"
        replies = await together(rig, count=3)
        if how == "refused":
            rig.leasing.refuse(Busy("no"))
            await rig.clock.settle()
            rig.leasing.grant()
            rig.leasing.grant()
            await rig.clock.settle()
        else:
            await rig.answer(b'{"error":{"message":"boom","code":500}}', 500)
        assert len(rig.upstream.exchanges) == (2 if how == "refused" else 3)
        for exchange in rig.upstream.exchanges[-2:]:
            exchange.head(200)
            exchange.body(whole_chat())
            exchange.end()
        await rig.clock.settle()
        assert [reply.status for reply in replies] == [503 if how == "refused" else 500, 200, 200]

    run(test)


@pytest.mark.parametrize("waits", [False, True])
def test_a_leader_that_leaves_leaves_the_answer_to_the_others(waits: bool) -> None:
    """In line or at the child: its computation goes on as long as somebody listens."""

    async def test(rig: Rig) -> None:
        rig.leasing.busy = waits
        replies = await together(rig, count=2)
        replies[0].leave()
        await rig.clock.settle()
        if waits:
            rig.leasing.grant()
            await rig.clock.settle()
        assert not rig.exchange.aborted
        await rig.answer(whole_chat())
        assert (replies[0].body, replies[1].status) == (b"", 200)

    run(test)


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_when_everybody_has_left_nothing_is_computed(order: tuple[int, int], waits: bool) -> None:
    """Whoever is last takes the child's work, or the place in line, along."""

    async def test(rig: Rig) -> None:
        rig.leasing.busy = waits
        replies = await together(rig, count=2)
        replies[order[0]].leave()
        await rig.clock.settle()
        assert rig.leasing.cancelled == 0
        assert not any(exchange.aborted for exchange in rig.upstream.exchanges)
        replies[order[1]].leave()
        await rig.clock.settle()
        assert (rig.leasing.cancelled, [one.aborted for one in rig.upstream.exchanges]) == (
            (1, []) if waits else (0, [True])
        )

    run(test)


def test_a_follower_that_leaves_disturbs_nobody() -> None:
    """The others get the answer."""

    async def test(rig: Rig) -> None:
        replies = await together(rig, count=3)
        replies[1].leave()
        await rig.answer(whole_chat())
        assert [reply.status for reply in replies] == [200, 0, 200]

    run(test)


def test_the_next_one_begins_anew() -> None:
    """An answer that is over is nobody's any more: this is no cache."""

    async def test(rig: Rig) -> None:
        for _ in range(2):
            (reply,) = await together(rig, count=1)
            await rig.answer(whole_chat())
            assert reply.status == 200
        assert len(rig.upstream.exchanges) == 2

    run(test)


def test_the_time_in_line_is_the_leaders_own() -> None:
    """Everything else of the head is shared."""

    async def test(rig: Rig) -> None:
        rig.leasing.busy = True
        replies = await together(rig, count=2)
        rig.leasing.grant()
        await rig.clock.settle()
        await rig.answer(whole_chat())
        assert [reply.header(b"x-blazar-queue-ms") for reply in replies] == [[b"1500"], []]
        assert replies[0].header(b"content-length") == replies[1].header(b"content-length")

    run(test)


def test_each_pays_for_its_answer() -> None:
    """Requests and tokens alike, and one too many is a 429 although its answer is there."""

    async def test(rig: Rig) -> None:
        account = Account(Key("k", "plm_x", rpm=2))
        replies = [await post(rig, CHAT, CHATS[CHAT], key="k", tab=Tab(account)) for _ in range(3)]
        await rig.answer(whole_chat())
        assert sorted(reply.status for reply in replies) == [200, 200, 429]
        assert account.day.tokens == 2 * 18

    run(test)


def test_who_joins_waits_for_the_answer_and_hears_what_was_wrong_with_it() -> None:
    """Its wait is its time in line, and what was observed of the answer was of the one that it got."""

    async def test(rig: Rig) -> None:
        await post(rig, CHAT, CHATS[CHAT])
        await rig.clock.advance(0.5)
        await post(rig, CHAT, CHATS[CHAT])
        await rig.clock.advance(1.0)
        await rig.answer(whole_chat().replace(b'"stop"', b'"length"'))
        leader, follower = rig.records
        assert (leader.queue_seconds, follower.queue_seconds) == (0.0, 1.0)
        assert [note[1:] for note in follower.notes if note[1] == "sentinel"] == [note[1:] for note in leader.notes]
        assert (follower.model, follower.known, follower.placed) == ("tiny", True, False)

    run(test)
