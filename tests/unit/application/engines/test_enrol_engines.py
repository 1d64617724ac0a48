"""Rows of engines that were not installed by us."""

import pytest

from blazar.application.engines.enrol_engines import EnrolEngines
from blazar.application.engines.use_engine import UseEngine
from blazar.application.ports.engines import FoundEngine
from blazar.domain.errors import Malformed
from blazar.domain.kinds import Provenance
from tests.fakes.builds import FakeEngineFinder, FakeEngineTrial, MemoryEngineBuilds
from tests.fakes.clock import FakeClock
from tests.fakes.engines import MemoryEngineCatalog, an_engine

WHEEL = FoundEngine("/site/xllamacpp/__init__.py", ("python", "-m", "embedded"), "2026.10.1")
BINARY = FoundEngine("/opt/llama-server", ("/opt/llama-server",), "")


class House:
    def __init__(self, *rows: object) -> None:
        self.catalog = MemoryEngineCatalog(rows)  # type: ignore[arg-type]
        self.finder, self.trial, self.clock = FakeEngineFinder(), FakeEngineTrial("7"), FakeClock()
        self.enrol = EnrolEngines(self.catalog, self.finder, self.trial, self.clock)

    def tags(self) -> list[str]:
        return [row.tag for row in self.catalog.list_engines()]

    def active(self) -> list[str]:
        return [row.tag for row in self.catalog.list_engines() if row.active]


def test_a_present_wheel_has_a_row() -> None:
    """The wheel is listed under its version and its provenance, and serves while it is alone (D20)."""
    house = House()
    house.finder.embedded = WHEEL
    assert house.enrol() is None
    (row,) = house.catalog.list_engines()
    assert (row.tag, row.provenance, row.words, row.active) == (
        "embedded-2026.10.1",
        Provenance.EMBEDDED,
        WHEEL.command,
        True,
    )
    assert house.trial.tried == []


def test_a_wheel_that_is_gone_has_none() -> None:
    """Uninstalled: its row goes, another build takes over."""
    house = House()
    house.finder.embedded = WHEEL
    house.enrol()
    house.catalog.add_engine(an_engine("b1"))
    house.finder.embedded = None
    house.enrol()
    assert (house.tags(), house.active()) == (["b1"], ["b1"])


def test_a_new_wheel_replaces_the_old() -> None:
    """After an upgrade one row is left, active as the old one was."""
    house = House()
    house.finder.embedded = WHEEL
    house.enrol()
    house.finder.embedded = WHEEL._replace(version="2026.11.0")
    house.enrol()
    assert (house.tags(), house.active()) == (["embedded-2026.11.0"], ["embedded-2026.11.0"])


def test_a_named_binary_is_used() -> None:
    """BLAZAR_ENGINE_PATH adds the row `local` with its absolute path and makes it active, once."""
    house = House(an_engine("b1"), an_engine("embedded-1", provenance=Provenance.EMBEDDED))
    house.finder.local = BINARY
    house.enrol()
    row = house.catalog.find_engine("local")
    assert row is not None
    assert (row.server_path, row.version, row.provenance) == ("/opt/llama-server", "7", Provenance.LOCAL)
    assert house.active() == ["local"]
    UseEngine(house.catalog, MemoryEngineBuilds(), FakeClock())("b1")
    house.enrol()
    assert house.active() == ["b1"]


def test_an_unset_variable_removes_the_row() -> None:
    """Without BLAZAR_ENGINE_PATH there is no local build, and the best of the rest is active."""
    house = House(an_engine("b1"))
    house.finder.local = BINARY
    house.enrol()
    house.finder.local = None
    house.enrol(prune=False)
    assert house.active() == ["local"]
    house.enrol()
    assert (house.tags(), house.active()) == (["b1"], ["b1"])


def test_a_binary_that_cannot_be_used_is_a_refusal() -> None:
    """A bad path or a binary that fails is answered, named by its variable, and not listed; what was there stays."""
    house = House(an_engine("b1"), an_engine("local", provenance=Provenance.LOCAL))
    house.finder.local = BINARY
    house.trial.broken["/opt/llama-server"] = "no such library"
    assert str(house.enrol()).startswith("BLAZAR_ENGINE_PATH: /opt/llama-server did not run")
    house.finder.trouble = Malformed("names nothing")
    assert str(house.enrol()) == "names nothing"
    with pytest.raises(Malformed, match="names nothing"):
        house.enrol.check()
    assert house.tags() == ["b1", "local"]


def test_a_check_writes_nothing() -> None:
    """It only tells whether a start would be refused."""
    house = House()
    house.finder.local = BINARY
    house.enrol.check()
    assert (house.tags(), house.trial.tried) == ([], [BINARY.command])


def test_a_rebuilt_binary_is_noticed() -> None:
    """A new version under the same path updates the row and keeps it active."""
    house = House(an_engine("b1"))
    house.finder.local = BINARY
    house.enrol()
    house.trial.version = "8"
    house.enrol()
    row = house.catalog.find_engine("local")
    assert row is not None
    assert (row.version, row.active) == ("8", True)


def test_nothing_changed_writes_nothing() -> None:
    """A second look leaves the rows as they are, their times included."""
    house = House()
    house.finder.embedded, house.finder.local = WHEEL, BINARY
    house.enrol()
    before = house.catalog.list_engines()
    house.clock._now += 100
    house.enrol()
    assert house.catalog.list_engines() == before


def test_another_version_of_a_chosen_engine_stays_chosen() -> None:
    """What a person chose last is known by it, whatever the wheel's version."""
    house = House()
    house.finder.local, house.trial.version = BINARY, "7"
    house.enrol()
    house.catalog.set_active(house.catalog.list_engines()[0].kind, "local", 5.0)
    house.trial.version = "8"
    house.enrol()
    row = house.catalog.find_engine("local")
    assert row is not None
    assert (row.version, row.used_at, row.active) == ("8", 5.0, True)
