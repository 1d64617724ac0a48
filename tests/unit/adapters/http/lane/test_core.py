"""The way of a request through the lane, over every endpoint."""

import asyncio
import json
from functools import partial
from typing import Any

import pytest

from blazar.adapters.http.lane.core import OFF_LOOP
from blazar.adapters.http.lane.fetching import Fetching
from blazar.adapters.http.lane.relay import Limits
from blazar.adapters.http.lane.reply import LaneRequest
from blazar.adapters.http.record import RequestRecord
from blazar.application.ports.pictures import Fetched
from blazar.application.ports.upstream import ChildAnswer
from blazar.domain import teaching
from blazar.domain.admission.work import PREFILL_HEAVY_BYTES, Priority, Work, WorkClass
from blazar.domain.errors import Busy, ChildDied, Forbidden, Malformed, SpawnFailed
from blazar.domain.keys import Key
from blazar.domain.kinds import Task
from blazar.domain.manners import COUNTING, LLAMACPP
from blazar.domain.paces import Paces
from blazar.domain.quota import Account
from tests.fakes.pictures import FakePictures
from tests.support.lane_rig import DONE, SSE, TRACE, MemoryReply, Rig, chunk, run, usage_chunk, whole_chat

USER = [{"role": "user", "content": "hi"}]
CHAT = "/v1/chat/completions"
STREAMS: dict[str, dict[str, Any]] = {
    CHAT: {"model": "tiny", "stream": True, "messages": USER},
    "/v1/completions": {"model": "tiny", "stream": True, "prompt": "hi"},
    "/v1/messages": {"model": "tiny", "stream": True, "max_tokens": 9, "messages": USER},
    "/v1/responses": {"model": "tiny", "stream": True, "input": "hi"},
    "/api/chat": {"model": "tiny", "messages": USER},
    "/api/generate": {"model": "tiny", "prompt": "hi"},
}
WHOLES: dict[str, dict[str, Any]] = {path: {**body, "stream": False} for path, body in STREAMS.items()}
EMBEDS: dict[str, dict[str, Any]] = {
    "/v1/embeddings": {"model": "tiny", "input": "hi"},
    "/api/embed": {"model": "tiny", "input": "hi"},
    "/api/embeddings": {"model": "tiny", "prompt": "hi"},
}
COUNT = "/v1/messages/count_tokens"
EVERY: dict[str, dict[str, Any]] = {**STREAMS, **EMBEDS, COUNT: {"model": "tiny", "messages": USER}}
KINDS = {path: "anthropic" if "messages" in path else "ollama" if "/api/" in path else "openai" for path in EVERY}
CUT = ChildDied("the engine went away")


def message_of(path: str, body: bytes) -> str:
    """The sentence in an error of this endpoint's dialect; its envelope is checked on the way."""
    said = json.loads(body)
    if KINDS[path] == "ollama":
        assert list(said) == ["error"]
        return said["error"]
    if KINDS[path] == "anthropic":
        assert said["type"] == "error"
        assert said["request_id"] == TRACE
        return said["error"]["message"]
    assert set(said["error"]) == {"message", "type", "param", "code"}
    return said["error"]["message"]


def last_error(path: str, body: bytes) -> str:
    """The sentence of the error that ends a stream, in the dialect's form (D35)."""
    if KINDS[path] == "ollama":
        return json.loads(body.splitlines()[-1])["error"]
    event = body.rstrip(b"\n").split(b"\n\n")[-1]
    if KINDS[path] == "anthropic":
        assert event.startswith(b"event: error\n")
    assert b"[DONE]" not in body
    if path == "/v1/responses":
        assert event.startswith(b"event: response.failed\n")
        return json.loads(event.split(b"data: ", 1)[1])["response"]["error"]["message"]
    return json.loads(event.split(b"data: ", 1)[1])["error"]["message"]


@pytest.mark.parametrize("path", STREAMS)
def test_a_stream_goes_through(path: str) -> None:
    """Head, text and end arrive; the record knows model, dialect and tokens; the lease is back."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(path, STREAMS[path])
        assert reply.status == 0  # nothing before the child has spoken
        rig.exchange.head(200, SSE)
        piece = (
            chunk("Hel")
            if "chat" in rig.exchange.call.path.decode()
            else b'data: {"choices":[{"text":"Hel","index":0,"finish_reason":null}],"model":"tiny"}\n\n'
        )
        rig.exchange.body(piece)
        assert reply.status == 200
        assert b"Hel" in reply.body
        rig.exchange.body(chunk(finish="stop") + usage_chunk() + DONE)
        rig.exchange.end()
        await rig.clock.settle()
        assert reply.finished
        (kind,) = reply.header(b"content-type")
        assert kind == (b"application/x-ndjson" if KINDS[path] == "ollama" else b"text/event-stream")
        record = rig.records[0]
        assert (record.model, record.dialect, record.stream) == ("tiny", KINDS[path], True)
        assert (record.prompt_tokens, record.completion_tokens) == (11, 7)

    run(test)


@pytest.mark.parametrize("path", STREAMS)
def test_streams_may_not_be_buffered_by_proxies(path: str) -> None:
    """Every stream says so to caches and to nginx (case D10 of streaming)."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(path, STREAMS[path])
        rig.exchange.head(200, SSE)
        rig.exchange.body(chunk("a"))
        rig.exchange.body(chunk(finish="stop") + DONE)
        rig.exchange.end()
        assert reply.header(b"cache-control") == [b"no-cache"]
        assert reply.header(b"x-accel-buffering") == [b"no"]

    run(test)


@pytest.mark.parametrize("path", WHOLES)
def test_a_whole_answer_goes_through(path: str) -> None:
    """One JSON answer with its length, in the dialect, under the caller's model name."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(path, {**WHOLES[path], "model": "tiny:latest"})
        await rig.answer(whole_chat(model="/home/u/x.gguf"))
        assert (reply.status, reply.finished) == (200, True)
        assert reply.header(b"content-length") == [b"%d" % len(reply.body)]
        assert "hello" in json.dumps(reply.json())
        assert reply.json()["model"] == "tiny:latest"  # case A22
        assert rig.asked["model"] == "tiny"
        assert rig.records[0].prompt_tokens == 11

    run(test)


@pytest.mark.parametrize("path", EVERY)
@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[]", b'"x"', b"null", b"\xff\xfe", b'{"model":"tiny","x":"\xff"}', b"[" * 100_000]
)
def test_a_body_that_is_no_object_is_a_400(path: str, raw: bytes) -> None:
    """Empty, cut, not an object or not UTF-8: a 400 in the dialect's envelope, and no model is touched (case A21)."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(path, raw)
        assert reply.status == 400
        assert "JSON" in message_of(path, reply.body)
        assert not rig.leasing.leases
        assert not rig.leasing.asks

    run(test)


@pytest.mark.parametrize("path", EVERY)
def test_a_byte_order_mark_before_a_body_is_dropped(path: str) -> None:
    """Files and pipes on Windows begin with one; not every engine skips it, so none sees it."""

    async def test(rig: Rig) -> None:
        await rig.post(path, b"\xef\xbb\xbf" + json.dumps(EVERY[path]).encode())
        assert rig.leasing.leases
        assert rig.asked["model"] == "tiny"
        rig.exchange.fault(ChildDied("over"))

    run(test)


