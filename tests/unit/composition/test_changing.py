"""What removes, copies, imports and creates keeps to the turns that pulls keep to."""

import asyncio
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from blazar.adapters.files.folders import Folders
from blazar.application.models import name_turns as module
from blazar.application.models.create_model import Wish
from blazar.composition.changing import copier, copying, creator, importer, loop_turns, name_turns, remover
from blazar.composition.local import Local
from blazar.composition.pulling import Shelf
from blazar.domain.errors import BadConfig, Busy, Conflict, StoreTrouble
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
    return asyncio.run(copying(shelf, loop_turns(local.folders, local.clock))("d:1", "e"))


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
    monkeypatch.setattr(module, "MOST_SECS", 0.0)
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


def _lying(local: Local) -> dict[str, bytes]:
    root = local.folders.data
    found = [path for folder in ("models", "overlays") for path in (root / folder).rglob("*")]
    return {str(path.relative_to(root)): path.read_bytes() for path in found if path.is_file()}


ONTO: dict[str, Callable[[Local], Any]] = {
    **CHANGES,
    "cp of a wordless one": lambda local: copier(local)("wordless", "f"),
    "copy over": _copy,
    "create over": _create,
}


@pytest.mark.parametrize("change", ONTO)
@pytest.mark.parametrize("trouble", ["broken", "a folder"])
def test_a_configuration_that_cannot_be_read_costs_no_model(
    local: Local, tmp_path: Path, change: str, trouble: str
) -> None:
    """A person is editing it: one sentence, and rows, links and notes as before; what is done again once it is mended is done in full."""
    config = local.folders.config_file
    try:
        other = tmp_path / "o.gguf"
        other.write_bytes(tiny(extra={"general.name": "other"}).build())
        asyncio.run(creator(local)(Wish("d:1", Overlay(base="d:1", system="mine", parameters={"top_k": 5}))))
        importer(local)(str(other), "wordless")
        if change.endswith("over"):
            importer(local)(str(other), "e")
        before, good = (local.catalog.list_models(), _lying(local)), config.read_bytes()
        config.unlink()
        config.mkdir() if trouble == "a folder" else config.write_bytes(good + b"a = [\n")
        for _ in range(2):
            with pytest.raises((BadConfig, StoreTrouble), match=r"config\.toml"):
                ONTO[change](local)
            assert (local.catalog.list_models(), _lying(local)) == before
        config.rmdir() if trouble == "a folder" else config.unlink()
        config.write_bytes(good)
        ONTO[change](local)
        words = {row.name: local.overlays.find(row.name) for row in local.catalog.list_models()}
        if change in ("cp", "copy", "copy over"):
            assert words["e"] == words["d:1"]
            override = tomllib.loads(config.read_text())["model_overrides"]
            assert override["e"] == override["d:1"]
        elif change == "rm":
            assert list(words) == ["wordless"]
            assert "mine" not in config.read_text()
    finally:
        local.close()


def test_a_model_without_words_goes_whatever_the_configuration_says(local: Local) -> None:
    """It is no matter of it."""
    local.folders.config_file.write_text("a = [\n")
    try:
        asyncio.run(remover(local)("d:1"))
        assert (local.catalog.list_models(), _lying(local)) == ([], {})
    finally:
        local.close()
