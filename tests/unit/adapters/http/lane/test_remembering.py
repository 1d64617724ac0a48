"""The semantic cache on the way of a chat."""

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from blazar.adapters.http.lane import remembering
from blazar.adapters.http.lane.relay import Limits
from blazar.adapters.http.lane.remembering import CopiedReply, Remembering
from blazar.adapters.http.lane.reply import LaneRequest
from blazar.adapters.http.record import RequestRecord
from blazar.application.ports.upstream import ChildAnswer, ChildCall
from blazar.application.supervise.leasing import Lease
from blazar.application.supervise.views import InstanceView
from blazar.domain import teaching
from blazar.domain.admission.work import ORDINARY, Work
from blazar.domain.errors import ChildDied, ChildSilent
from blazar.domain.kinds import Task
from blazar.domain.semcache import LARGEST_ANSWER, SemanticCache, Settings
from tests.fakes.upstream import FakeUpstream
from tests.support.lane_rig import (
    DONE,
    SSE,
    FakeLease,
    FakeLeasing,
    FakeSupervising,
    MemoryReply,
    Rig,
    chunk,
    run,
    whole_chat,
)

CHAT = "/v1/chat/completions"
ON = {b"x-blazar-cache": b"on"}
CHATS: dict[str, dict[str, Any]] = {
    CHAT: {"model": "tiny"},
    "/v1/messages": {"model": "tiny", "max_tokens": 99},
    "/api/chat": {"model": "tiny", "stream": False},
}
VECTORS = {"how are you": [1, 0], "how do you do": [0.99, 0.05], "who are you": [0, 1], "nothing": [0, 0]}


class Embedder(FakeUpstream):
    """Knows a few texts."""

    def __init__(self) -> None:
        super().__init__("mini")
        self.trouble: Exception | None = None
        self.status = 200
        self.vectors: dict[str, Any] = dict(VECTORS)

    async def fetch(self, call: ChildCall, within: float) -> ChildAnswer:
        assert within == remembering.WITHIN
        self.fetched.append(call)
        if self.trouble is not None:
            raise self.trouble
        asked = json.loads(call.body)
        assert asked["model"] == "mini"
        row = {"index": 0, "embedding": self.vectors.get(asked["input"], [0.5, 0.5])}
        return ChildAnswer(self.status, (), json.dumps({"data": [row]}).encode())


class TwoModels(FakeLeasing):
    """`tiny` chats, `mini` embeds, if it serves."""

    def __init__(self, upstream: FakeUpstream) -> None:
        super().__init__(upstream)
        self.embedder = Embedder()
        self.embeds = True
        self.per_token = ""
        self.lent: list[FakeLease] = []

    def try_lease(self, model: str, task: Task = Task.CHAT, work: Work = ORDINARY) -> Lease | None:
        if task is not Task.EMBED:
            return super().try_lease(model, task, work)
        if model != "mini" or not self.embeds:
            return None
        lease = FakeLease(self.embedder, "mini")
        lease.late = self.per_token
        self.lent.append(lease)
        return lease


class TwoChildren(FakeSupervising):
    """Their processes."""

    def __init__(self) -> None:
        super().__init__()
        self.pids = {"mini": 1, "tiny": 2}

    def views(self) -> list[InstanceView]:
        return [_view(model, pid) for model, pid in self.pids.items()]


def _view(model: str, pid: int) -> InstanceView:
    return InstanceView(
        model, model, "serving", "b1", "archive", pid, 1, 2048, 1, 0, 0, 0, 0, 0.0, 0.0, (), (), ""
    )  # fmt: skip


class CacheRig(Rig):
    """A lane that remembers."""

    def __init__(self, limits: Limits = Limits()) -> None:  # noqa: B008 - immutable
        super().__init__(limits)
        self.two = self.leasing = self.lane._leasing = TwoModels(self.upstream)
        self.children = TwoChildren()
        self.cache = SemanticCache()
        self.lane.remembering = Remembering(self.two, self.children, self.clock, self.cache)

    async def chat(
        self, text: Any = "how are you", path: str = CHAT, headers: Mapping[bytes, bytes] = ON, **more: Any
    ) -> MemoryReply:
        """One chat; answered by the child with what it said, where it is asked."""
        before = len(self.upstream.exchanges)
        reply = await self.post(path, CHATS[path] | {"messages": [{"role": "user", "content": text}]} | more, headers)
        if len(self.upstream.exchanges) > before:
            await self.answer(self.says)
        return reply

    says = whole_chat("fine")

    @property
    def asked_child(self) -> int:
        return len(self.upstream.exchanges)

    @property
    def outcomes(self) -> list[Any]:
        return [facts["outcome"] for record in self.records for _, code, facts in record.notes if code == "cache"]

    async def finished(self) -> None:
        await super().finished()
        assert all(len(lease.released) == 1 for lease in self.two.lent)


