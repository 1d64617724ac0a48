"""One pull for all who want it: what each of them hears, and when it ends."""

import asyncio
from collections.abc import Awaitable, Callable
from threading import Event
from typing import Any

import pytest

from blazar.application.models.pulling import Step, Wish
from blazar.application.models.pulls import BETWEEN_SECS, MOST_AT_ONCE, Pulls, Watching
from blazar.application.models.slots import Slot
from blazar.domain import teaching
from blazar.domain.errors import BlazarError, Busy, Fault, NotFound, Refusal, RegistryTrouble
from tests.fakes.catalog import a_model
from tests.fakes.clock import FakeClock
from tests.fakes.pulls import ScriptedPull
from tests.fakes.telemetry import MemoryEvents

WISH = Wish("tiny:latest")
MANIFEST, WRITING, DONE = Step("pulling manifest"), Step("writing manifest"), Step("success")
WATCHDOG = 10.0


def of(done: int, total: int = 100, digest: str = "sha256:aa") -> Step:
    return Step("pulling aa", digest, total, done, "a.gguf")


class Rig:
    """Pulls over scripted ones, in the order in which they are begun."""

    def __init__(self, *scripts: ScriptedPull) -> None:
        self.scripts, self.begun, self.slots = scripts, 0, list[Slot]()
        self.clock, self.events, self.caught_up = FakeClock(), MemoryEvents(), 0
        self.pulls = Pulls(self.begin, self.events, self.clock, self.catch_up)

    def begin(self, slot: Slot) -> ScriptedPull:
        self.slots.append(slot)
        self.begun += 1
        return self.scripts[self.begun - 1]

    async def catch_up(self) -> None:
        self.caught_up += 1

    async def heard(self, watching: Watching) -> list[Step]:
        """All of it, a tenth of a second for each step."""
        steps: list[Step] = []
        while not steps or steps[-1] != DONE:
            step = await self.one(watching)
            steps.append(step)
        return steps

    async def one(self, watching: Watching) -> Step:
        """The next step; time passes as it is needed."""
        task = asyncio.ensure_future(watching.next())
        while not task.done():
            await self.clock.advance(BETWEEN_SECS)
            await asyncio.wait([task], timeout=0.001)  # the thread's steps cross in real time
        step = task.result()
        assert step is not None
        return step


def played(play: Callable[[], Awaitable[Any]]) -> None:
    """On a loop of its own, within the watchdog's time."""

    async def bounded() -> None:
        await asyncio.wait_for(play(), WATCHDOG)

    asyncio.run(bounded())


async def let(event: Event) -> None:
    """Wait for a thread."""
    while not event.is_set():
        await asyncio.sleep(0.001)


def test_the_steps_come_in_order_and_end_in_success() -> None:
    """The last one after everything that the next request needs."""
    rig = Rig(ScriptedPull([MANIFEST, of(100), WRITING, DONE], a_model("tiny")))

    async def play() -> None:
        watching = rig.pulls.join(WISH)
        assert await rig.heard(watching) == [MANIFEST, of(100), WRITING, DONE]
        assert rig.caught_up == 1
        assert watching.pulled is not None
        assert watching.pulled.model == a_model("tiny")

    played(play)
    assert rig.events.emitted == [
        ("pull_started", {"reference": "tiny:latest"}),
        ("pulled", {"reference": "tiny:latest", "model": "tiny", "fresh": True}),
    ]


def test_who_wants_the_same_shares_one_pull_and_hears_what_was_told_so_far() -> None:
    """Each file's last state, not its history."""
    go, told = Event(), Event()
    rig = Rig(ScriptedPull([MANIFEST, of(10), of(20), go, of(100), WRITING], a_model("tiny")))

    async def play() -> None:
        first = rig.pulls.join(WISH)
        while await rig.one(first) != of(20):
            pass
        second = rig.pulls.join(WISH)
        assert [await rig.one(second), await rig.one(second)] == [MANIFEST, of(20)]
        go.set()
        for watching in (first, second):
            assert await rig.heard(watching) == [of(100), WRITING, DONE]

    played(play)
    assert rig.begun == 1
    assert not told.is_set()


