"""What happens once before the first request."""

import asyncio
import logging
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from blazar.application.engines.enrol_engines import EnrolEngines
from blazar.application.ports.drivers import FlagProbe
from blazar.composition.starting import EnrolAtStart, WatchChildren, preload_models
from blazar.domain.errors import Malformed, ModelNotFound, Refusal
from blazar.domain.manifest import Manifest
from tests.fakes.builds import FakeEngineFinder, FakeEngineTrial, MemoryEngineBuilds
from tests.fakes.clock import FakeClock
from tests.fakes.engines import MemoryEngineCatalog, an_engine

WATCHDOG = 30.0


class Asked(FlagProbe):
    """Remembers which builds were asked, and in which thread."""

    def __init__(self) -> None:
        self.tags: list[str] = []
        self.threads: set[threading.Thread] = set()
        self.asked = threading.Event()
        self.answer = threading.Event()
        self.answer.set()

    def manifest(self, engine: Any) -> Manifest:
        self.tags.append(engine.tag)
        self.threads.add(threading.current_thread())
        self.asked.set()
        assert self.answer.wait(WATCHDOG)
        return Manifest()


class House:
    """One active build, one that is not, and what a crash left."""

    def __init__(self) -> None:
        self.catalog = MemoryEngineCatalog([an_engine("b2"), an_engine("b1")])
        self.builds, self.finder, self.probe = MemoryEngineBuilds(), FakeEngineFinder(), Asked()
        self.builds.aside = {"b1", "b0"}
        enrol = EnrolEngines(self.catalog, self.finder, FakeEngineTrial(), FakeClock())
        self.part = EnrolAtStart(enrol, self.builds, self.catalog, self.probe)


def test_active_builds_are_asked_beforehand_off_the_loop() -> None:
    """The first spawn does not wait for `--help`, and /health is answered meanwhile."""
    house = House()
    asyncio.run(house.part.start())
    assert house.probe.asked.wait(WATCHDOG)
    assert house.probe.tags == ["b2"]
    assert threading.main_thread() not in house.probe.threads


def test_a_build_that_hangs_over_its_help_delays_no_start() -> None:
    """Nor the end: the thread is not the loop's."""
    house = House()
    house.probe.answer.clear()
    asyncio.run(house.part.start())
    assert house.probe.asked.wait(WATCHDOG)
    (thread,) = house.probe.threads
    assert thread.is_alive()
    house.probe.answer.set()
    thread.join(WATCHDOG)


def test_what_a_crash_left_is_swept() -> None:
    """A build set aside comes back while its row stands, any other goes."""
    house = House()
    asyncio.run(house.part.start())
    assert (house.builds.present, house.builds.aside) == ({"b1"}, set())


def test_paths_are_healed_before_anything_looks_at_them() -> None:
    """A build whose row strayed would be swept, or asked in vain (contract)."""
    house, steps = House(), []  # type: ignore[var-annotated]
    house.catalog.heal_paths = lambda: steps.append("healed") or []  # type: ignore[func-returns-value, method-assign]
    sweep = house.builds.sweep
    house.builds.sweep = lambda known: (steps.append("swept"), sweep(known))[0]  # type: ignore[method-assign, return-value]
    asyncio.run(house.part.start())
    assert steps == ["healed", "swept"]


def test_a_named_engine_that_cannot_be_used_stops_the_start() -> None:
    """Serving with another one would hide a mistyped path."""
    house = House()
    house.finder.trouble = Malformed("BLAZAR_ENGINE_PATH names nothing")
    with pytest.raises(Refusal, match="BLAZAR_ENGINE_PATH"):
        asyncio.run(house.part.start())


class Series:
    """Who is looked at when somebody scrapes."""

    def __init__(self) -> None:
        self.views: Any = None

    def watch_children(self, views: Any) -> None:
        self.views = views


class Loads:
    """Remembers what was loaded; `broken` models cannot be."""

    def __init__(self, broken: Sequence[str] = ()) -> None:
        self.broken, self.loaded = broken, []  # type: ignore[var-annotated]

    def views(self) -> list[str]:
        return ["view"]

    async def load(self, model: str) -> None:
        self.loaded.append(model)
        if model in self.broken:
            raise ModelNotFound(model, [])


def test_children_are_watched_from_start_to_end() -> None:
    """After the end a late scrape finds none."""
    series, loads = Series(), Loads()
    part = WatchChildren(series, loads)  # type: ignore[arg-type]
    asyncio.run(part.start())
    assert series.views() == ["view"]
    asyncio.run(part.aclose())
    assert series.views() == ()


def test_one_model_that_cannot_be_loaded_does_not_stop_the_others(caplog: pytest.LogCaptureFixture) -> None:
    """In their order, one after the other; the warning says why."""
    loads = Loads(broken=["b"])
    with caplog.at_level(logging.WARNING):
        asyncio.run(preload_models(loads, ["a", "b", "c"]))  # type: ignore[arg-type]
    assert loads.loaded == ["a", "b", "c"]
    assert len(caplog.records) == 1
    assert "'b'" in caplog.text