def with_cache(test: Callable[[CacheRig], Any], limits: Limits = Limits()) -> None:  # noqa: B008 - immutable
    async def main() -> None:
        rig = CacheRig(limits)
        await test(rig)
        await rig.finished()

    asyncio.run(main())


def cached(reply: MemoryReply) -> list[bytes]:
    return reply.header(b"x-blazar-cache")


@pytest.mark.parametrize("path", CHATS)
def test_a_question_that_means_the_same_gets_the_same_answer(path: str) -> None:
    """Byte for byte, and no child is asked, nor told to the account of anybody; another question is computed."""

    async def test(rig: CacheRig) -> None:
        first = await rig.chat("how are you", path)
        again = await rig.chat("how do you do", path)
        other = await rig.chat("who are you", path)
        assert [cached(one) for one in (first, again, other)] == [[b"miss"], [b"hit"], [b"miss"]]
        assert [one.status for one in (first, again, other)] == [200, 200, 200]
        assert again.body == first.body
        assert again.header(b"content-type") == [b"application/json"]
        assert again.header(b"content-length") == [b"%d" % len(first.body)]
        assert rig.asked_child == 2
        assert rig.outcomes == ["miss", "hit", "miss"]
        hit = rig.records[1]
        assert (hit.prompt_tokens, hit.completion_tokens, hit.instance) == (0, 0, "")

    with_cache(test)


def test_nobody_gets_it_unasked() -> None:
    """Opt-in: by the table for all, by the header for one, either way."""

    async def test(rig: CacheRig) -> None:
        for enabled, headers, told in (
            (False, {}, []),
            (False, {b"x-blazar-cache": b"off"}, []),
            (False, ON, [b"miss"]),
            (True, {}, [b"hit"]),
            (True, {b"x-blazar-cache": b"OFF"}, []),
        ):
            rig.cache.settings = Settings(enabled=enabled)
            assert cached(await rig.chat(headers=headers)) == told
        reply = await rig.chat(headers={b"x-blazar-cache": b"perhaps"})
        assert reply.status == 400
        assert reply.json()["error"]["message"] == '\'x-blazar-cache\' must be "on" or "off"'

    with_cache(test)


def test_two_keys_never_share() -> None:
    """Nor a key whose scope is another one by now (J18)."""

    async def test(rig: CacheRig) -> None:
        async def ask(key: str, models: frozenset[str] | None = None) -> MemoryReply:
            reply, record = MemoryReply(), RequestRecord("plm-1-1", rig.clock.now())
            record.key = key
            body = json.dumps(CHATS[CHAT] | {"messages": [{"role": "user", "content": "how are you"}]}).encode()

            before = rig.asked_child
            task = asyncio.create_task(rig.lane.serve(LaneRequest("POST", CHAT, b"", ON, body, record, models), reply))
            rig.tasks.append(task)
            await rig.clock.settle()
            if rig.asked_child > before:
                await rig.answer(rig.says)
            return reply

        told = [cached(await ask(*who)) for who in (("a",), ("b",), ("a",), ("a", frozenset({"tiny"})), ("b",))]
        assert told == [[b"miss"], [b"miss"], [b"hit"], [b"miss"], [b"hit"]]

    with_cache(test)


TOOL = {"type": "function", "function": {"name": "f"}}


@pytest.mark.parametrize(
    "more",
    [
        {"stream": True},
        {"response_format": {"type": "json_object"}},
        {"grammar": "root ::= x"},
        {"tools": [TOOL]},
        {"n": 2},
        {"seed": 1},
        {"logprobs": True},
        {"keep_alive": 0},
    ],
)
def test_what_passes_by_both_ways(more: dict[str, Any]) -> None:
    """Streams and structured answers (contract), and whatever is not to be shared: neither read nor written, and nothing is told (O13)."""

    async def test(rig: CacheRig) -> None:
        async def bypass() -> None:
            messages = [{"role": "user", "content": "how are you"}]
            reply = await rig.post(CHAT, CHATS[CHAT] | {"messages": messages} | more, ON)
            for _ in range(2 if "n" in more else 1):
                await rig.answer(chunk("{}") + chunk(finish="stop") if "stream" in more else whole_chat("{}"))
            assert reply.status == 200
            assert cached(reply) == []

        await bypass()
        assert len(rig.cache) == 0
        assert cached(await rig.chat()) == [b"miss"]
        await bypass()
        assert len(rig.cache) == 1

    with_cache(test)


