"""A batch's request through the lane."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from blazar.adapters.http.lane.asking import PEER, CollectedReply, LaneAsking
from blazar.application.access.accounts import Accounts
from blazar.application.ports.answering import Question
from blazar.composition.tasks import guarded
from blazar.domain.admission.place import Place
from blazar.domain.admission.work import Priority
from blazar.domain.batches import Answered, Line
from blazar.domain.keys import Key
from tests.support.lane_rig import Rig, run, whole_chat
from tests.unit.adapters.http.asgi_calls import SilentMeter

CHAT = "/v1/chat/completions"
BODY = {"model": "tiny", "messages": [{"role": "user", "content": "hi"}]}


class Asked:
    """One asking side over a rig's lane."""

    def __init__(self, rig: Rig, *keys: Key) -> None:
        self.rig, self.meter = rig, SilentMeter()
        self.asking = LaneAsking(rig.lane, rig.clock, self.meter, lambda: keys, "b00t", guarded)

    async def answer(
        self, *, endpoint: str = CHAT, owner: str = "", child: bytes = b"", status: int = 200, **body: Any
    ) -> Answered:
        """What became of a request whose child says this (nothing: it is never asked)."""
        task = self.ask(Place(), endpoint=endpoint, owner=owner, **body)
        await self.rig.clock.settle()
        if child:
            await self.rig.answer(child, status)
        answered = await asyncio.wait_for(task, 20)
        assert answered is not None
        return answered

    def ask(
        self, place: Place, *, endpoint: str = CHAT, owner: str = "", **body: Any
    ) -> "asyncio.Task[Answered | None]":
        """A question under way."""
        question = Question(endpoint, Line("a", {**BODY, **body}), owner)
        return asyncio.create_task(self.asking.answer(question, place))


def asked(test: Callable[[Asked], Any], *keys: Key) -> None:
    async def main(rig: Rig) -> None:
        await test(Asked(rig, *keys))

    run(main)


def test_an_answer_is_the_one_that_a_client_would_have_got() -> None:
    """Body and status; the trace is its request id."""

    async def test(side: Asked) -> None:
        answered = await side.answer(child=whole_chat("hello"))
        assert answered.status == 200
        assert json.loads(answered.body)["choices"][0]["message"]["content"] == "hello"
        assert answered.request_id == "plm-b00t-0"
        assert side.rig.asked == BODY
        (served,) = side.meter.served
        assert (served.peer, served.priority, served.status, served.completion_tokens) == (PEER, "low", 200, 7)

    asked(test)


def test_it_may_stand_in_line_for_long() -> None:
    """Nobody looks at a clock for it: it is behind everybody, and bounded by the longest deadline that anybody may name."""

    async def test(side: Asked) -> None:
        side.rig.leasing.busy = True
        task = side.ask(Place())
        await side.rig.clock.settle()
        work = side.rig.leasing.asks[0].work
        assert (work.wait, work.priority) == (600, Priority.LOW)
        side.rig.leasing.grant()
        await side.rig.clock.settle()
        await side.rig.answer(whole_chat())
        answered = await task
        assert answered is not None
        assert answered.status == 200

    asked(test)


@pytest.mark.parametrize(
    ("endpoint", "type_"), [(CHAT, "blazar_error"), ("/v1/messages", "not_found_error")], ids=["openai", "anthropic"]
)
def test_a_refusal_wears_the_dialects_envelope(endpoint: str, type_: str) -> None:
    """An unknown model is a 404, as everywhere."""

    async def test(side: Asked) -> None:
        answered = await side.answer(endpoint=endpoint, model="nope", max_tokens=3)
        assert answered.status == 404
        assert json.loads(answered.body)["error"]["type"] == type_

    asked(test)


def test_a_childs_error_keeps_its_status() -> None:
    """And says when it may be asked again."""

    async def test(side: Asked) -> None:
        answered = await side.answer(child=b'{"error":{"message":"no slot"}}', status=503)
        assert (answered.status, answered.retry_after) == (503, 1.0)

    asked(test)


def test_nobody_comes_back_for_an_answer_in_the_background() -> None:
    """A batch waits for each of its answers; only where the field means that is it refused."""

    async def test(side: Asked) -> None:
        answered = await side.answer(endpoint="/v1/responses", background=True)
        assert answered.status == 400
        assert json.loads(answered.body)["error"]["param"] == "background"
        assert (await side.answer(background=True, child=whole_chat())).status == 200

    asked(test)