@pytest.mark.parametrize("path", EVERY)
def test_a_body_without_model_is_a_400(path: str) -> None:
    """The missing field is named."""

    async def test(rig: Rig) -> None:
        body = {key: value for key, value in EVERY[path].items() if key != "model"}
        reply = await rig.post(path, body)
        assert (reply.status, message_of(path, reply.body)) == (400, teaching.field_missing("model"))
        reply = await rig.post(path, {**body, "model": 7})
        assert reply.status == 400

    run(test)


@pytest.mark.parametrize("path", EVERY)
def test_an_unknown_model_is_a_404_with_near_matches(path: str) -> None:
    """Never served by whatever is loaded (case A23)."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(path, {**EVERY[path], "model": "tinny"})
        assert reply.status == 404
        assert message_of(path, reply.body) == teaching.model_not_found("tinny", ("tiny",))

    run(test)


@pytest.mark.parametrize("path", EVERY)
@pytest.mark.parametrize("status", [400, 404, 500, 503])
def test_a_childs_error_keeps_status_and_text(path: str, status: int) -> None:
    """Re-enveloped, not reworded (D10, C11); a 5xx counts against the child (G6)."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(path, EVERY[path])
        await rig.answer(b'{"error":{"code":%d,"message":"no room","type":"x"}}' % status, status)
        assert reply.status == status
        assert message_of(path, reply.body) == "no room"
        assert rig.lease.released == [(None, status >= 500)]

    run(test)


@pytest.mark.parametrize("path", EVERY)
def test_a_child_that_fails_before_any_byte_is_a_502_that_says_why(path: str) -> None:
    """The status is real, and the sentence has what the child said last."""

    async def test(rig: Rig) -> None:
        rig.leasing.said_last = "CUDA out of memory"
        reply = await rig.post(path, EVERY[path])
        rig.exchange.fault(CUT)
        await rig.clock.settle()
        assert reply.status == 502
        assert message_of(path, reply.body) == "the engine went away; CUDA out of memory"
        assert rig.lease.released == [(None, True)]

    run(test)


@pytest.mark.parametrize("path", STREAMS)
def test_a_child_that_dies_in_a_stream_ends_it_with_one_error(path: str) -> None:
    """After bytes the error is the last event of the dialect, and the coding is finished (D35, D4)."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(path, STREAMS[path])
        rig.exchange.head(200, SSE)
        rig.exchange.body(chunk("a"))
        rig.exchange.fault(CUT)
        await rig.clock.settle()
        assert reply.finished
        assert not reply.aborted
        assert last_error(path, reply.body) == str(CUT)
        assert rig.lease.released == [(None, True)]

    run(test)


@pytest.mark.parametrize("path", STREAMS)
@pytest.mark.parametrize("ending", [b"data: {bad\n\n", b'data: {"error":{"code":500,"message":"boom"}}\n\n'])
def test_a_broken_event_stops_the_child_and_ends_the_stream(path: str, ending: bytes) -> None:
    """One error, the child is not listened to any further, the slot is free at once (cases D7, D9)."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(path, STREAMS[path])
        rig.exchange.head(200, SSE)
        rig.exchange.body(chunk("a"))
        rig.exchange.body(ending)
        assert rig.exchange.aborted
        await rig.clock.settle()
        assert reply.finished
        wanted = "boom" if b"boom" in ending else teaching.child_garbled("tiny")
        assert last_error(path, reply.body) == wanted
        assert rig.lease.released == [(None, True)]
        assert reply.body.count(wanted.encode()) == 1

    run(test)


@pytest.mark.parametrize("path", STREAMS)
def test_an_error_event_before_anything_else_is_a_real_status(path: str) -> None:
    """A stream whose first word is its failure was never one (case C12)."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(path, STREAMS[path])
        rig.exchange.head(200, SSE)
        rig.exchange.body(b'data: {"error":{"code":503,"message":"boom"}}\n\n')
        await rig.clock.settle()
        assert reply.status == 503
        assert message_of(path, reply.body) == "boom"

    run(test)


@pytest.mark.parametrize("path", STREAMS)
def test_a_stream_that_just_stops_is_not_a_success(path: str) -> None:
    """Cut after some tokens without a finish: an error at the end, never a shorter answer (case D9)."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(path, STREAMS[path])
        rig.exchange.head(200, SSE)
        rig.exchange.body(chunk("a"))
        rig.exchange.end()
        await rig.clock.settle()
        assert last_error(path, reply.body) == teaching.child_cut_stream("tiny")
        assert rig.lease.released == [(None, True)]

    run(test)


@pytest.mark.parametrize("path", STREAMS)
def test_comments_and_named_events_between_frames_are_no_data(path: str) -> None:
    """llama-server's pings never end or spoil a stream (case B13)."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(path, STREAMS[path])
        rig.exchange.head(200, SSE)
        rig.exchange.body(b":\n\n" + chunk("a") + b": ping\n\n" + b"event: x\n\n")
        rig.exchange.body(chunk("b") + chunk(finish="stop") + usage_chunk() + DONE)
        rig.exchange.end()
        await rig.clock.settle()
        assert reply.finished
        assert b"rror" not in reply.body.replace(b'"error":null', b"")  # a response says that it has none

    run(test)


@pytest.mark.parametrize("path", EVERY)
def test_a_client_that_leaves_during_prefill_stops_the_child(path: str) -> None:
    """No byte has come yet; the child's connection closes at once (cases K1, K2)."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(path, EVERY[path])
        reply.leave()
        assert rig.exchange.aborted
        await rig.clock.settle()
        assert rig.lease.released == [(None, False)]
        assert reply.status == 0

    run(test)


@pytest.mark.parametrize("path", STREAMS)
def test_a_client_that_leaves_in_a_stream_stops_the_child(path: str) -> None:
    """In the middle of an answer as well (case K1)."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(path, STREAMS[path])
        rig.exchange.head(200, SSE)
        rig.exchange.body(chunk("a"))
        reply.leave()
        assert rig.exchange.aborted
        await rig.clock.settle()
        assert rig.lease.released == [(None, False)]

    run(test)


@pytest.mark.parametrize("path", EVERY)
def test_a_client_that_leaves_in_line_never_reaches_the_child(path: str) -> None:
    """Its wait is cancelled, nobody else is disturbed (cases K3, K4)."""

    async def test(rig: Rig) -> None:
        first = await rig.post(CHAT, WHOLES[CHAT])
        rig.leasing.busy = True
        second = await rig.post(path, EVERY[path])
        assert len(rig.leasing.waiting) == 1
        second.leave()
        await rig.clock.settle()
        assert rig.leasing.cancelled == 1
        assert len(rig.upstream.exchanges) == 1
        assert not rig.upstream.exchanges[0].aborted
        await rig.answer(whole_chat())
        assert first.status == 200

    run(test)


def test_a_lease_granted_as_the_client_leaves_comes_back_unused() -> None:
    """Granted and gone in the same moment: no request reaches the child, the slot is free (case K4)."""

    async def test(rig: Rig) -> None:
        rig.leasing.busy = True
        reply = await rig.post(CHAT, WHOLES[CHAT])
        rig.leasing.grant()
        reply.gone = True
        await rig.clock.settle()
        assert not rig.upstream.exchanges

    run(test)


def test_leases_come_back_a_thousand_times() -> None:
    """However requests end, none is lost (case K6)."""

    async def test(rig: Rig) -> None:
        for number in range(1000):
            reply = await rig.post(CHAT, STREAMS[CHAT])
            if number % 3:
                rig.exchange.head(200, SSE)
                rig.exchange.body(chunk("a"))
            reply.leave()
        await rig.clock.settle()
        assert sum(len(lease.released) for lease in rig.leasing.leases) == 1000

    run(test)


def test_whoever_waited_is_told_how_long() -> None:
    """`x-blazar-queue-ms` and the record have the wait; without one there is no header."""

    async def test(rig: Rig) -> None:
        rig.leasing.busy = True
        reply = await rig.post(CHAT, WHOLES[CHAT], {b"x-blazar-deadline-ms": b"2500"})
        assert rig.leasing.asks[0][:4] == ("tiny", Task.CHAT, Work(wait=2.5, firm=True), 0)
        rig.leasing.grant()
        await rig.clock.settle()
        await rig.answer(whole_chat())
        assert reply.header(b"x-blazar-queue-ms") == [b"1500"]
        assert rig.records[0].queue_seconds == 1.5
        rig.leasing.busy = False
        reply = await rig.post(CHAT, WHOLES[CHAT])
        await rig.answer(whole_chat())
        assert reply.header(b"x-blazar-queue-ms") == []

    run(test)


@pytest.mark.parametrize("text", [b"soon", b"-1", b"nan", b"", b"inf", b"1_000", b"1e3", b" 5"])
@pytest.mark.parametrize("path", [CHAT, "/api/chat", "/v1/messages"])
def test_a_deadline_that_is_none_is_refused(path: str, text: bytes) -> None:
    """A caller that means a bound must not wait without it; also where a slot is free."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(path, WHOLES[path], {b"x-blazar-deadline-ms": text})
        assert reply.status == 400
        assert message_of(path, reply.body) == teaching.field_must("x-blazar-deadline-ms", "milliseconds")
        assert not rig.leasing.leases
        assert not rig.leasing.asks

    run(test)


