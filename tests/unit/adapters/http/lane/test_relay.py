"""When bytes start, what is said in silence, and how an answer ends."""

import pytest

from blazar.adapters.http.lane.relay import LARGEST_ERROR, Limits
from blazar.domain import teaching
from blazar.domain.errors import ChildDied
from blazar.domain.manners import LLAMACPP
from tests.support.lane_rig import DONE, JSON, SSE, Rig, chunk, run, usage_chunk, whole_chat

USER = [{"role": "user", "content": "hi"}]
CHAT = "/v1/chat/completions"
STREAM = {"model": "tiny", "stream": True, "messages": USER}
MESSAGES = {"model": "tiny", "stream": True, "max_tokens": 9, "messages": USER}
BEAT = Limits(heartbeat=15)


@pytest.mark.parametrize("path", [CHAT, "/v1/messages"])
def test_a_silent_stream_is_kept_alive_by_comments(path: str) -> None:
    """Nothing for an interval: 200 is committed with a comment, then one per silent interval (case D5)."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(path, MESSAGES)
        await rig.clock.advance(14)
        assert reply.status == 0
        await rig.clock.advance(1)
        assert (reply.status, reply.body) == (200, b": \n\n")
        await rig.clock.advance(15)
        assert reply.body == b": \n\n" * 2
        rig.exchange.head(200, SSE)
        rig.exchange.body(chunk("a") + chunk(finish="stop") + usage_chunk() + DONE)
        rig.exchange.end()
        assert reply.finished
        assert reply.body.startswith(b": \n\n" * 2)

    run(test, BEAT)


def test_a_beat_is_left_out_while_words_come() -> None:
    """Only an interval in which nothing was said is silent."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(CHAT, STREAM)
        rig.exchange.head(200, SSE)
        for _ in range(4):
            rig.exchange.body(chunk("a"))
            await rig.clock.advance(15)
        assert b": \n\n" not in reply.body
        await rig.clock.advance(15)
        assert reply.body.endswith(b"\n\n: \n\n")
        reply.leave()

    run(test, BEAT)


def test_anthropic_gets_pings_once_its_message_has_begun() -> None:
    """Before `message_start` a comment, after it the dialect's own event (case C12)."""

    async def test(rig: Rig) -> None:
        reply = await rig.post("/v1/messages", MESSAGES)
        rig.exchange.head(200, SSE)
        rig.exchange.body(chunk("a"))
        await rig.clock.advance(31)
        assert reply.body.endswith(b'event: ping\ndata: {"type":"ping"}\n\n')
        assert reply.body.count(b"message_start") == 2  # its event's name and type, once
        reply.leave()

    run(test, BEAT)


def test_ollama_streams_have_no_beat() -> None:
    """NDJSON has nothing that means nothing: an empty line would break its parsers."""

    async def test(rig: Rig) -> None:
        reply = await rig.post("/api/chat", {"model": "tiny", "messages": USER})
        await rig.clock.advance(100)
        assert reply.status == 0
        reply.leave()

    run(test, BEAT)


def test_whole_answers_have_no_beat() -> None:
    """A comment in a JSON body would break it."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(CHAT, {**STREAM, "stream": False})
        await rig.clock.advance(100)
        assert reply.status == 0
        await rig.answer(whole_chat())
        assert reply.json()["choices"]

    run(test, BEAT)


def test_other_limits_hold_for_answers_that_begin_then() -> None:
    """A reload changes no answer that is under way."""

    async def test(rig: Rig) -> None:
        before = await rig.post(CHAT, STREAM)
        rig.lane.limits = BEAT
        after = await rig.post(CHAT, STREAM)
        await rig.clock.advance(16)
        assert (before.status, after.status) == (0, 200)
        before.leave()
        after.leave()

    run(test, Limits(heartbeat=0))


def test_no_beat_when_turned_off() -> None:
    """`heartbeat` 0."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(CHAT, STREAM)
        await rig.clock.advance(100)
        assert reply.status == 0
        reply.leave()

    run(test, Limits(heartbeat=0))


def test_a_child_that_fails_late_but_before_any_byte_gives_its_own_status() -> None:
    """Accepts, thinks, then 503: the client sees 503, not a stream (case C12)."""

    async def test(rig: Rig) -> None:
        reply = await rig.post("/v1/messages", MESSAGES)
        await rig.clock.advance(0.2)
        await rig.answer(b'{"error":{"message":"full","code":503}}', 503)
        assert reply.status == 503
        assert reply.json()["error"]["type"] == "overloaded_error"

    run(test)


