"""Questions about text and tokens through the lane."""

from typing import Any

import pytest

from blazar.domain import teaching
from blazar.domain.manners import Manners
from tests.support.lane_rig import Rig, run

USER = [{"role": "user", "content": "hi"}]
ASKS: dict[str, tuple[dict[str, Any], bytes]] = {
    "/tokenize": ({"content": "hi"}, b'{"tokens":[1, 2]}'),
    "/detokenize": ({"tokens": [1, 2]}, b'{"content":"hi"}'),
    "/apply-template": ({"messages": USER}, b'{"prompt":"<user>hi"}'),
}


@pytest.mark.parametrize("path", ASKS)
def test_the_childs_answer_is_the_answer(path: str) -> None:
    """Byte for byte; what only concerns us is not sent."""

    async def test(rig: Rig) -> None:
        ask, answer = ASKS[path]
        reply = await rig.post(path, {"model": "tiny:latest", "keep_alive": "1m", **ask})
        assert rig.exchange.call.path == path.encode()
        assert rig.asked == {"model": "tiny", **ask}
        await rig.answer(answer)
        assert (reply.status, reply.body) == (200, answer)
        assert rig.lease.released == [(60.0, False)]

    run(test)


@pytest.mark.parametrize("path", ASKS)
@pytest.mark.parametrize("answer", [b"nonsense", b"[]", b"{}"])
def test_an_answer_that_is_none_is_a_502(path: str, answer: bytes) -> None:
    """It was not what was asked for."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(path, {"model": "tiny", **ASKS[path][0]})
        await rig.answer(answer)
        assert reply.status == 502

    run(test)


@pytest.mark.parametrize("path", ASKS)
def test_an_engine_that_has_no_such_route_is_named(path: str) -> None:
    """A 400 with the kind that has, and the child is not even asked."""

    async def test(rig: Rig) -> None:
        rig.leasing.manners = Manners(name="odd", routes=frozenset())
        reply = await rig.post(path, {"model": "tiny", **ASKS[path][0]})
        say = teaching.kind_shows_no_prompt if "template" in path else teaching.kind_counts_no_tokens
        assert (reply.status, reply.json()["error"]["message"]) == (400, say("odd"))
        assert not rig.upstream.exchanges

    run(test)


def test_a_number_that_is_no_token_is_the_callers_mistake() -> None:
    """The engine tells where its table ended, as a failure of its own."""

    async def test(rig: Rig) -> None:
        reply = await rig.post("/detokenize", {"model": "tiny", "tokens": [10**9]})
        message = "vector::_M_range_check: __n (which is 1000000000) >= this->size() (which is 49152)"
        await rig.answer(b'{"error":{"code":500,"message":"%b","type":"server_error"}}' % message.encode(), 500)
        assert (reply.status, reply.json()["error"]["param"]) == (400, "tokens")
        assert rig.lease.released == [(None, False)]

    run(test)


def test_pictures_are_asked_of_the_supervisor() -> None:
    """A template shows where they stand, so that a child with a projector is wanted."""

    async def test(rig: Rig) -> None:
        rig.leasing.blind = "no projector"
        url = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
        await rig.post("/apply-template", {"model": "tiny", "messages": [{"role": "user", "content": [url]}]})
        assert [ask.vision for ask in rig.leasing.asks] == [True]
        await rig.answer(b'{"prompt":""}')

    run(test)


@pytest.mark.parametrize("path", ASKS)
def test_an_empty_question_loads_nothing(path: str) -> None:
    """A 400 that names what is missing."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(path, {"model": "tiny"})
        (field,) = ASKS[path][0]
        assert (reply.status, reply.json()["error"]["param"]) == (400, field)
        assert not rig.leasing.leases

    run(test)
