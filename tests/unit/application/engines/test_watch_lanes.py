"""The look after forks while the daemon runs."""

import asyncio
from collections.abc import Awaitable, Callable

from blazar.application.engines.mine_architectures import MineArchitectures
from blazar.application.engines.removal import Unused
from blazar.application.engines.retire_lanes import RetireLanes
from blazar.application.engines.watch_lanes import EVERY_SECS, FIRST_SECS, LIST_SECS, WatchLanes
from blazar.application.ports.engines import Judge
from blazar.domain.capability import DAY_SECS, LaneList
from blazar.domain.errors import RegistryTrouble, StoreTrouble
from blazar.domain.kinds import Provenance
from blazar.domain.records import Engine
from tests.fakes.builds import MemoryEngineBuilds
from tests.fakes.children import FakeChildren
from tests.fakes.clock import FakeClock
from tests.fakes.engines import MemoryEngineCatalog, an_engine
from tests.fakes.forks import FakeArchitectureSource, FakeCapabilityRegistry
from tests.fakes.telemetry import MemoryEvents
from tests.support.supervision import at_once

FORK = an_engine("novel-1", provenance=Provenance.FORK, release="novel", source="o/n@1", architectures=("novel",))


class Watched:
    """A daemon's watch; nothing runs on its builds."""

    def __init__(self, clock: FakeClock, *rows: Engine) -> None:
        self.clock, self.days = clock, 7
        self.registry, self.source = FakeCapabilityRegistry(), FakeArchitectureSource(b2=("llama", "novel"))
        self.catalog, self.events = MemoryEngineCatalog(rows), MemoryEvents()
        unused = Unused(FakeChildren(clock), lambda _: ())
        self.watch = WatchLanes(
            self.registry,
            MineArchitectures(self.catalog, self.source),
            RetireLanes(self.catalog, MemoryEngineBuilds(), unused, clock),
            clock,
            self.events,
            lambda: self.days,
            at_once,
        )

    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.events.emitted]


def watched(scenario: Callable[[Watched], Awaitable[None]], *rows: Engine) -> None:
    """Run it beside the watch, and end that."""

    async def main() -> None:
        daemon = Watched(FakeClock(), *rows)
        task = asyncio.create_task(daemon.watch.run())
        await daemon.clock.settle()
        await scenario(daemon)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert daemon.clock.pending == 0

    asyncio.run(main())


def test_nothing_is_asked_while_the_daemon_starts() -> None:
    """The list is fetched after a minute, then once a day."""

    async def scenario(daemon: Watched) -> None:
        await daemon.clock.advance(FIRST_SECS - 1)
        assert daemon.registry.asked == 0
        await daemon.clock.advance(1)
        assert daemon.registry.asked == 1
        await daemon.clock.advance(LIST_SECS - EVERY_SECS)
        assert daemon.registry.asked == 1
        await daemon.clock.advance(EVERY_SECS)
        assert daemon.registry.asked == 2

    watched(scenario)


def test_without_registry_and_fork_nobody_is_asked() -> None:
    """No telemetry, no phoning home: neither the list nor the source of releases."""

    async def scenario(daemon: Watched) -> None:
        daemon.registry.address = ""
        await daemon.clock.advance(10 * DAY_SECS)
        assert (daemon.registry.asked, daemon.source.asked, daemon.events.emitted) == (0, [], [])

    watched(scenario, an_engine("b2"))


def test_a_registry_that_fails_is_told_and_asked_again() -> None:
    """Within the hour, and nothing else is held up by it."""

    async def scenario(daemon: Watched) -> None:
        daemon.registry.trouble = RegistryTrouble("lists.example cannot be reached")
        await daemon.clock.advance(FIRST_SECS)
        assert daemon.events.emitted == [("registry_warning", {"why": "lists.example cannot be reached"})]
        assert daemon.source.asked == ["b2"]
        daemon.registry.trouble = None
        daemon.registry.now = LaneList(troubles=("lane 'x' is left out",))
        await daemon.clock.advance(EVERY_SECS)
        assert daemon.registry.asked == 2
        assert daemon.events.emitted[1:] == [("registry_warning", {"why": "lane 'x' is left out"})]

    watched(scenario, an_engine("b2"))


def test_a_fork_is_superseded_and_retires() -> None:
    """What releases know is found out because there is a fork; then its days begin."""

    async def scenario(daemon: Watched) -> None:
        daemon.registry.address = ""
        await daemon.clock.advance(FIRST_SECS)
        assert daemon.kinds() == ["fork_superseded"]
        await daemon.clock.advance(7 * DAY_SECS)
        assert daemon.kinds() == ["fork_superseded", "fork_retired"]
        assert [row.tag for row in daemon.catalog.list_engines()] == ["b2"]

    watched(scenario, an_engine("b2", active=True), FORK)


def test_a_changed_number_of_days_counts_at_once() -> None:
    """`fork_retire_days` is read with every look."""

    async def scenario(daemon: Watched) -> None:
        daemon.days = 0
        await daemon.clock.advance(30 * DAY_SECS)
        assert daemon.kinds() == ["fork_superseded"]
        daemon.days = 1
        await daemon.clock.advance(EVERY_SECS)
        assert daemon.kinds()[-1] == "fork_retired"

    watched(scenario, an_engine("b2", active=True), FORK)


def test_a_catalog_that_cannot_be_written_is_told() -> None:
    """The watch goes on: a full disk may have room tomorrow."""

    class Full(MemoryEngineCatalog):
        def remove_engine(self, tag: str, judge: Judge | None = None) -> None:
            raise StoreTrouble("the disk is full")

    async def main() -> None:
        daemon = Watched(FakeClock(), an_engine("b2", active=True), FORK)
        daemon.watch.retire = RetireLanes(
            Full(daemon.catalog.list_engines()),
            MemoryEngineBuilds(),
            Unused(FakeChildren(daemon.clock), lambda _: ()),
            daemon.clock,
        )
        daemon.watch.mine = MineArchitectures(daemon.watch.retire.engines, daemon.source)
        await daemon.watch.look()
        daemon.clock._now += 8 * DAY_SECS
        await daemon.watch.look()
        assert daemon.events.emitted[-1] == ("fork_warning", {"why": "the disk is full"})

    asyncio.run(main())
