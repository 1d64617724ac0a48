"""What every engine catalog must do: the one in memory, the one on SQLite, and the one that verbs read it by."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from blazar.adapters.store.catalog import SqliteEngineCatalog
from blazar.adapters.store.database import Database
from blazar.adapters.store.swift import SwiftEngineCatalog
from blazar.application.ports.engines import EngineCatalog
from blazar.domain.errors import Conflict, EngineNotFound
from blazar.domain.kinds import EngineKind, Provenance
from blazar.domain.records import Engine
from tests.fakes.engines import MemoryEngineCatalog, an_engine

LLAMA = EngineKind.LLAMACPP


def _memory(_folder: Path) -> Iterator[EngineCatalog]:
    yield MemoryEngineCatalog()


def _sqlite(folder: Path) -> Iterator[EngineCatalog]:
    database = Database(folder / "blazar.db")
    yield SqliteEngineCatalog(database)
    database.close()


def _swift(folder: Path) -> Iterator[EngineCatalog]:
    database = Database(folder / "blazar.db")
    yield SwiftEngineCatalog(database.path, lambda: database)
    database.close()


@pytest.fixture(params=[_memory, _sqlite, _swift], ids=["memory", "sqlite", "swift"])
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[EngineCatalog]:
    build: Callable[[Path], Iterator[EngineCatalog]] = request.param
    yield from build(tmp_path)


def _active(catalog: EngineCatalog, kind: EngineKind = LLAMA) -> list[str]:
    return [engine.tag for engine in catalog.list_engines() if engine.active and engine.kind is kind]


def test_an_engine_comes_back_as_it_went_in(catalog: EngineCatalog) -> None:
    """Every field, the words of its command too."""
    local = an_engine(
        "local",
        provenance=Provenance.LOCAL,
        server_path="/opt/llama/llama-server",
        command=("/opt/llama/llama-server", "-m", "data:odd", "/opt/x"),
        installed_at=12.5,
        active=True,
    )
    catalog.add_engine(local)
    assert catalog.find_engine("local") == local
    assert catalog.find_engine("other") is None


def test_the_first_build_of_a_kind_is_active(catalog: EngineCatalog) -> None:
    """Later ones of its rank are not, other kinds have their own."""
    catalog.add_engine(an_engine("b1"))
    catalog.add_engine(an_engine("b2"))
    catalog.add_engine(an_engine("m1", kind=EngineKind.MISTRALRS))
    assert _active(catalog) == ["b1"]
    assert _active(catalog, EngineKind.MISTRALRS) == ["m1"]


def test_a_build_that_is_added_as_active_takes_over(catalog: EngineCatalog) -> None:
    """One active per kind, never two."""
    catalog.add_engine(an_engine("b1"))
    catalog.add_engine(an_engine("b2", active=True))
    assert _active(catalog) == ["b2"]


def test_odd_an_embedded_wheel_never_outranks_an_official_build(catalog: EngineCatalog) -> None:
    """The wheel serves while it is alone and never outranks a build (D20)."""
    catalog.add_engine(an_engine("embedded-1", provenance=Provenance.EMBEDDED))
    assert _active(catalog) == ["embedded-1"]
    catalog.add_engine(an_engine("b1", installed_at=1.0))
    assert _active(catalog) == ["b1"]
    catalog.add_engine(an_engine("embedded-2", provenance=Provenance.EMBEDDED))
    assert _active(catalog) == ["b1"]


def test_adding_again_replaces_and_keeps_what_is_active(catalog: EngineCatalog) -> None:
    """A new version under the same tag; the active build stays so, even where the new row does not say it."""
    catalog.add_engine(an_engine("b1"))
    catalog.add_engine(an_engine("b2"))
    catalog.add_engine(an_engine("b1", version="new"))
    found = catalog.find_engine("b1")
    assert found is not None
    assert (found.version, found.active) == ("new", True)
    assert len(catalog.list_engines()) == 2


def test_a_tag_that_changes_its_kind_leaves_no_kind_without(catalog: EngineCatalog) -> None:
    """The kind it left hands over, the kind it came to has one."""
    catalog.add_engine(an_engine("a"))
    catalog.add_engine(an_engine("b"))
    catalog.add_engine(an_engine("a", kind=EngineKind.SDCPP))
    assert _active(catalog) == ["b"]
    assert _active(catalog, EngineKind.SDCPP) == ["a"]


def test_choosing_moves_the_mark(catalog: EngineCatalog) -> None:
    """Exactly one carries it, also when it is chosen twice."""
    for tag in ("b1", "b2", "b3"):
        catalog.add_engine(an_engine(tag))
    for tag in ("b3", "b2", "b2"):
        catalog.set_active(LLAMA, tag)
        assert _active(catalog) == [tag]


def test_choosing_what_is_not_there_leaves_the_active_build(catalog: EngineCatalog) -> None:
    """Never zero active, even on error: unknown tags and tags of another kind are refused."""
    catalog.add_engine(an_engine("b1"))
    catalog.add_engine(an_engine("m1", kind=EngineKind.MISTRALRS))
    for tag in ("b9", "m1"):
        with pytest.raises(EngineNotFound, match=r"installed: b1\)"):
            catalog.set_active(LLAMA, tag)
        assert _active(catalog) == ["b1"]
        assert _active(catalog, EngineKind.MISTRALRS) == ["m1"]


def test_removing_the_active_build_hands_over(catalog: EngineCatalog) -> None:
    """To the newest official build; to an embedded wheel only when nothing else is left."""
    catalog.add_engine(an_engine("b1", installed_at=1.0))
    catalog.add_engine(an_engine("local", installed_at=3.0, provenance=Provenance.LOCAL))
    catalog.add_engine(an_engine("b2", installed_at=2.0))
    catalog.add_engine(an_engine("embedded", installed_at=9.0, provenance=Provenance.EMBEDDED))
    catalog.set_active(LLAMA, "b1")
    for gone, heir in (("b1", "local"), ("b2", "local"), ("local", "embedded")):
        catalog.remove_engine(gone)
        assert _active(catalog) == [heir]
    catalog.remove_engine("embedded")
    assert catalog.list_engines() == []


def test_removing_what_is_not_there_is_refused(catalog: EngineCatalog) -> None:
    """With the roster in the sentence."""
    catalog.add_engine(an_engine("b1"))
    with pytest.raises(EngineNotFound, match=r"'b9'.*installed: b1"):
        catalog.remove_engine("b9")


def test_a_judge_keeps_a_row_by_all_rows(catalog: EngineCatalog) -> None:
    """It sees the one that would go, too; what it raises leaves everything as it was."""
    for tag in ("b1", "b2"):
        catalog.add_engine(an_engine(tag))
    seen: list[list[tuple[str, bool]]] = []

    def judge(rows: Sequence[Engine]) -> None:
        seen.append(sorted((row.tag, row.active) for row in rows))
        if len(rows) == 1:
            raise Conflict("the last one")

    catalog.remove_engine("b1", judge)
    with pytest.raises(Conflict, match="the last one"):
        catalog.remove_engine("b2", judge)
    assert seen == [[("b1", True), ("b2", False)], [("b2", True)]]
    assert _active(catalog) == ["b2"]


def test_the_list_has_the_active_build_first_then_the_newest(catalog: EngineCatalog) -> None:
    """Kind by kind."""
    catalog.add_engine(an_engine("old", installed_at=1.0))
    catalog.add_engine(an_engine("new", installed_at=3.0))
    catalog.add_engine(an_engine("mid", installed_at=2.0))
    catalog.add_engine(an_engine("m1", kind=EngineKind.MISTRALRS))
    assert [engine.tag for engine in catalog.list_engines()] == ["old", "new", "mid", "m1"]


def test_choosing_remembers_when(catalog: EngineCatalog) -> None:
    """By whom it says so; a build that becomes active by itself was chosen by nobody, and keeps when it was."""
    catalog.add_engine(an_engine("b1"))
    catalog.set_active(LLAMA, "b1", 7.5)
    catalog.set_active(LLAMA, "b1")
    found = catalog.find_engine("b1")
    assert found is not None
    assert found.used_at == 7.5


def test_a_row_is_amended(catalog: EngineCatalog) -> None:
    """What changes is what is said, but never the tag, the kind, or who is active; the row comes back as it is now."""
    catalog.add_engine(an_engine("b1"))
    catalog.add_engine(an_engine("b2"))
    done = catalog.amend_engine(
        "b2",
        lambda row: replace(row, tag="x", kind=EngineKind.MLX, active=True, pinned=True, architectures=("llama",)),
    )
    assert (done.tag, done.kind, done.active, done.pinned, done.architectures) == ("b2", LLAMA, False, True, ("llama",))
    assert catalog.find_engine("b2") == done
    assert _active(catalog) == ["b1"]
    assert catalog.amend_engine("b1", lambda row: row).active
    with pytest.raises(EngineNotFound, match="b1, b2"):
        catalog.amend_engine("b9", lambda row: row)


def test_where_nothing_strayed_nothing_is_healed(catalog: EngineCatalog) -> None:
    """A path that somebody else's program has is his."""
    catalog.add_engine(an_engine("local", provenance=Provenance.LOCAL, server_path="/opt/engines/local/llama-server"))
    assert catalog.heal_paths() == []


def test_what_gives_way_to_a_choice_is_remembered_right_behind_it(catalog: EngineCatalog) -> None:
    """It served until then, whether somebody had chosen it or not: it is the one to go back to, and to keep."""
    for tag in ("b1", "b2"):
        catalog.add_engine(an_engine(tag))
    catalog.add_engine(an_engine("m1", kind=EngineKind.MISTRALRS))
    catalog.set_active(LLAMA, "b2", 7.5)
    used = {row.tag: row.used_at for row in catalog.list_engines()}
    assert (used["b2"], used["m1"]) == (7.5, 0.0)
    assert 7.4 < used["b1"] < 7.5
    catalog.set_active(LLAMA, "b1")
    assert {row.tag: row.used_at for row in catalog.list_engines()} == used