@pytest.mark.parametrize(("text", "wait"), [(b"0", 0.0), (b"2500.5", 2.5005), (b"999999999", 600.0)])
def test_a_deadline_bounds_the_wait(text: bytes, wait: float) -> None:
    """In milliseconds; beyond ten minutes it is as good as none (D17)."""

    async def test(rig: Rig) -> None:
        rig.leasing.busy = True
        reply = await rig.post(CHAT, WHOLES[CHAT], {b"x-blazar-deadline-ms": text})
        assert rig.leasing.asks[0].work.wait == wait
        reply.leave()

    run(test)


TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
LONG = [{"role": "user", "content": "hi" * PREFILL_HEAVY_BYTES}]
HIGH, NORMAL, LOW = Priority
TICKETS: dict[str, tuple[dict[bytes, bytes], dict[str, Any], Priority, WorkClass, float]] = {
    "plain": ({}, {}, NORMAL, WorkClass.INTERACTIVE, 30.0),
    "high": ({b"x-blazar-priority": b"HIGH"}, {}, HIGH, WorkClass.INTERACTIVE, 2.0),
    "low": ({b"x-blazar-priority": b"low"}, {}, LOW, WorkClass.INTERACTIVE, 120.0),
    "unheard of": ({b"x-blazar-priority": b"\xff"}, {}, NORMAL, WorkClass.INTERACTIVE, 30.0),
    "tools": ({}, {"tools": TOOLS}, NORMAL, WorkClass.TOOL, 10.0),
    "tools that may not be called": ({}, {"tools": TOOLS, "tool_choice": "none"}, NORMAL, WorkClass.INTERACTIVE, 30.0),
    "a long prompt": ({}, {"messages": LONG}, LOW, WorkClass.INTERACTIVE, 120.0),
    "a long urgent one": ({b"x-blazar-priority": b"high"}, {"messages": LONG}, NORMAL, WorkClass.INTERACTIVE, 30.0),
    "a deadline": ({b"x-blazar-deadline-ms": b"50000"}, {"tools": TOOLS}, NORMAL, WorkClass.TOOL, 50.0),
}


@pytest.mark.parametrize("busy", [False, True])
@pytest.mark.parametrize("name", TICKETS)
def test_the_queue_and_the_record_are_told_what_it_is(name: str, busy: bool) -> None:
    """Priority, class, bound, key and weight, whether it waits or not; the record has what it got (D16)."""
    headers, more, priority, kind, wait = TICKETS[name]

    async def test(rig: Rig) -> None:
        rig.leasing.busy = busy
        reply = await rig.post(CHAT, {**WHOLES[CHAT], **more}, headers)
        work = Work(priority, kind, wait, firm=name == "a deadline")
        assert rig.leasing.works == [work]
        assert [ask.work for ask in rig.leasing.asks] == [work] * busy
        assert (rig.records[0].priority, rig.records[0].work) == (priority.name.lower(), kind.name.lower())
        if busy:
            reply.leave()
        else:
            await rig.answer(whole_chat())

    run(test)


def test_a_slot_that_is_of_no_use_is_handed_back() -> None:
    """A child without eyes for a picture: its key is charged no turn for the slot that it did not use (A18)."""

    async def test(rig: Rig) -> None:
        rig.leasing.toolless = True
        await rig.post(CHAT, {**WHOLES[CHAT], "tools": TOOLS})
        first = rig.leasing.leases[0]
        assert (len(first.handed_back), len(first.released)) == (1, 1)
        assert first.handed_back == [rig.leasing.works[0]]
        await rig.answer(whole_chat())

    run(test)


def test_a_key_brings_its_weight_along() -> None:
    """As the layer that knows the key has put it into the record."""

    async def test(rig: Rig) -> None:
        record = RequestRecord(TRACE, 0.0)
        record.key, record.weight = "laptop", 2.5
        body = json.dumps(WHOLES[CHAT]).encode()
        asked = asyncio.create_task(rig.lane.serve(LaneRequest("POST", CHAT, b"", {}, body, record), MemoryReply()))
        await rig.clock.settle()
        await rig.answer(whole_chat())
        await asked
        assert rig.leasing.works == [Work(key="laptop", weight=2.5)]

    run(test)


def test_the_record_knows_how_many_waited() -> None:
    """For the audit line: the supervisor tells the record, whatever becomes of the wait."""

    async def test(rig: Rig) -> None:
        rig.leasing.busy = True
        reply = await rig.post(CHAT, WHOLES[CHAT])
        tell = rig.leasing.asks[0].tell_depth
        assert tell is not None
        tell(7)
        rig.leasing.refuse(Busy("full"))
        await rig.clock.settle()
        assert reply.status == 503
        assert rig.records[0].queue_depth == 7

    run(test)


def test_the_record_knows_that_its_client_left() -> None:
    """In the middle of an answer whose status was a success; one that was heard to its end has no such note."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(CHAT, WHOLES[CHAT])
        reply.leave()
        await rig.clock.settle()
        await rig.post(CHAT, WHOLES[CHAT])
        await rig.answer(whole_chat())
        assert [[code for _, code, _ in record.notes] for record in rig.records] == [["client_left"], []]

    run(test)


def test_the_record_knows_who_served_it_and_how() -> None:
    """For its story: the child and its build, what it answered, what was ignored; and why it failed, without the engine's words."""

    async def test(rig: Rig) -> None:
        await rig.post(CHAT, {**WHOLES[CHAT], "stream": False})
        await rig.answer(whole_chat())
        record = rig.records[0]
        assert (record.instance, record.engine, record.child_status) == ("tiny", "b1", 200)
        reply = await rig.post(CHAT, {**WHOLES[CHAT], "stream": False})
        await rig.answer(b'{"error":{"message":"cannot read: my secret"}}', status=500)
        assert reply.status == 500
        record = rig.records[1]
        assert record.child_status == 500
        assert "secret" not in record.refusal
        assert record.refusal

    run(test)


