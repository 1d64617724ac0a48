"""What removes, copies, imports and creates keeps to the turns that pulls keep to."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from blazar.adapters.files.folders import Folders
from blazar.application.models import name_turns as module
from blazar.application.models.create_model import Wish
from blazar.composition.changing import copier, copying, creator, importer, name_turns, remover
from blazar.composition.local import Local
from blazar.composition.pulling import Shelf
from blazar.domain.errors import Busy, Conflict
from blazar.domain.overlay import Overlay
from tests.support.gguf_files import tiny


@pytest.fixture
def local(tmp_path: Path) -> "Local":
    file = tmp_path / "m.gguf"
    file.write_bytes(tiny().build())
    local = Local(Folders(tmp_path / "config.toml", tmp_path / "data"), {}, lambda _: ())
    importer(local)(str(file), "d:1")
    return local


def _create(local: Local) -> Any:
    return asyncio.run(creator(local)(Wish("e", Overlay(base="d:1", system="x"))))


def _copy(local: Local) -> Any:
    shelf = Shelf(local.catalog, local.weights, local.overlays, local.clock)
    return asyncio.run(copying(shelf, name_turns(local.folders))("d:1", "e"))


CHANGES: dict[str, Callable[[Local], Any]] = {
    "rm": lambda local: asyncio.run(remover(local)("d:1")),
    "cp": lambda local: copier(local)("d:1", "e"),
    "copy": _copy,
    "create": _create,
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_name_that_is_being_entered_is_left_alone(local: Local, change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model that is copied or created from counts as well: its weights and its words are of one version."""
    monkeypatch.setattr(module, "MOST_LOOKS", 0)
    try:
        with name_turns(local.folders)("d:1"), pytest.raises(Busy):
            CHANGES[change](local)
        assert [row.name for row in local.catalog.list_models()] == ["d:1"]
        CHANGES[change](local)
        assert [row.name for row in local.catalog.list_models()] == ([] if change == "rm" else ["d:1", "e"])
    finally:
        local.close()


def test_a_name_that_is_imported_is_claimed_too(local: Local, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever name it comes to."""
    monkeypatch.setattr(module, "MOST_LOOKS", 0)
    try:
        with name_turns(local.folders)("m"), pytest.raises(Busy):
            importer(local)(str(tmp_path / "m.gguf"))
        with pytest.raises(Conflict):
            copier(local)("d:1", "D:1")  # both names are one turn
    finally:
        local.close()