def test_another_wish_is_another_pull() -> None:
    """Its parts, its draft and its name are part of what is wished for."""
    rig = Rig(*(ScriptedPull([], a_model("tiny")) for _ in range(4)))

    async def play() -> None:
        wishes = (WISH, WISH._replace(name="x"), WISH._replace(parts=(("vae", "a/b"),)), WISH._replace(draft="auto"))
        for watching in [rig.pulls.join(wish) for wish in wishes]:
            assert await rig.heard(watching) == [DONE]

    played(play)
    assert rig.begun == 4


def test_mere_progress_is_gathered_to_ten_lines_a_second() -> None:
    """A status and the end of a file are not kept waiting for it."""
    steps: list[Step | Event] = [MANIFEST]
    gates = [Event() for _ in range(4)]
    for gate, done in zip(gates, (10, 20, 30, 100), strict=True):
        steps += [of(done), gate]
    pull = ScriptedPull([*steps, WRITING], a_model("tiny"))
    rig = Rig(pull)

    async def told_up_to(gate: Event) -> None:
        while pull._waits is not gate:
            await asyncio.sleep(0.001)

    async def silent(watching: Watching) -> None:
        task = asyncio.ensure_future(watching.next())
        await asyncio.wait([task], timeout=0.02)
        assert not task.done()
        task.cancel()

    async def play() -> None:
        watching = rig.pulls.join(WISH)
        assert await watching.next() == MANIFEST
        await silent(watching)
        gates[0].set()
        gates[1].set()
        await told_up_to(gates[2])
        await silent(watching)
        await rig.clock.advance(BETWEEN_SECS)
        assert await watching.next() == of(30)
        gates[2].set()
        await told_up_to(gates[3])
        await silent(watching)  # the end of a file, too: a folder has hundreds of them
        await rig.clock.advance(BETWEEN_SECS)
        assert await watching.next() == of(100)
        gates[3].set()
        assert [await watching.next(), await watching.next()] == [WRITING, DONE]

    played(play)


def test_the_ends_of_many_files_are_ten_lines_a_second_and_none_is_lost() -> None:
    """What waits when the last of them is there comes before the next status, all of it."""
    ends = [Step("pulling", f"sha256:{number}", 5, 5, f"{number}.json") for number in range(200)]
    gate = Event()
    rig = Rig(ScriptedPull([MANIFEST, *ends, gate, WRITING], a_model("tiny")))

    async def play() -> None:
        watching = rig.pulls.join(WISH)
        assert await watching.next() == MANIFEST
        began, heard = rig.clock.now(), [await rig.one(watching) for _ in range(20)]
        assert rig.clock.now() - began >= 19 * BETWEEN_SECS
        gate.set()
        heard += await rig.heard(watching)
        assert heard == [*ends, WRITING, DONE]

    played(play)


def test_a_status_comes_behind_what_was_told_before_it() -> None:
    """The last word about a file whose size nobody knows, too."""
    rig = Rig(ScriptedPull([MANIFEST, of(7, total=0), WRITING], a_model("tiny")))

    async def play() -> None:
        assert await rig.heard(rig.pulls.join(WISH)) == [MANIFEST, of(7, total=0), WRITING, DONE]

    played(play)


def test_the_leave_of_one_keeps_it_and_the_leave_of_the_last_stops_it() -> None:
    """What came is kept by the pull itself."""
    rig = Rig(ScriptedPull([MANIFEST, Event(), WRITING], a_model("tiny")))
    script = rig.scripts[0]

    async def play() -> None:
        first, second = rig.pulls.join(WISH), rig.pulls.join(WISH)
        assert await rig.one(second) == MANIFEST
        first.close()
        first.close()
        assert not script.stopped
        second.close()
        await let(script.ended)
        await rig.clock.settle()

    played(play)
    assert str(script.stopped[0]) == teaching.pull_left()
    assert rig.caught_up == 0