def test_a_failure_after_a_beat_ends_the_stream() -> None:
    """The status is spent; the error comes as the stream's last event (D35)."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(CHAT, STREAM)
        await rig.clock.advance(15)
        await rig.answer(b'{"error":{"message":"full","code":503}}', 503)
        assert reply.finished
        assert reply.status == 200
        assert b'"message":"full"' in reply.body
        assert b"[DONE]" not in reply.body

    run(test, BEAT)


def test_a_huge_error_body_is_cut() -> None:
    """What a child says went wrong fits in a few hundred bytes; a gigabyte of it must not fill our memory."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(CHAT, STREAM)
        rig.exchange.head(500, JSON)
        for _ in range(8):
            rig.exchange.body(b"x" * LARGEST_ERROR)
        rig.exchange.end()
        await rig.clock.settle()
        assert reply.status == 500
        assert len(reply.body) < 10_000

    run(test)


@pytest.mark.parametrize("status", [200, 500])
def test_an_answer_that_never_ends_is_dropped_at_its_bound(status: int) -> None:
    """A buffered one is a 502 and the engine's fault; an endless refusal is what it began with. Either way the child is hung up on."""

    async def test(rig: Rig) -> None:
        rig.leasing.manners = LLAMACPP._replace(largest=4 * LARGEST_ERROR)
        reply = await rig.post(CHAT, {"model": "tiny", "messages": USER})
        rig.exchange.head(status, JSON)
        sent = 0
        while not rig.exchange.aborted:
            rig.exchange.body(b"x" * (LARGEST_ERROR // 2))
            sent += LARGEST_ERROR // 2
        await rig.clock.settle()
        assert sent == (4.5 * LARGEST_ERROR if status == 200 else LARGEST_ERROR)
        assert reply.status == (502 if status == 200 else 500)
        if status == 200:
            assert reply.json()["error"]["message"] == teaching.child_answer_too_large("tiny", 4 * LARGEST_ERROR)
        assert rig.lease.released == [(None, True)]

    run(test)


def test_an_answer_up_to_its_bound_passes() -> None:
    """Two thousand vectors of an engine that writes every digit are large and welcome."""

    async def test(rig: Rig) -> None:
        raw = whole_chat("x" * 100_000)
        rig.leasing.manners = LLAMACPP._replace(largest=len(raw))
        reply = await rig.post(CHAT, {"model": "tiny", "messages": USER})
        await rig.answer(raw)
        assert (reply.status, reply.body) == (200, raw)

    run(test)


def test_a_501_is_not_held_against_the_child() -> None:
    """A refusal such as "start it with --embeddings" is an answer of a healthy child (case G6 counts failures only)."""

    async def test(rig: Rig) -> None:
        await rig.post("/v1/embeddings", {"model": "tiny", "input": "x"})
        await rig.answer(b'{"error":{"message":"not this child","code":501}}', 501)
        assert rig.lease.released == [(None, False)]

    run(test)


def test_an_upstream_that_fails_inside_send_is_told() -> None:
    """A fault before `send` returns ends the request like any other, and leaves no timer."""

    async def test(rig: Rig) -> None:
        rig.upstream.on_send = lambda exchange: exchange.fault(ChildDied("gone"))
        reply = await rig.post(CHAT, STREAM)
        assert reply.status == 502

    run(test)


def test_what_one_read_brought_leaves_in_one_write() -> None:
    """Fifty chunks of one read are one write, in both kinds of stream."""

    async def test(rig: Rig) -> None:
        for path, body in (
            (CHAT, STREAM),
            ("/v1/messages", MESSAGES),
            ("/api/chat", {"model": "tiny", "messages": USER}),
        ):
            reply = await rig.post(path, body)
            rig.exchange.head(200, SSE)
            rig.exchange.body(chunk("a") * 50)
            assert len(reply.writes) == 1
            reply.leave()

    run(test)


def test_text_streams_piece_by_piece_beside_tools() -> None:
    """Tools in a request do not turn its stream into one block (case A24)."""
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}

    async def test(rig: Rig) -> None:
        reply = await rig.post(CHAT, {**STREAM, "tools": [tool]})
        rig.exchange.head(200, SSE)
        for _ in range(20):
            rig.exchange.body(chunk("x"))
        assert len(reply.writes) == 20
        reply.leave()

    run(test)


def test_a_child_that_falls_silent_in_a_stream_is_given_up() -> None:
    """Twenty tokens, then nothing: the stream ends with an error within twice the bound, never as a success (case D9)."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(CHAT, STREAM)
        rig.exchange.head(200, SSE)
        for _ in range(20):
            rig.exchange.body(chunk("a"))
        await rig.clock.advance(60)
        rig.exchange.body(b":\n\n")  # an engine's ping counts: it works on something
        await rig.clock.advance(100)
        assert not reply.finished
        await rig.clock.advance(85)
        assert reply.finished
        assert b"sent nothing for 120 s" in reply.body
        assert rig.exchange.aborted
        assert rig.lease.released == [(None, True)]

    run(test)


def test_silence_because_of_a_slow_client_is_not_the_childs() -> None:
    """While we do not read, the child cannot be heard."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(CHAT, STREAM)
        rig.exchange.head(200, SSE)
        rig.exchange.body(chunk("a"))
        assert reply.on_pause is not None
        assert reply.on_resume is not None
        reply.on_pause()
        await rig.clock.advance(1000)
        assert not reply.finished
        reply.on_resume()
        await rig.clock.advance(100)
        assert not reply.finished
        reply.leave()

    run(test)


FINISHES = LLAMACPP._replace(finishes=True)
WHOLE = {"model": "tiny", "messages": USER, "keep_alive": 9}


def finishing(rig: Rig) -> None:
    """Its child computes to the end."""
    rig.leasing.manners = FINISHES


def test_odd_a_child_that_cannot_be_stopped_keeps_its_place() -> None:
    """Its connection stays and nobody else gets its slot until it has answered; the request itself is over at once."""

    async def test(rig: Rig) -> None:
        finishing(rig)
        reply = await rig.post(CHAT, WHOLE)
        reply.leave()
        await rig.clock.settle()
        assert (rig.tasks[0].done(), rig.exchange.aborted, rig.lease.released) == (True, False, [])
        assert rig.lease.abandoned == [9.0]
        await rig.answer(whole_chat())
        assert (reply.status, rig.lease.released) == (0, [(9.0, False)])

    run(test)


def test_what_it_streams_ends_with_its_client() -> None:
    """It notices by writing."""

    async def test(rig: Rig) -> None:
        finishing(rig)
        reply = await rig.post(CHAT, STREAM)
        rig.exchange.head(200, SSE)
        reply.leave()
        await rig.clock.settle()
        assert (rig.exchange.aborted, rig.lease.released, rig.lease.abandoned) == (True, [(None, False)], [])

    run(test)


@pytest.mark.parametrize(("status", "body", "failed"), [(500, b"{}", True), (200, b"{}", False), (400, b"{}", False)])
def test_how_an_answer_to_nobody_ends_counts(status: int, body: bytes, failed: bool) -> None:
    """A child that breaks does so whoever listens (case G6)."""

    async def test(rig: Rig) -> None:
        finishing(rig)
        reply = await rig.post(CHAT, WHOLE)
        reply.leave()
        await rig.answer(body, status)
        assert rig.lease.released == [(9.0, failed)]

    run(test)


def test_a_child_that_dies_over_an_answer_to_nobody_gives_its_place_back() -> None:
    """The connection breaks, as when it is evicted."""

    async def test(rig: Rig) -> None:
        finishing(rig)
        reply = await rig.post(CHAT, WHOLE)
        reply.leave()
        rig.exchange.fault(ChildDied("gone"))
        await rig.clock.settle()
        assert rig.lease.released == [(9.0, True)]

    run(test)


def test_an_answer_to_nobody_is_not_waited_for_longer_than_any_other() -> None:
    """The bound on a child's silence holds for it, too."""

    async def test(rig: Rig) -> None:
        finishing(rig)
        reply = await rig.post(CHAT, WHOLE)
        await rig.clock.advance(10)
        reply.leave()
        await rig.clock.advance(19)
        assert rig.lease.released == []
        await rig.clock.advance(1)
        assert (rig.exchange.aborted, rig.lease.released) == (True, [(9.0, True)])

    run(test, Limits(header_timeout=30))


def test_an_answer_that_came_before_its_client_left_is_no_matter() -> None:
    """The place was given back with the answer: once."""

    async def test(rig: Rig) -> None:
        finishing(rig)
        reply = await rig.post(CHAT, WHOLE)
        await rig.answer(whole_chat())
        reply.leave()
        await rig.clock.settle()
        assert rig.lease.released == [(9.0, False)]

    run(test)
