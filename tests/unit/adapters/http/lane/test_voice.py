"""The last step before a child."""

import json

import pytest

from blazar.adapters.http.lane.voice import spoken
from blazar.application.ports.upstream import ChildCall
from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.manners import COUNTING, LLAMACPP, TOKENIZE, Manners
from tests.support.lane_rig import DONE, SSE, Rig, chunk, run, whole_chat


def test_a_call_passes_untouched_where_nothing_is_to_change() -> None:
    """The very object, whatever its bytes are: nothing is parsed."""
    call = ChildCall(b"POST", b"/x", b"no json")
    assert spoken(call, LLAMACPP, 10) == (call, ((), True))
    assert spoken(call, LLAMACPP, 10)[0] is call


def test_another_kind_gets_its_own_words() -> None:
    """Path and headers stay."""
    call = ChildCall(b"POST", b"/v1/chat/completions", b'{"messages":[]}', ((b"a", b"b"),))
    changed, _ = spoken(call, Manners(name="x", bounded=True), 10)
    assert json.loads(changed.body) == {"messages": [], "max_tokens": 10}
    assert (changed.method, changed.path, changed.headers) == (call.method, call.path, call.headers)


def test_a_route_that_is_not_there_is_raised() -> None:
    """Before anything is sent."""
    with pytest.raises(Malformed):
        spoken(ChildCall(b"POST", TOKENIZE.encode(), b"{}"), Manners(name="x", routes=frozenset()), 10)


def test_a_count_is_had_of_the_real_route() -> None:
    """With the shortest answer there is."""
    call = ChildCall(b"POST", COUNTING.encode(), b'{"messages":[]}')
    changed, _ = spoken(call, Manners(name="x", routes=frozenset()), 10)
    assert (changed.path, json.loads(changed.body)["max_tokens"]) == (b"/v1/chat/completions", 1)


ODD = Manners(
    name="odd", routes=frozenset(), asked_as="it", forms=frozenset(), strips=frozenset({"files"}), bounded=True
)
ASKED = {"model": "tiny", "messages": [{"role": "user", "content": "hi"}]}


def odd(rig: Rig) -> None:
    """Its child is of that kind."""
    rig.leasing.called, rig.leasing.manners = "it", ODD


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/api/chat", "/v1/messages"])
def test_every_dialect_is_spoken_to_it_in_its_words(path: str) -> None:
    """Its name for the model, a bound, and none of the fields that it must not see."""

    async def test(rig: Rig) -> None:
        odd(rig)
        reply = await rig.post(path, {**ASKED, "stream": False, **({"max_tokens": 5} if "messages" in path else {})})
        assert (rig.asked["model"], rig.asked["max_tokens"]) == ("it", 5 if "messages" in path else 2048)
        await rig.answer(whole_chat(model="it"))
        assert (reply.status, b"tiny" in reply.body) == (200, True)

    run(test)


def test_what_is_left_out_is_told_once_and_no_receipt_is_given() -> None:
    """A form that nobody holds is no constraint (D19)."""

    async def test(rig: Rig) -> None:
        odd(rig)
        form = {"type": "json_object"}
        reply = await rig.post("/v1/chat/completions", {**ASKED, "files": [], "response_format": form})
        assert not {"files", "response_format"} & rig.asked.keys()
        await rig.answer(whole_chat("{}", model="it"))
        told = reply.header(b"x-blazar-warning")
        assert told == [b"ignored; 'files' has no effect here", b"ignored; 'response_format' has no effect here"]
        assert reply.header(b"x-blazar-structured-output") == []

    run(test)


def test_a_route_that_it_lacks_costs_no_child() -> None:
    """Nothing is sent, the lease is back, and the child is not to blame."""

    async def test(rig: Rig) -> None:
        odd(rig)
        reply = await rig.post("/tokenize", {"model": "tiny", "content": "a"})
        assert reply.status == 400
        assert rig.upstream.exchanges == []
        assert rig.lease.released == [(None, False)]

    run(test)


def test_a_count_costs_one_token_where_there_is_no_route_for_it() -> None:
    """It is the prompt's in the usage; an engine that counts nothing is not to blame, and the caller learns who could."""

    async def test(rig: Rig) -> None:
        odd(rig)
        reply = await rig.post("/v1/messages/count_tokens", ASKED)
        assert (rig.exchange.call.path, rig.asked["max_tokens"], rig.asked["stream"]) == (
            b"/v1/chat/completions",
            1,
            False,
        )
        await rig.answer(whole_chat(model="it"))
        assert (reply.status, reply.json()) == (200, {"input_tokens": 11})
        reply = await rig.post("/v1/messages/count_tokens", ASKED)
        await rig.answer(b'{"choices":[{"message":{"content":"a"},"finish_reason":"length"}]}')
        assert (reply.status, reply.json()["error"]["message"]) == (400, teaching.kind_counts_no_tokens("odd"))
        assert rig.lease.released == [(None, False)]

    run(test)