def test_a_pinned_session_goes_on_at_its_child() -> None:
    """Its next turn builds on this one."""

    async def test(rig: CacheRig) -> None:
        assert cached(await rig.chat(headers=ON | {b"x-blazar-session": b"s"})) == []

    with_cache(test)


@pytest.mark.parametrize("observes", [True, False])
def test_what_is_odd_or_no_answer_is_not_kept(observes: bool) -> None:
    """An empty answer would stand in the way of real ones (O13), a cut one is half of one; whoever observes or not."""

    async def test(rig: CacheRig) -> None:
        cut = json.loads(whole_chat("fine"))
        cut["choices"][0]["finish_reason"] = "length"
        for said in (whole_chat(""), whole_chat(" "), json.dumps(cut).encode(), b"garbage"):
            rig.says = said
            await rig.chat()
        assert len(rig.cache) == 0
        rig.says = whole_chat("x" * LARGEST_ANSWER)
        assert cached(await rig.chat()) == [b"miss"]
        assert len(rig.cache) == 0
        noted = [code for record in rig.records for _, code, _ in record.notes if code == "sentinel"]
        assert bool(noted) is observes

    with_cache(test, Limits(observes=observes))


def test_an_answer_of_a_child_that_is_gone_is_not_given() -> None:
    """Another process may have other weights, adapters or settings."""

    async def test(rig: CacheRig) -> None:
        await rig.chat()
        rig.children.pids["tiny"] = 3
        assert cached(await rig.chat()) == [b"miss"]
        assert cached(await rig.chat()) == [b"hit"]
        del rig.children.pids["tiny"]
        assert cached(await rig.chat()) == [b"miss"]
        assert len(rig.cache) == 0

    with_cache(test)


def test_without_a_vector_it_is_as_if_it_were_not_there() -> None:
    """No model that embeds serves, or it is busy, slow, broken, or says nothing of use: nothing is loaded, nobody waits."""

    async def test(rig: CacheRig) -> None:
        two, embedder = rig.two, rig.two.embedder
        for change in (
            lambda: setattr(two, "embeds", False),
            lambda: setattr(two, "per_token", "mean"),
            lambda: setattr(embedder, "trouble", ChildSilent("x")),
            lambda: setattr(embedder, "trouble", ChildDied(teaching.child_unreachable("mini"))),
            lambda: setattr(embedder, "status", 400),
            lambda: setattr(embedder, "status", 500),
            lambda: embedder.vectors.update({"how are you": [0, 0]}),
            lambda: embedder.vectors.update({"how are you": ["1"]}),
            lambda: embedder.vectors.update({"how are you": []}),
        ):
            two.embeds, two.per_token, embedder.trouble, embedder.status = True, "", None, 200
            change()
            assert cached(await rig.chat()) == []
        assert len(rig.cache) == 0
        assert rig.outcomes == []
        # Only what is its own fault counts against it.
        failed = [failed for lease in two.lent for _, failed in lease.released]
        assert failed == [False, False, True, False, True, False, False, False]
        assert {ask.model for ask in two.asks} <= {"tiny"}

    with_cache(test)


def test_a_vector_of_another_width_finds_and_leaves_nothing() -> None:
    """The model behind the name is another one by now."""

    async def test(rig: CacheRig) -> None:
        await rig.chat()
        rig.two.embedder.vectors["how are you"] = [1, 0, 0]
        assert cached(await rig.chat()) == [b"miss"]
        assert len(rig.cache) == 1

    with_cache(test)


def test_the_time_to_live() -> None:
    """As configured."""

    async def test(rig: CacheRig) -> None:
        rig.cache.settings = Settings(ttl=10.0)
        await rig.chat()
        await rig.clock.advance(9)
        assert cached(await rig.chat()) == [b"hit"]
        await rig.clock.advance(1)
        assert cached(await rig.chat()) == [b"miss"]

    with_cache(test)


