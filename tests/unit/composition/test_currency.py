"""When the daemon looks for newer builds, and whom it tells."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from blazar.adapters.files.lookups import kept_in
from blazar.application.config.layers import load_config
from blazar.application.config.live import LiveConfig
from blazar.application.engines.check_currency import CheckCurrency
from blazar.application.engines.pick_release import PickRelease
from blazar.composition.currency import FIRST_LOOK_SECS, CurrencyTask, live_currency
from blazar.domain import teaching
from blazar.domain.errors import RegistryTrouble
from tests.fakes.clock import FakeClock
from tests.fakes.engines import MemoryEngineCatalog, an_engine
from tests.fakes.hardware import FakeCensus
from tests.fakes.telemetry import MemoryEvents
from tests.support.release_feed import REPOSITORY, ReleaseHost, asset, release
from tests.support.releasing import Rig, build


def live(text: str = "") -> LiveConfig:
    return LiveConfig(load_config(text, "config.toml", {}, {}))


def task(rig: Rig, text: str = "") -> tuple[CurrencyTask, MemoryEvents]:
    def open_pick() -> tuple[PickRelease, Callable[[], None]]:
        return rig.pick, rig.feed.close

    events = MemoryEvents()
    return CurrencyTask(CheckCurrency(rig.catalog, open_pick, rig.clock), live(text), events, rig.clock), events


def with_b11429() -> Rig:
    return Rig([build(11430)], catalog=MemoryEngineCatalog([an_engine("b11429", source="https://host/x.tar.gz")]))


def test_a_newer_build_is_told_once() -> None:
    """Of every newer one; it is installed by nobody."""
    rig = with_b11429()
    watch, events = task(rig)
    asyncio.run(watch.look())
    asyncio.run(watch.look())
    facts = {"engine_kind": "llamacpp", "active": "b11429", "newest": "b11430", "back": False}
    assert events.emitted == [("engine_update_available", facts)]
    rig.feed.by_repository[REPOSITORY].append(build(11431, day=29))
    asyncio.run(watch.look())
    assert [facts["newest"] for _, facts in events.emitted] == ["b11430", "b11431"]
    assert [row.tag for row in rig.catalog.list_engines()] == ["b11429"]
    assert watch.known()[0].newest == "b11431"


def test_a_look_that_fails_is_quiet() -> None:
    """A row of the doctor, and no event."""
    rig = with_b11429()
    rig.feed.trouble = RegistryTrouble("offline")
    watch, events = task(rig)
    asyncio.run(watch.look())
    assert events.emitted == []
    assert [row.status for row in watch.rows()] == ["warn"]


def test_before_the_first_look() -> None:
    """The doctor says that there was none; that there is to be none, where it is off."""
    watch, _ = task(with_b11429())
    assert [row.detail for row in watch.rows()] == [teaching.doctor_updates_unchecked()]
    watch, _ = task(with_b11429(), "engine_check_secs = 0")
    assert [row.detail for row in watch.rows()] == [teaching.doctor_updates_off()]


async def looks(clock: FakeClock, watch: CurrencyTask, seconds: float) -> int:
    """How often it looks within a time."""
    count = 0

    async def look() -> None:
        nonlocal count
        count += 1

    watch.look = look  # type: ignore[method-assign]
    running = asyncio.create_task(watch.run())
    await clock.settle()
    assert count == 0, "a start asks nobody"
    await clock.advance(seconds)
    running.cancel()
    return count


def test_it_looks_as_often_as_configured() -> None:
    """A minute after the start, then every so often; never where that is 0."""
    day = 86400
    for text, count in (("", 3), ("engine_check_secs = 43200", 5), ("engine_check_secs = 0", 0)):
        rig = with_b11429()
        watch, _ = task(rig, text)
        assert asyncio.run(looks(rig.clock, watch, 2 * day + 3 * FIRST_LOOK_SECS)) == count


def test_a_look_that_goes_wrong_is_not_the_last_one() -> None:
    """Whatever it was: the next one is taken in its time."""

    async def main() -> int:
        rig, count = with_b11429(), 0
        watch, _ = task(rig, "engine_check_secs = 60")

        async def look() -> None:
            nonlocal count
            count += 1
            raise ZeroDivisionError

        watch.look = look  # type: ignore[method-assign]
        running = asyncio.create_task(watch.run())
        await rig.clock.settle()
        await rig.clock.advance(185)
        running.cancel()
        return count

    assert asyncio.run(main()) == 3


def test_a_stop_waits_for_no_host() -> None:
    """One that says nothing holds neither the task nor the end of the loop."""
    rig, asked, silence = with_b11429(), threading.Event(), threading.Event()

    def open_pick() -> tuple[PickRelease, Callable[[], None]]:
        asked.set()
        silence.wait()
        return rig.pick, rig.feed.close

    async def main() -> None:
        watch = CurrencyTask(CheckCurrency(rig.catalog, open_pick, rig.clock), live(), MemoryEvents(), rig.clock)
        looking = asyncio.create_task(watch.look())
        while not asked.is_set():
            await asyncio.sleep(0)
        looking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await looking

    asyncio.run(main())
    silence.set()


def test_each_look_is_by_the_configuration_as_it_is_then(tmp_path: Path) -> None:
    """From the host that the environment names; one that is no address is a row, and no end of the task."""
    host = ReleaseHost()
    try:
        name = "llama-b11430-bin-ubuntu-x64.tar.gz"
        host.publish([release("b11430", asset(name, "http://there/x", b"abc"))])
        rows, clock = MemoryEngineCatalog([an_engine("b11429", source="https://host/x.tar.gz")]), FakeClock()
        check = live_currency(live(), {"BLAZAR_GH_BASE": host.url}, rows, FakeCensus(), clock, data=tmp_path)
        assert check()[0].newest == "b11430"
        assert kept_in(tmp_path).read()[0].newest == "b11430"  # for the next daemon, and for the verbs
        check = live_currency(live(), {"BLAZAR_GH_BASE": "nowhere"}, rows, FakeCensus(), clock, data=tmp_path)
        assert "BLAZAR_GH_BASE" in check()[0].trouble
    finally:
        host.close()


def test_a_start_does_not_wait_for_the_http_client() -> None:
    """It is imported by the first look."""
    code = "import sys, blazar.composition.currency; print('httpx' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "False"