WRONG_SCHEMAS: dict[str, tuple[dict[str, Any], str]] = {
    CHAT: (
        {"response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "nonsense"}}}},
        "response_format.json_schema.schema",
    ),
    "/v1/completions": ({"json_schema": {"type": "nonsense"}}, "json_schema"),
    "/v1/messages": (
        {"output_config": {"format": {"type": "json_schema", "schema": {"type": "nonsense"}}}},
        "output_config.format.schema",
    ),
    "/api/chat": ({"format": {"type": "nonsense"}}, "format"),
    "/api/generate": ({"format": {"type": "nonsense"}, "raw": True}, "format"),
}


@pytest.mark.parametrize("path", WRONG_SCHEMAS)
def test_what_is_no_json_schema_is_a_400_before_the_engine_sees_it(path: str) -> None:
    """The field and the reason, and no model is loaded for it."""
    more, field = WRONG_SCHEMAS[path]

    async def test(rig: Rig) -> None:
        reply = await rig.post(path, WHOLES[path] | more)
        assert reply.status == 400
        assert message_of(path, reply.body).startswith(f"'{field}' is not a JSON Schema: type: 'nonsense'")
        if KINDS[path] == "openai":
            assert reply.json()["error"]["param"] == field
        assert not rig.leasing.leases
        assert not rig.leasing.asks

    run(test)


FORMS: dict[str, tuple[dict[str, Any], bytes]] = {
    CHAT: (
        {"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}}},
        b"json_schema",
    ),
    "/v1/completions": ({"grammar": "root ::= x"}, b"gbnf"),
    "/v1/messages": (
        {"output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}}},
        b"json_schema",
    ),
    "/api/chat": ({"format": "json"}, b"json_object"),
    "/api/generate": ({"format": {"type": "object"}}, b"json_schema"),
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", FORMS)
def test_a_constrained_answer_has_its_receipt(path: str, stream: bool) -> None:
    """Which constraint went to the engine; an unconstrained answer has none (D19)."""
    more, receipt = FORMS[path]

    async def test(rig: Rig) -> None:
        for body, expected in ((more, [receipt]), ({}, [])):
            reply = await rig.post(path, WHOLES[path] | body | {"stream": stream})
            if stream:
                rig.exchange.head(200, SSE)
                rig.exchange.body(chunk("{}") + chunk(finish="stop") + DONE)
                rig.exchange.end()
                await rig.clock.settle()
            else:
                await rig.answer(whole_chat("{}"))
            assert reply.status == 200
            assert reply.header(b"x-blazar-structured-output") == expected

    run(test)


@pytest.mark.parametrize("path", [path for path in FORMS if path != "/v1/completions"])
def test_prose_where_json_was_asked_for_has_no_receipt(path: str) -> None:
    """A grammar that was dropped, or an answer cut short: nothing is proven then (D19, E1)."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(path, WHOLES[path] | FORMS[path][0])
        await rig.answer(whole_chat('{"n":'))
        assert reply.status == 200
        assert reply.header(b"x-blazar-structured-output") == []

    run(test)


def test_the_childs_later_is_passed_on() -> None:
    """Status, text, field and when to come again (D10)."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(CHAT, WHOLES[CHAT])
        rig.exchange.head(503, ((b"Retry-After", b"9"), (b"content-type", b"application/json")))
        rig.exchange.body(b'{"error":{"message":"Loading model","code":503}}')
        rig.exchange.end()
        await rig.clock.settle()
        assert (reply.status, reply.header(b"retry-after")) == (503, [b"9"])
        reply = await rig.post(CHAT, WHOLES[CHAT])
        await rig.answer(b'{"error":{"message":"busy"}}', 429)
        assert (reply.status, reply.header(b"retry-after")) == (429, [b"1"])
        reply = await rig.post(CHAT, WHOLES[CHAT] | {"n": 2})
        await rig.answer(b'{"error":{"code":400,"message":"Field \'n\': Value must be 1"}}', 400)
        assert (reply.status, reply.json()["error"]["param"]) == (400, "n")

    run(test)


@pytest.mark.parametrize("path", EVERY)
def test_a_full_line_is_a_503_before_any_byte(path: str) -> None:
    """Admission decides before a head is sent, for streams too (case A12), and says when to come back."""

    async def test(rig: Rig) -> None:
        rig.leasing.busy = True
        reply = await rig.post(path, EVERY[path])
        rig.leasing.refuse(Busy(teaching.queue_full("tiny", 512), 3))
        await rig.clock.settle()
        assert reply.status == 503
        assert message_of(path, reply.body) == teaching.queue_full("tiny", 512)
        assert reply.header(b"retry-after") == [b"3"]

    run(test)


def test_a_large_body_is_understood_off_the_loop() -> None:
    """A parse of a large body does not stop the tokens of others; its result is the same."""

    async def test(rig: Rig) -> None:
        body = {"model": "tiny", "seed": None, "messages": [{"role": "user", "content": "x" * OFF_LOOP}]}
        reply = await rig.post(CHAT, body)
        async with asyncio.timeout(20):
            while not rig.upstream.exchanges:
                await asyncio.sleep(0)
        assert "seed" not in rig.asked
        assert rig.asked["messages"] == body["messages"]
        await rig.answer(whole_chat())
        assert reply.status == 200

    run(test)


def test_a_slow_client_holds_its_child_back() -> None:
    """The door's pause and resume reach the child's connection."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(CHAT, STREAMS[CHAT])
        assert reply.on_pause is not None
        assert reply.on_resume is not None
        reply.on_pause()
        assert rig.exchange.paused
        reply.on_resume()
        assert not rig.exchange.paused
        reply.leave()

    run(test)


def test_keep_alive_reaches_the_lease_and_not_the_child() -> None:
    """It is read from OpenAI bodies too, and no engine ever sees it (D4)."""

    async def test(rig: Rig) -> None:
        await rig.post(CHAT, {**WHOLES[CHAT], "keep_alive": "10m"})
        assert "keep_alive" not in rig.asked
        await rig.answer(whole_chat())
        assert rig.lease.released == [(600.0, False)]
        for path in ("/api/chat", "/v1/embeddings"):
            await rig.post(path, {**EVERY[path], "stream": False, "keep_alive": -1})
            assert "keep_alive" not in rig.asked
            rig.exchange.fault(CUT)
            await rig.clock.settle()
            assert rig.lease.released == [(-1.0, True)]
        reply = await rig.post(CHAT, {**WHOLES[CHAT], "keep_alive": "abc"})
        assert reply.status == 400

    run(test)


@pytest.mark.parametrize(("path", "body"), [("/api/chat", {"messages": []}), ("/api/generate", {"prompt": ""})])
def test_an_empty_ollama_request_loads_or_unloads(path: str, body: dict[str, Any]) -> None:
    """No prompt means load; with `keep_alive` 0 unload, which loads nothing."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(path, {"model": "tiny", **body, "keep_alive": "5m"})
        assert (reply.status, reply.json()["done_reason"]) == (200, "load")
        assert rig.lease.released == [(300.0, False)]
        reply = await rig.post(path, {"model": "tiny", **body, "keep_alive": 0})
        assert (reply.status, reply.json()["done_reason"]) == (200, "unload")
        assert rig.supervising.evicted == ["tiny"]
        assert len(rig.leasing.leases) == 1
        assert not rig.upstream.exchanges

    run(test)


def test_a_wider_window_is_asked_of_the_supervisor() -> None:
    """A `num_ctx` within the child's window changes nothing; a wider one goes into the request for a place (case B8)."""

    async def test(rig: Rig) -> None:
        await rig.post("/api/chat", {**WHOLES["/api/chat"], "options": {"num_ctx": 2048}})
        assert not rig.leasing.asks
        await rig.answer(whole_chat())
        await rig.post("/api/chat", {**WHOLES["/api/chat"], "options": {"num_ctx": 4096}})
        assert rig.leasing.asks[0].num_ctx == 4096
        await rig.answer(whole_chat())

    run(test)


PIXEL = "iVBORw0KGgo="
DATA_URL = f"data:image/png;base64,{PIXEL}"
PICTURES: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {
        "messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": DATA_URL}}]}]
    },
    "/v1/messages": {
        "max_tokens": 8,
        "messages": [
            {
                "role": "user",
                "content": [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}],
            }
        ],
    },
    "/api/chat": {"stream": False, "messages": [{"role": "user", "content": "hi", "images": [PIXEL]}]},
    "/api/generate": {"stream": False, "prompt": "hi", "images": [PIXEL]},
}