def test_many_alike_are_compared_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop has tokens to carry."""
    monkeypatch.setattr(remembering, "OFF_LOOP", 0)

    async def test(rig: CacheRig) -> None:
        await rig.chat()
        reply = await rig.chat()

        async with asyncio.timeout(20):
            while not rig.tasks[-1].done():
                await asyncio.sleep(0)
        assert cached(reply) == [b"hit"]

    with_cache(test)


def test_a_large_body_and_a_form_of_another_dialect_pass_by() -> None:
    """Nobody parses a megabyte for the chance of a hit."""

    async def test(rig: CacheRig) -> None:
        system = {"role": "system", "content": "x" * remembering.LARGEST_BODY}
        asked = {"role": "user", "content": "how are you"}
        reply = await rig.post(CHAT, CHATS[CHAT] | {"messages": [system, asked]}, ON)
        await rig.answer(rig.says)
        assert (reply.status, cached(reply)) == (200, [])
        assert cached(await rig.chat(path="/api/chat", format="json")) == []

    with_cache(test)


def test_warnings_are_told_again() -> None:
    """What was ignored of the request is ignored of its twin."""

    async def test(rig: CacheRig) -> None:
        told = [(await rig.chat(verbosity="low")).header(b"x-blazar-warning") for _ in range(2)]
        assert told[0] == told[1] != []

    with_cache(test)


def test_a_copy_is_of_what_is_good_and_whole() -> None:
    """Refusals, torsos and what nobody read are none."""

    def made(*steps: Callable[[CopiedReply], Any]) -> bytes | None:
        copied = CopiedReply(MemoryReply())
        for step in steps:
            step(copied)
        return copied.whole

    good, bad = lambda one: one.start(200, ()), lambda one: one.start(422, ())
    write, end = lambda one: one.write(b"x"), lambda one: one.finish()
    assert made(good, write, end) == b"x"
    for steps in ((bad, write, end), (good, write), (good, end), (good, write, end, lambda one: one.abort())):
        assert made(*steps) is None
    assert made(good, write, end, lambda one: one._reply.leave()) is None


def test_a_lane_without_one_takes_no_notice() -> None:
    """As in most tests."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(CHAT, CHATS[CHAT] | {"messages": [{"role": "user", "content": "x"}]}, ON)
        await rig.answer(whole_chat())
        assert cached(reply) == []

    run(test)


@pytest.mark.parametrize("said", ["", "fine"])
def test_who_shares_an_answer_keeps_none(said: str) -> None:
    """It is kept once, by whoever was answered; who only got a copy knows nothing of what was odd about it."""

    async def test(rig: CacheRig) -> None:
        body = CHATS[CHAT] | {"messages": [{"role": "user", "content": "how are you"}]}
        first = await rig.post(CHAT, body, ON)
        raw = json.dumps(body).encode()
        second, record = MemoryReply(), RequestRecord("plm-1-2", rig.clock.now())
        rig.tasks.append(asyncio.create_task(rig.lane.serve(LaneRequest("POST", CHAT, b"", ON, raw, record), second)))
        await rig.clock.settle()
        await rig.answer(whole_chat(said))
        assert (first.status, second.status, rig.asked_child) == (200, 200, 1)
        assert (cached(first), cached(second)) == ([b"miss"], [b"miss"])
        assert len(rig.cache) == (1 if said else 0)

    with_cache(test)


def test_who_asks_for_it_in_vain_is_told() -> None:
    """A stream is always computed: where the header wanted otherwise, a warning says so; where nobody asked, nothing does (U13)."""

    async def test(rig: CacheRig) -> None:
        rig.cache.settings = rig.cache.settings._replace(enabled=True)
        for headers, told in ((ON, [teaching.warn_cache_passed().encode()]), ({}, [])):
            reply = await rig.post(
                CHAT, {**CHATS[CHAT], "messages": [{"role": "user", "content": "hi"}], "stream": True}, headers
            )
            rig.exchange.head(200, SSE)
            rig.exchange.body(chunk("a") + chunk(finish="stop") + DONE)
            rig.exchange.end()
            await rig.clock.settle()
            assert reply.header(b"x-blazar-warning") == told

    with_cache(test)


def test_a_cache_without_an_embedding_model_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    """Where it is enabled: it would find nothing for ever, and nobody would know why."""

    async def test(rig: CacheRig) -> None:
        rig.two.embeds = False
        await rig.chat()
        assert caplog.messages == []
        rig.cache.settings = rig.cache.settings._replace(enabled=True)
        for _ in range(3):
            await rig.chat(headers={})
        assert caplog.messages == [teaching.cache_without_embedder()]

    with_cache(test)