def test_an_event_says_what_happened_to_this_pull() -> None:
    """Another one of the same files, by another name, goes on: it is told apart, and nothing is said of what both wait for."""
    go = Event()
    rig = Rig(ScriptedPull([MANIFEST, go], a_model("tiny")), ScriptedPull([MANIFEST, Event()]))

    async def play() -> None:
        stays = rig.pulls.join(WISH)
        assert await rig.one(stays) == MANIFEST
        leaves = rig.pulls.join(WISH._replace(name="x"))
        assert await rig.one(leaves) == MANIFEST
        leaves.close()
        await let(rig.scripts[1].ended)
        go.set()
        assert (await rig.heard(stays))[-1] == DONE

    played(play)
    failed = {"reference": "tiny:latest", "name": "x", "why": teaching.pull_left()}
    assert ("pull_failed", failed) in rig.events.emitted
    assert rig.events.emitted[-1] == ("pulled", {"reference": "tiny:latest", "model": "tiny", "fresh": True})
    assert "whoever asked for this pull has left" in teaching.pull_left()


def test_who_comes_when_it_is_being_stopped_waits_for_its_end_and_begins_anew() -> None:
    """Two of them would hold the same files."""
    rig = Rig(ScriptedPull([MANIFEST, Event()]), ScriptedPull([MANIFEST, WRITING], a_model("tiny")))

    async def play() -> None:
        first = rig.pulls.join(WISH)
        assert await rig.one(first) == MANIFEST
        first.close()
        second = rig.pulls.join(WISH)
        assert rig.begun == 1
        assert await rig.heard(second) == [MANIFEST, WRITING, DONE]
        assert rig.scripts[0].ended.is_set()

    played(play)


@pytest.mark.parametrize(
    ("raised", "heard"),
    [
        (NotFound("no such model"), NotFound("no such model")),
        (RegistryTrouble("it is gone"), RegistryTrouble("it is gone")),
        (RuntimeError("odd"), Fault(teaching.unexpected("RuntimeError", "odd"))),
    ],
)
def test_an_error_ends_it_for_all_with_the_same_sentence(raised: Exception, heard: BlazarError) -> None:
    """What nobody foresaw, too; the next who asks begins anew."""
    go = Event()
    rig = Rig(ScriptedPull([MANIFEST, go], error=raised), ScriptedPull([], a_model("tiny")))

    async def play() -> None:
        watching = [rig.pulls.join(WISH), rig.pulls.join(WISH)]
        for one in watching:
            assert await rig.one(one) == MANIFEST
        go.set()
        for one in watching:
            with pytest.raises(type(heard)) as said:
                await one.next()
            assert str(said.value) == str(heard)
        assert await rig.heard(rig.pulls.join(WISH)) == [DONE]

    played(play)
    assert rig.events.emitted[1] == ("pull_failed", {"reference": "tiny:latest", "why": str(heard)})


def test_a_pull_that_cannot_be_begun_says_why() -> None:
    """An address of a registry that is none."""

    def begin(_: Slot) -> ScriptedPull:
        raise RegistryTrouble("no address")

    async def play() -> None:
        pulls = Pulls(begin, MemoryEvents(), FakeClock())
        with pytest.raises(RegistryTrouble, match="no address"):
            await pulls.join(WISH).next()

    played(play)


def test_silence_is_said_after_a_while() -> None:
    """For whoever has to keep a connection alive."""
    go = Event()
    rig = Rig(ScriptedPull([MANIFEST, go], a_model("tiny")))

    async def play() -> None:
        watching = rig.pulls.join(WISH)
        assert await rig.one(watching) == MANIFEST
        task = asyncio.ensure_future(watching.next(15.0))
        await rig.clock.advance(14.9)
        assert not task.done()
        await rig.clock.advance(0.2)
        assert await task is None
        go.set()
        assert await rig.one(watching) == DONE

    played(play)


def test_a_stop_of_the_daemon_ends_every_pull_at_once() -> None:
    """Whoever waits hears why, and nobody begins another."""
    rig = Rig(ScriptedPull([MANIFEST, Event()]))

    async def play() -> None:
        watching = rig.pulls.join(WISH)
        assert await rig.one(watching) == MANIFEST
        await rig.pulls.start()
        await rig.pulls.aclose()
        with pytest.raises(Busy, match="stopping"):
            await watching.next()
        with pytest.raises(Busy, match="stopping"):
            rig.pulls.join(WISH)
        assert rig.scripts[0].ended.is_set()

    played(play)


