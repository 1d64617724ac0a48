"""The last step before a child."""

import json

import pytest

from blazar.adapters.http.lane.voice import spoken
from blazar.application.ports.upstream import ChildCall
from blazar.domain.errors import EngineSaid
from blazar.domain.manners import COUNTING, LLAMACPP, Manners
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
    with pytest.raises(EngineSaid):
        spoken(ChildCall(b"POST", COUNTING.encode(), b"{}"), Manners(name="x", routes=frozenset()), 10)


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
        reply = await rig.post("/v1/messages/count_tokens", ASKED)
        assert (reply.status, reply.json()["type"]) == (501, "error")
        assert rig.upstream.exchanges == []
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