def test_nobody_listens_to_a_stream() -> None:
    """It is refused, with the field; `false` is what everybody means."""

    async def test(side: Asked) -> None:
        answered = await side.answer(stream=True)
        assert answered.status == 400
        assert json.loads(answered.body)["error"]["param"] == "stream"
        assert (await side.answer(stream=False, child=whole_chat())).status == 200

    asked(test)


def test_the_owners_key_holds_for_each_request() -> None:
    """A scoped key asks its own models only."""

    async def test(side: Asked) -> None:
        assert (await side.answer(owner="all", child=whole_chat())).status == 200
        await side.answer(owner="scoped", child=whole_chat())
        assert side.rig.leasing.asks[-1].allowed == frozenset({"other"})
        assert side.rig.leasing.asks[-1].key == "scoped"

    asked(test, Key("all", "k1"), Key("scoped", "k2", ("other",)))


@pytest.mark.parametrize("before", [False, True])
def test_a_place_in_line_is_given_up_at_once(before: bool) -> None:
    """No child hears of it, and nothing is told; also where it was given up before the lane had it."""

    async def test(side: Asked) -> None:
        side.rig.leasing.busy, place = True, Place()
        if before:
            place.give_up()
        task = side.ask(place)
        await side.rig.clock.settle()
        place.give_up()
        assert await task is None
        assert side.rig.leasing.cancelled == (not before)
        assert side.rig.leasing.leases == []

    asked(test)


def test_what_the_child_works_on_is_answered() -> None:
    """Giving the place up comes too late then."""

    async def test(side: Asked) -> None:
        place = Place()
        task = side.ask(place)
        await side.rig.clock.settle()
        place.give_up()
        await side.rig.answer(whole_chat())
        answered = await task
        assert answered is not None
        assert answered.status == 200

    asked(test)


@pytest.mark.parametrize("owner", ["", "gone"])
def test_a_batch_whose_key_has_gone_is_not_answered(owner: str) -> None:
    """Nor one that was made while the gateway was open to all."""

    async def test(side: Asked) -> None:
        assert (await side.answer(owner=owner)).status == 401
        assert side.rig.leasing.asks == []

    asked(test, Key("laptop", "k1"))


def test_a_bug_is_one_request_that_failed(caplog: pytest.LogCaptureFixture) -> None:
    """With the trace that finds it in the log."""

    async def test(side: Asked) -> None:
        side.rig.leasing.try_lease = None  # type: ignore[method-assign,assignment]
        answered = await side.answer()
        assert answered.status == 500
        assert b"plm-b00t-0" in answered.body

    asked(test)
    assert "Traceback" in caplog.text


def test_what_is_no_text_is_refused_as_a_clients_would_be() -> None:
    """Half a surrogate pair has no UTF-8: a 400, never a failure of ours."""

    async def test(side: Asked) -> None:
        answered = await side.answer(messages=[{"role": "user", "content": "\ud83d"}])
        assert answered.status == 400
        await side.answer(messages=[{"role": "user", "content": "é\n"}], child=whole_chat())
        assert side.rig.asked["messages"][0]["content"] == "é\n"

    asked(test)


def test_a_collected_reply_keeps_what_came() -> None:
    """And says whether it broke off."""

    async def main() -> None:
        reply = CollectedReply()
        reply.start(200, ())
        reply.write(b"a")
        reply.write(b"b")
        reply.finish()
        reply.abort()
        reply.release()
        await reply.carry()
        assert (reply.body, reply.status, reply.aborted, reply.gone) == (b"ab", 200, True, False)

    asyncio.run(main())


def test_its_owner_is_charged() -> None:
    """With the tokens and as a request of the day, not with what is meant for those who wait; a used-up day is a 429."""

    async def test(side: Asked) -> None:
        accounts = Accounts()
        account = accounts.open(Key("laptop", "k", rpm=1, daily_tokens=20, weight=2.5))
        side.asking = replace(side.asking, tab_of=accounts.tab_of)
        assert (await side.answer(owner="laptop", child=whole_chat())).status == 200
        day = account.today(side.rig.clock.wall())
        assert (account.requests.total, day.requests, day.tokens) == (0, 1, 18)
        assert [(work.key, work.weight) for work in side.rig.leasing.works] == [("laptop", 2.5)]
        assert (await side.answer(owner="laptop", child=whole_chat(), seed=1)).status == 200
        answered = await side.answer(owner="laptop", seed=2)
        assert (answered.status, day.requests, day.tokens) == (429, 2, 36)
        assert "daily_tokens" in json.loads(answered.body)["error"]["message"]

    asked(test, Key("laptop", "k"))