def test_a_thought_has_one_name_whoever_thinks() -> None:
    """In streams and whole answers; the same words in a text stay as they are."""

    async def test(rig: Rig) -> None:
        rig.leasing.manners = ODD._replace(thought="reasoning")
        reply = await rig.post("/v1/chat/completions", {**ASKED, "stream": True})
        rig.exchange.head(200, SSE)
        rig.exchange.body(chunk('say "reasoning": x', reasoning="hm") + chunk(finish="stop") + DONE)
        rig.exchange.end()
        await rig.clock.settle()
        first = json.loads(reply.body.split(b"\n\n")[0].removeprefix(b"data: "))["choices"][0]["delta"]
        assert first == {"content": 'say "reasoning": x', "reasoning_content": "hm"}
        reply = await rig.post("/v1/chat/completions", ASKED)
        await rig.answer(whole_chat().replace(b'"content"', b'"reasoning":"hm","content"'))
        assert reply.json()["choices"][0]["message"]["reasoning_content"] == "hm"

    run(test)


def wanting(**member: object) -> dict[str, object]:
    """A chat whose answer is to be an object with one member."""
    schema = {"type": "object", "properties": {"a": member}, "required": ["a"]}
    return {**ASKED, "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}}


@pytest.mark.parametrize("stream", [False, True])
def test_a_pattern_reaches_the_converter_in_signs_that_it_knows(stream: bool) -> None:
    """And is held then: the receipt is true (C14, D19)."""

    async def test(rig: Rig) -> None:
        reply = await rig.post("/v1/chat/completions", {**wanting(type="string", pattern=r"^\d{2}$"), "stream": stream})
        sent = rig.asked["response_format"]["json_schema"]["schema"]["properties"]["a"]
        assert sent == {"type": "string", "pattern": "^[0-9]{2}$"}
        if stream:
            rig.exchange.head(200, SSE)
            rig.exchange.body(chunk('{"a":"11"}') + DONE)
            rig.exchange.end()
            await rig.clock.settle()
        else:
            await rig.answer(whole_chat('{"a":"11"}'))
        assert reply.header(b"x-blazar-structured-output") == [b"json_schema"]
        assert reply.header(b"x-blazar-warning") == []

    run(test)


@pytest.mark.parametrize("member", [{"type": "string", "pattern": "ab"}, {"type": "number", "multipleOf": 5}])
def test_a_stream_has_no_receipt_for_what_the_converter_reads_over(member: dict[str, object]) -> None:
    """It is sent as it was, and the caller hears what is not held (E1)."""

    async def test(rig: Rig) -> None:
        asked = wanting(**member)
        reply = await rig.post("/v1/chat/completions", {**asked, "stream": True})
        assert rig.asked["response_format"] == asked["response_format"]
        rig.exchange.head(200, SSE)
        rig.exchange.body(chunk('{"a":""}') + DONE)
        rig.exchange.end()
        await rig.clock.settle()
        assert reply.header(b"x-blazar-structured-output") == []
        assert list(member)[1].encode() in b"".join(reply.header(b"x-blazar-warning"))

    run(test)


def test_patterns_of_tools_are_said_in_those_signs_too() -> None:
    """Whether or not a tool has to be called; nothing is told, for nothing is lost."""

    async def test(rig: Rig) -> None:
        schema = {"type": "object", "properties": {"day": {"type": "string", "pattern": r"^\d{4}-\d{2}$"}}}
        tools = [{"type": "function", "function": {"name": "plan", "parameters": schema}}]
        reply = await rig.post("/v1/chat/completions", {**ASKED, "tools": tools})
        sent = rig.asked["tools"][0]["function"]["parameters"]["properties"]["day"]["pattern"]
        await rig.answer(whole_chat())
        assert (sent, reply.header(b"x-blazar-warning")) == ("^[0-9]{4}-[0-9]{2}$", [])

    run(test)


@pytest.mark.parametrize(
    "body",
    [
        b'{"tools":[{"function":{"parameters":{"pattern":"^[0-9]+$"}}}], "messages":[{"content":"\\\\d"}]}',
        b'{"messages":[{"content":"{\\"pattern\\": \\"^\\\\\\\\d$\\"}"}]}',
        b'{"messages":[{"content":"x"}],"pattern":"\\\\d"}',
        b'["pattern", {"pattern":"\\\\d"}]',
    ],
)
def test_bytes_stay_where_no_pattern_has_to_be_said_otherwise(body: bytes) -> None:
    """Also where a message speaks of one."""
    call = ChildCall(b"POST", b"/v1/chat/completions", body)
    assert spoken(call, LLAMACPP, 10)[0] is call