@pytest.mark.parametrize("path", PICTURES)
def test_a_picture_is_asked_of_the_supervisor(path: str) -> None:
    """Only where the child that serves takes none; and nothing else is asked for text."""

    async def test(rig: Rig) -> None:
        await rig.post(path, {"model": "tiny", **PICTURES[path]})
        assert not rig.leasing.asks
        await rig.answer(whole_chat())
        rig.leasing.blind = "no projector"
        await rig.post(path, {"model": "tiny", **PICTURES[path]})
        assert [ask.vision for ask in rig.leasing.asks] == [True]
        await rig.answer(whole_chat())
        assert len(rig.leasing.leases) - len(rig.leasing.asks) == 2
        await rig.post(path, WHOLES[path])
        assert len(rig.leasing.asks) == 1
        await rig.answer(whole_chat())
        assert all(lease.released for lease in rig.leasing.leases)

    run(test)


@pytest.mark.parametrize("path", PICTURES)
def test_a_model_without_a_projector_refuses_pictures_in_every_dialect(path: str) -> None:
    """A 400 with the sentence, in the envelope of the path, and not the engine's 500."""

    async def test(rig: Rig) -> None:
        rig.leasing.busy = True
        reply = await rig.post(path, {"model": "tiny", **PICTURES[path]})
        sentence = teaching.projector_missing("tiny")
        rig.leasing.refuse(Malformed(sentence, "model"))
        await rig.clock.settle()
        assert reply.status == 400
        assert message_of(path, reply.body) == sentence

    run(test)


def test_a_bug_in_translation_is_a_500_and_leaves_nothing_behind() -> None:
    """Whatever is raised while a read is handled, the request ends, its lease comes back and the child is stopped."""

    async def test(rig: Rig) -> None:
        reply = await rig.post("/api/chat", STREAMS["/api/chat"])
        rig.exchange.head(200, SSE)
        with pytest.raises(TypeError):
            rig.exchange.body(7)  # type: ignore[arg-type]
        assert rig.exchange.aborted
        await rig.clock.settle()
        assert reply.status == 500
        assert message_of("/api/chat", reply.body) == teaching.internal(TRACE)

    run(test)


def test_a_silent_child_is_a_504() -> None:
    """No head within `child_header_timeout_secs`, of a kind that has no slots to show: the request ends and says which lever there is; 0 turns it off."""

    async def test(rig: Rig) -> None:
        rig.leasing.manners = LLAMACPP._replace(routes=frozenset())
        reply = await rig.post(CHAT, WHOLES[CHAT])
        await rig.clock.advance(119)
        assert reply.status == 0
        await rig.clock.advance(2)
        assert reply.status == 504
        assert message_of(CHAT, reply.body) == teaching.child_silent("tiny", 120)
        assert rig.exchange.aborted
        assert rig.lease.released == [(None, True)]

    async def off(rig: Rig) -> None:
        reply = await rig.post(CHAT, WHOLES[CHAT])
        await rig.clock.advance(10_000)
        assert reply.status == 0
        await rig.answer(whole_chat())

    run(test)
    run(off, Limits(header_timeout=0))


CALLED = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
TOOLED: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"messages": USER, "tools": [CALLED]},
    "/v1/messages": {"messages": USER, "max_tokens": 5, "tools": [{"name": "f", "input_schema": {"type": "object"}}]},
    "/api/chat": {"stream": False, "messages": USER, "tools": [CALLED]},
}


@pytest.mark.parametrize("path", TOOLED)
def test_tools_for_a_template_without_a_place_for_them_are_asked_of_the_supervisor(path: str) -> None:
    """Only there, and only where some may be called; the refusal is one sentence in every dialect."""

    async def test(rig: Rig) -> None:
        for toolless, more in ((False, {}), (True, {"tools": []}), (True, {"tools": None})):
            rig.leasing.toolless = toolless
            await rig.post(path, {"model": "tiny", **TOOLED[path], **more})
            assert not rig.leasing.asks
            await rig.answer(whole_chat())
        rig.leasing.busy = True
        reply = await rig.post(path, {"model": "tiny", **TOOLED[path]})
        assert rig.leasing.asks[-1].tools
        sentence = teaching.template_has_no_tools("tiny")
        rig.leasing.refuse(Malformed(sentence, "tools"))
        await rig.clock.settle()
        assert (reply.status, message_of(path, reply.body)) == (400, sentence)
        rig.leasing.busy = False
        await rig.post(path, {"model": "tiny", **TOOLED[path]})
        assert rig.leasing.asks[-1].tools
        await rig.answer(whole_chat())

    run(test)


NAMED: dict[str, dict[str, Any]] = {
    CHAT: {"content": [{"type": "image_url", "image_url": {"url": "https://example.com/cat.png"}}]},
    "/v1/messages": {"content": [{"type": "image", "source": {"type": "url", "url": "https://example.com/cat.png"}}]},
    "/api/chat": {"content": "look", "images": ["https://example.com/cat.png"]},
}


@pytest.mark.parametrize("path", NAMED)
def test_a_picture_by_its_address_reaches_the_child_as_data(path: str) -> None:
    """The gateway fetches it, in every dialect; the child never does (D14)."""

    async def test(rig: Rig) -> None:
        rig.lane.fetching = Fetching(
            FakePictures(**{"https://example.com/cat.png": Fetched("image/png", b"\x89PNG\r\n\x1a\n")})
        )
        await rig.post(path, WHOLES[path] | {"messages": [{"role": "user", **NAMED[path]}]})
        rig.lane.fetching.close()
        (message,) = rig.asked["messages"]
        assert message["content"][-1]["image_url"]["url"] == DATA_URL
        await rig.answer(whole_chat())

    run(test)