def test_events_tell_no_secret_of_an_address() -> None:
    """Who listens to them need not have the token that stood in it."""
    rig = Rig(ScriptedPull([], a_model("m")))

    async def play() -> None:
        await rig.heard(rig.pulls.join(Wish("https://me:pass@host.example/m.gguf?token=s#x")))

    played(play)
    assert {facts["reference"] for _, facts in rig.events.emitted} == {"https://host.example/m.gguf"}


def test_more_than_a_few_at_once_wait_for_their_turn() -> None:
    """And say so; one who leaves while it waits is gone at once, without having begun."""
    go = Event()
    rig = Rig(*[ScriptedPull([go, WRITING], a_model(f"m{number}")) for number in range(MOST_AT_ONCE + 1)])

    async def play() -> None:
        first = [rig.pulls.join(Wish(f"m{number}")) for number in range(MOST_AT_ONCE)]
        last, leaves = rig.pulls.join(Wish("last")), rig.pulls.join(Wish("leaves"))
        note = Step("pulling manifest", note=teaching.pull_queued(MOST_AT_ONCE))
        assert [await rig.one(last), await rig.one(last)] == [MANIFEST, note]
        leaves.close()
        with pytest.raises(Refusal):
            await rig.heard(leaves)
        assert rig.begun <= MOST_AT_ONCE
        go.set()
        for watching in (*first, last):
            assert (await rig.heard(watching))[-1] == DONE
        assert rig.begun == MOST_AT_ONCE + 1
        await rig.pulls.aclose()

    played(play)


def test_events_tell_no_secret_of_a_refusal() -> None:
    """Nor where a sentence repeats an address."""
    secret = "https://me:s3cret@host.example/m.gguf?token=s3cret"
    rig = Rig(ScriptedPull([], error=RegistryTrouble(f"nothing came of {secret}: try again")))

    async def play() -> None:
        with pytest.raises(RegistryTrouble):
            await rig.heard(rig.pulls.join(Wish(secret)))

    played(play)
    assert "s3cret" not in str(rig.events.emitted)
    whys = [facts["why"] for _, facts in rig.events.emitted if "why" in facts]
    assert whys == ["nothing came of https://host.example/m.gguf: try again"]


@pytest.mark.parametrize("there", [False, True])
def test_what_was_left_half_done_is_put_right_at_the_start(there: bool) -> None:
    """And the configuration is read again where that changed it."""
    rig = Rig()
    pulls = Pulls(rig.begin, rig.events, rig.clock, rig.catch_up, lambda: there)
    played(pulls.start)
    assert rig.caught_up == int(there)


def test_who_waits_for_another_s_files_takes_nobody_s_turn() -> None:
    """It lends its own for so long; before it transfers it waits until it may, and can be stopped meanwhile."""
    go, waits = [Event() for _ in range(MOST_AT_ONCE + 1)], Event()
    rig = Rig(*[ScriptedPull([one, WRITING], a_model("m")) for one in go])

    async def play() -> None:
        first = [rig.pulls.join(Wish(f"m{number}")) for number in range(MOST_AT_ONCE)]
        last = rig.pulls.join(Wish("last"))
        while rig.begun < MOST_AT_ONCE:
            await asyncio.sleep(0.001)
        await asyncio.to_thread(rig.slots[0].lend)
        await asyncio.to_thread(rig.slots[0].lend)
        while rig.begun < MOST_AT_ONCE + 1:
            await asyncio.sleep(0.001)

        def enough() -> None:
            raise Refusal("enough")

        with pytest.raises(Refusal, match="enough"):
            await asyncio.to_thread(rig.slots[0].take_back, enough)
        taken = asyncio.ensure_future(asyncio.to_thread(rig.slots[0].take_back, waits.set))
        await let(waits)
        assert not taken.done()
        go[1].set()
        await taken
        for one in go:
            one.set()
        for watching in (*first, last):
            assert (await rig.heard(watching))[-1] == DONE
        await rig.pulls.aclose()

    played(play)