@pytest.mark.parametrize("path", [CHAT, "/v1/messages"])
def test_with_fetching_off_an_address_is_refused(path: str) -> None:
    """Nothing is asked, and the sentence says what to send instead (D14)."""

    async def test(rig: Rig) -> None:
        network = FakePictures()
        rig.lane.fetching = Fetching(network)
        reply = await rig.post(path, WHOLES[path] | {"messages": [{"role": "user", **NAMED[path]}]})
        rig.lane.fetching.close()
        assert reply.status == 400
        assert message_of(path, reply.body) == teaching.media_not_fetched()
        assert network.asked == []

    run(test, Limits(fetches=False))


@pytest.mark.parametrize(("said", "receipt"), [('{"n":1}', [b"json_schema"]), ('{"n":"x"}', []), ("prose", [])])
@pytest.mark.parametrize("path", [CHAT, "/v1/messages", "/v1/responses", "/api/chat"])
def test_the_receipt_stands_where_the_judge_agrees(path: str, said: str, receipt: list[bytes]) -> None:
    """The engine was told the schema, and the buffered answer has it; otherwise 200 without a receipt (D19, E1, E2)."""
    schema = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
    form = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}
    wanted: dict[str, dict[str, Any]] = {
        CHAT: {"response_format": form},
        "/v1/messages": {"output_config": {"format": {"type": "json_schema", "schema": schema}}},
        "/v1/responses": {"text": {"format": {"type": "json_schema", "name": "n", "schema": schema}}},
        "/api/chat": {"format": schema},
    }

    async def test(rig: Rig) -> None:
        reply = await rig.post(path, WHOLES[path] | wanted[path])
        await rig.answer(whole_chat(said))
        assert reply.status == 200
        assert reply.header(b"x-blazar-structured-output") == receipt

    run(test)


@pytest.mark.parametrize("path", ["/v1/messages", COUNT])
def test_unknown_betas_are_ignored_and_told(path: str) -> None:
    """Known ones and a known version are silent (D11)."""

    async def test(rig: Rig) -> None:
        body = {"model": "tiny", "max_tokens": 9, "messages": USER}
        told = {b"anthropic-version": b"2023-06-01", b"anthropic-beta": b"interleaved-thinking-2025-05-14,x-1"}
        reply = await rig.post(path, body, told)
        await rig.answer(b'{"input_tokens":3}' if path == COUNT else whole_chat())
        assert reply.status == 200
        assert reply.header(b"x-blazar-warning")[-1] == b"ignored; 'anthropic-beta.x-1' has no effect here"

    run(test)


@pytest.mark.parametrize(
    ("arguments", "receipt"), [('{"n":1}', [b"json_schema"]), ('{"n":"x"}', []), ('{"n":', []), (None, [])]
)
def test_a_forced_tool_has_its_receipt_where_its_call_has_the_schema(
    arguments: str | None, receipt: list[bytes]
) -> None:
    """Anthropic's own way to a form; a wrong schema of a tool is no error, an engine takes what it can of it (D19, C14)."""
    schema = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}

    async def test(rig: Rig) -> None:
        body = WHOLES["/v1/messages"] | {"tools": [{"name": "f", "input_schema": schema}]}
        reply = await rig.post("/v1/messages", body | {"tool_choice": {"type": "tool", "name": "f"}})
        said = json.loads(whole_chat("no"))
        if arguments is not None:
            call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}
            said["choices"][0]["message"] = {"role": "assistant", "content": None, "tool_calls": [call]}
        await rig.answer(json.dumps(said).encode())
        assert reply.status == 200
        assert reply.header(b"x-blazar-structured-output") == receipt
        odd = body | {
            "tools": [{"name": "f", "input_schema": {"type": "any"}}],
            "tool_choice": {"type": "tool", "name": "f"},
        }
        reply = await rig.post("/v1/messages", odd)
        await rig.answer(whole_chat("no"))
        assert reply.status == 200

    run(test)


def limited(rig: Rig, **limits: int) -> Account:
    """From now on requests show a key with these limits."""
    rig.account = Account(Key("a", "k", **limits))  # type: ignore[arg-type]
    return rig.account


def day_of(rig: Rig, account: Account) -> tuple[int, int, int]:
    day = account.today(rig.clock.wall())
    return day.requests, day.prompt, day.completion


@pytest.mark.parametrize("path", STREAMS)
def test_a_stream_is_charged_with_what_it_cost(path: str) -> None:
    """Also where the caller did not ask for usage: the gateway does."""

    async def test(rig: Rig) -> None:
        account = limited(rig, rpm=5, tpm=500)
        await rig.post(path, STREAMS[path])
        assert (account.requests.total, day_of(rig, account)) == (1, (1, 0, 0))
        rig.exchange.head(200, SSE)
        rig.exchange.body(chunk("a") if path != "/v1/completions" else _text_chunk())
        rig.exchange.body(usage_chunk(11, 7) + DONE)
        rig.exchange.end()
        await rig.clock.settle()
        assert (account.tokens.total, day_of(rig, account)) == (18, (1, 11, 7))

    run(test)


def _text_chunk() -> bytes:
    whole = {
        "choices": [{"index": 0, "text": "a", "finish_reason": "stop"}],
        "model": "tiny",
        "object": "text_completion",
    }
    return b"data: " + json.dumps(whole).encode() + b"\n\n"


@pytest.mark.parametrize("path", EMBEDS)
def test_embeddings_count_into_the_day_and_not_into_tpm(path: str) -> None:
    """Tpm is for the chat family (specification); the day's tokens are all of them."""

    async def test(rig: Rig) -> None:
        account = limited(rig, tpm=1, daily_tokens=100)
        account.tokens.charge(rig.clock.now(), 5)  # tpm is used up
        reply = await rig.post(path, EMBEDS[path])
        data = [{"object": "embedding", "index": 0, "embedding": [0.5]}]
        usage = {"prompt_tokens": 9, "total_tokens": 9}
        await rig.answer(json.dumps({"object": "list", "data": data, "model": "tiny", "usage": usage}).encode())
        assert reply.status == 200
        assert (account.tokens.total, day_of(rig, account)) == (5, (1, 9, 0))

    run(test)


@pytest.mark.parametrize("path", WHOLES)
def test_a_used_up_limit_is_a_429_and_no_place(path: str) -> None:
    """In the dialect of the path, with the time; the child hears nothing, nobody's place is taken."""

    async def test(rig: Rig) -> None:
        account = limited(rig, rpm=1)
        account.requests.charge(rig.clock.now(), 1)
        await rig.clock.advance(15.5)
        reply = await rig.post(path, WHOLES[path])
        assert (reply.status, reply.header(b"retry-after")) == (429, [b"45"])
        assert message_of(path, reply.body) == teaching.over_quota("a", "rpm", 1, 45)
        assert (rig.leasing.leases, rig.leasing.asks, account.requests.total) == ([], [], 1)

    run(test)


def test_a_full_queue_costs_nothing() -> None:
    """Case L3: charged is who is admitted; while it waits its share is reserved, so that two never get the last one (L5)."""

    async def test(rig: Rig) -> None:
        account = limited(rig, rpm=1)
        rig.leasing.busy = True
        first = await rig.post(CHAT, WHOLES[CHAT])
        assert (await rig.post(CHAT, STREAMS[CHAT])).status == 429
        rig.leasing.refuse(Busy("full"))
        await rig.clock.settle()
        assert (first.status, account.requests.total, day_of(rig, account)) == (503, 0, (0, 0, 0))
        third = await rig.post(CHAT, WHOLES[CHAT])
        third.leave()
        await rig.clock.settle()
        assert account.requests.total == 0, "who leaves the line was not admitted"
        rig.leasing.waiting.clear()
        await rig.post(CHAT, WHOLES[CHAT])
        rig.leasing.grant()
        await rig.clock.settle()
        await rig.answer(whole_chat())
        assert (account.requests.total, day_of(rig, account)[0]) == (1, 1)

    run(test)


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"{", 400), (b'{"model":"tiny"}', 400), (json.dumps({"model": "nobody", "messages": USER}).encode(), 404)],
)
def test_a_request_that_cannot_be_costs_nothing(body: bytes, status: int) -> None:
    """A body that is none, a field that is missing, a model that is not there."""

    async def test(rig: Rig) -> None:
        account = limited(rig, rpm=1)
        for _ in range(3):
            assert (await rig.post(CHAT, body)).status == status
        assert (account.requests.total, day_of(rig, account)) == (0, (0, 0, 0))

    run(test)


def test_a_child_that_fails_was_used_all_the_same() -> None:
    """The place was had; tokens that nobody counted are charged to nobody."""

    async def test(rig: Rig) -> None:
        account = limited(rig, rpm=5)
        await rig.post(CHAT, WHOLES[CHAT])
        await rig.answer(b"no", 500)
        assert (account.requests.total, day_of(rig, account)) == (1, (1, 0, 0))

    run(test)


@pytest.mark.parametrize("stream", [False, True])
def test_what_a_child_refuses_costs_nothing(stream: bool) -> None:
    """As where messages make no sense to its template: neither a request of the minute, nor of the day, nor tokens (U3)."""

    async def test(rig: Rig) -> None:
        account = limited(rig, rpm=1, tpm=1000)
        for _ in range(3):
            reply = await rig.post(CHAT, (STREAMS if stream else WHOLES)[CHAT])
            await rig.answer(b'{"error":{"message":"no"}}', 400)
            assert reply.status == 400
            assert (account.requests.total, account.promised, day_of(rig, account)) == (0, 0, (0, 0, 0))

    run(test)


def test_a_crowd_is_counted_before_its_answers_end() -> None:
    """200 at once against tokens of a minute: one is let in, and what it was expected to cost is put right by what it did (B3)."""

    async def test(rig: Rig) -> None:
        account = limited(rig, tpm=10)
        replies = [await rig.post(CHAT, {**WHOLES[CHAT], "seed": one}) for one in range(200)]
        assert sorted(reply.status for reply in replies) == [0] + [429] * 199
        assert account.promised > 10
        await rig.answer(whole_chat())
        assert (account.promised, account.tokens.total) == (0, 18)

    run(test)


def test_a_crowd_that_leaves_or_dies_holds_nothing_back() -> None:
    """Whatever ends a request ends what it was expected to cost."""

    async def test(rig: Rig) -> None:
        account = limited(rig, tpm=10)
        rig.leasing.busy = True
        reply = await rig.post(CHAT, WHOLES[CHAT])
        assert account.promised > 10
        rig.leasing.refuse(Busy("no"))
        await rig.clock.settle()
        assert (reply.status, account.promised) == (503, 0)
        rig.leasing.busy = False
        reply = await rig.post(CHAT, STREAMS[CHAT])
        rig.exchange.head(200, SSE)
        rig.exchange.body(chunk("a"))
        rig.exchange.fault(CUT)
        await rig.clock.settle()
        assert (account.promised, account.tokens.total) == (0, 1)
        assert (await rig.post("/api/generate", {"model": "tiny"})).status == 200  # it loads
        assert account.promised == 0

    run(test)


def test_loading_a_model_is_a_request_too() -> None:
    """Ollama's empty prompt: a place was had."""

    async def test(rig: Rig) -> None:
        account = limited(rig, rpm=1)
        assert (await rig.post("/api/generate", {"model": "tiny"})).status == 200
        assert (await rig.post("/api/generate", {"model": "tiny"})).status == 429
        assert day_of(rig, account) == (1, 0, 0)

    run(test)


def test_two_hundred_in_one_moment_get_what_there_is() -> None:
    """Case L5, of requests in a minute."""

    async def test(rig: Rig) -> None:
        account = limited(rig, rpm=3)
        rig.leasing.busy = True
        replies = [await rig.post(CHAT, {**WHOLES[CHAT], "seed": seed}) for seed in range(200)]
        assert [reply.status for reply in replies].count(429) == 197
        for _ in range(3):
            rig.leasing.grant()
            await rig.clock.settle()
            await rig.answer(whole_chat())
        assert [reply.status for reply in replies].count(200) == 3
        assert account.requests.total == 3

    run(test)


ODDS: dict[str, tuple[dict[str, Any], str]] = {
    "/v1/chat/completions": ({"logprobs": True}, "logprobs"),
    "/v1/completions": ({"prompt": "a", "logprobs": 0}, "logprobs"),
    "/v1/responses": ({"input": "a", "include": ["message.output_text.logprobs"]}, "include"),
    "/api/chat": ({"logprobs": True, "stream": False}, "logprobs"),
    "/api/generate": ({"prompt": "a", "logprobs": True, "stream": False}, "logprobs"),
}


@pytest.mark.parametrize("path", ODDS)
def test_log_probabilities_of_a_child_that_guesses_are_said_to_have_holes(path: str) -> None:
    """With the key that fills them; nothing is said where they were not asked for, or where nothing is guessed."""
    more, field = ODDS[path]
    plain = {
        "model": "tiny",
        **({"messages": [{"role": "user", "content": "a"}]} if "chat" in path else {"prompt": "a"}),
    }
    plain = {"model": "tiny", "input": "a", "store": False} if "responses" in path else plain

    async def test(rig: Rig) -> None:
        for guesses, asked, told in (
            (True, {**plain, **more}, True),
            (True, plain, False),
            (False, {**plain, **more}, False),
        ):
            rig.leasing.guesses = guesses
            reply = await rig.post(path, {"stream": False, **asked})
            await rig.answer(whole_chat())
            said = [each.decode() for each in reply.header(b"x-blazar-warning")]
            assert said == ([teaching.warn_odds_of_guesses(field)] if told else [])

    run(test)


@pytest.mark.parametrize("path", STREAMS)
def test_a_stream_that_is_broken_off_costs_what_it_brought(path: str) -> None:
    """Usage comes at the end: who leaves before it must not read for nothing."""

    async def test(rig: Rig) -> None:
        account = limited(rig, tpm=500)
        reply = await rig.post(path, STREAMS[path])
        rig.exchange.head(200, SSE)
        for _ in range(5):
            rig.exchange.body(chunk("a") if path != "/v1/completions" else _text_chunk())
        reply.leave()
        await rig.clock.settle()
        assert (account.tokens.total, day_of(rig, account)) == (5, (1, 0, 5))

    run(test)


def test_a_prompt_that_cannot_fit_costs_nothing() -> None:
    """It had its place already, but no child has computed anything."""

    async def test(rig: Rig) -> None:
        account = limited(rig, rpm=1)
        rig.upstream.answers[COUNTING.encode()] = ChildAnswer(200, (), b'{"input_tokens": 2048}')
        long = [{"role": "user", "content": "word " * 1600}]
        assert (await rig.post(CHAT, {**WHOLES[CHAT], "messages": long})).status == 400
        assert (account.requests.total, day_of(rig, account)) == (0, (0, 0, 0))
        await rig.post(CHAT, WHOLES[CHAT])
        await rig.answer(whole_chat())
        assert day_of(rig, account)[0] == 1

    run(test)


@pytest.mark.parametrize("path", [*WHOLES])
def test_sampler_defaults_hold_where_a_request_says_nothing(path: str) -> None:
    """In every dialect, streamed or not; what it says itself, in its own words, wins."""

    async def test(rig: Rig) -> None:
        rig.lane.sampling = lambda name: {"temperature": 0.5, "top_k": 40} if name == "tiny" else {}
        said = {"options": {"temperature": 0.9}} if "/api/" in path else {"temperature": 0.9}
        for body in (WHOLES[path], STREAMS[path]):
            for more, heat in (({}, 0.5), (said, 0.9)):
                reply = await rig.post(path, {**body, **more})
                assert (rig.asked["temperature"], rig.asked["top_k"]) == (heat, 40)
                reply.leave()
                await rig.clock.settle()

    run(test)


def test_sampler_defaults_hold_for_each_of_several_answers_and_for_nothing_else() -> None:
    """An embedding is not sampled."""

    async def test(rig: Rig) -> None:
        rig.lane.sampling = lambda _: {"top_k": 40}
        await rig.post(CHAT, {**WHOLES[CHAT], "n": 2})
        for _ in range(2):
            assert rig.asked["top_k"] == 40
            await rig.answer(whole_chat())
        reply = await rig.post("/v1/embeddings", EMBEDS["/v1/embeddings"])
        assert "top_k" not in rig.asked
        reply.leave()

    run(test)


async def wait_in_vain(rig: Rig, how: str) -> None:
    rig.leasing.busy = True
    reply = await rig.post(CHAT, WHOLES[CHAT], {b"x-blazar-deadline-ms": b"2000", b"x-blazar-priority": b"high"})
    rig.leasing.asks[0].tell_depth(3)  # type: ignore[misc] # always there: the lane gave it
    await rig.clock.advance(1.5)
    if how == "left":
        reply.leave()
    else:
        rig.leasing.refuse(Busy("no slot in time") if how == "late" else SpawnFailed("it does not start"))
    await rig.clock.settle()
    served = rig.records[0].served("POST", CHAT, "openai", "", rig.clock.now())
    waited = 0.0 if how == "failed" else 1.5
    assert (served.queue_seconds, served.placed, served.queue_depth, served.wait_bound) == (waited, False, 3, 2.0)
    assert (served.priority, served.work) == ("high", "interactive")
    assert reply.header(b"x-blazar-queue-ms") == ([b"1500"] if how == "late" else [])


@pytest.mark.parametrize("how", ["late", "left", "failed"])
def test_who_waits_in_vain_is_known_to_have_waited(how: str) -> None:
    """Refused after its bound, or gone before: how long, as what, behind whom. A load that failed is no line."""
    run(partial(wait_in_vain, how=how))


def test_a_heartbeat_is_no_first_token() -> None:
    """Neither ours nor a comment of the child's: the first token is what a person reads."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(CHAT, STREAMS[CHAT])
        rig.exchange.head(200, SSE)
        await rig.clock.advance(5.0)  # ours
        assert reply.body.startswith(b":")
        rig.exchange.body(b": wait\n\n")
        await rig.clock.advance(3.0)
        rig.exchange.body(chunk("a"))
        await rig.clock.advance(1.0)
        rig.exchange.body(chunk(finish="stop") + usage_chunk() + DONE)
        rig.exchange.end()
        await rig.clock.settle()
        record = rig.records[0]
        record.first_byte = 5.0  # as the outermost layer saw the first bytes leave
        assert record.served("POST", CHAT, "openai", "", 9.0).first_byte_seconds == 8.0

    run(test, Limits(heartbeat=5.0))


@pytest.mark.parametrize("path", STREAMS)
def test_a_stream_that_its_client_breaks_off_is_told_as_that(path: str) -> None:
    """Its status was told before; what was said until then counts, for the record as for its key."""

    async def test(rig: Rig) -> None:
        account = limited(rig, daily_tokens=1000)
        reply = await rig.post(path, STREAMS[path])
        rig.exchange.head(200, SSE)
        for _ in range(3):
            rig.exchange.body(chunk("a"))
        reply.leave()
        await rig.clock.settle()
        record = rig.records[0]
        record.status = 200
        served = record.served("POST", path, "openai", "", rig.clock.now())
        assert (served.status, served.left, served.outcome, served.completion_tokens) == (200, True, "left", 3)
        assert day_of(rig, account)[2] == served.completion_tokens

    run(test)


def test_a_model_has_one_name_in_the_record() -> None:
    """That of the catalog, however it was spelled, and also where it was refused before a place told it; else what was asked for."""

    async def test(rig: Rig) -> None:
        rig.lane.names = {"Tiny": "tiny"}.get  # type: ignore[assignment] # one of its ways to be called is meant
        await rig.post(CHAT, {**WHOLES[CHAT], "model": "tiny:latest"})
        await rig.answer(whole_chat())
        await rig.post(CHAT, {**WHOLES[CHAT], "model": "Tiny"})
        await rig.post(CHAT, {**WHOLES[CHAT], "model": "nobody"})
        named = [(record.model, record.known) for record in rig.records]
        assert named == [("tiny", True), ("tiny", True), ("nobody", False)]

    run(test)


def test_what_a_stream_says_shows_as_speed_while_it_runs() -> None:
    """For whoever watches; a buffered answer shows when it is there."""

    async def test(rig: Rig) -> None:
        paces = rig.lane.paces = Paces()
        await rig.post(CHAT, STREAMS[CHAT])
        rig.exchange.head(200, SSE)
        for _ in range(20):
            rig.exchange.body(chunk("a"))
            await rig.clock.advance(0.1)
        assert paces.read("tiny", rig.clock.now()) == pytest.approx(10, rel=0.1)
        rig.exchange.body(chunk(finish="stop") + usage_chunk() + DONE)
        rig.exchange.end()
        await rig.clock.advance(60.0)
        assert paces.read("tiny", rig.clock.now()) is None
        await rig.post(CHAT, WHOLES[CHAT])
        await rig.clock.advance(2.0)
        await rig.answer(whole_chat())
        assert paces.read("tiny", rig.clock.now()) == 3.5

    run(test)


def test_a_priority_that_is_none_is_said_to_be_ignored() -> None:
    """It is taken as normal, which its caller would never notice (D11)."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(CHAT, WHOLES[CHAT], {b"x-blazar-priority": b"urgent"})
        await rig.answer(whole_chat())
        assert [b"urgent" in one for one in reply.header(b"x-blazar-warning")] == [True]
        for word in (b"HIGH", b"normal", b"low"):
            reply = await rig.post(CHAT, WHOLES[CHAT], {b"x-blazar-priority": word})
            await rig.answer(whole_chat())
            assert reply.header(b"x-blazar-warning") == []

    run(test)


def test_who_never_got_in_line_did_not_wait() -> None:
    """However long it took to find out: a model that nobody has, one that its key may not use."""

    async def test(rig: Rig) -> None:
        rig.leasing.busy = True
        reply = await rig.post(CHAT, WHOLES[CHAT])
        await rig.clock.advance(1.5)
        rig.leasing.refuse(Forbidden("not yours"))
        await rig.clock.settle()
        assert (rig.records[0].queue_seconds, reply.header(b"x-blazar-queue-ms")) == (0.0, [])

    run(test)
