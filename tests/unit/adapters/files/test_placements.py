"""Notes of models that are being entered, and the links that one of them left."""

import errno
from pathlib import Path

import pytest

from blazar.adapters.files.placements import DiskPlacements, unlisted
from blazar.application.ports.placements import Placement
from blazar.domain.errors import StoreTrouble
from blazar.domain.overlay import Overlay

OVERLAY = Overlay(system="x", parameters={"stop": ["a"]}, messages=(("user", "hi"),), license=("MIT",))
NOTE = Placement("a:b", "0123456789abcdef", OVERLAY)


@pytest.fixture
def models(tmp_path: Path) -> Path:
    (tmp_path / "models").mkdir()
    return tmp_path / "models"


@pytest.fixture
def placements(tmp_path: Path, models: Path) -> DiskPlacements:
    return DiskPlacements(tmp_path / "placing", models)


def _file(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_what_was_begun_is_found_until_it_ends(placements: DiskPlacements, tmp_path: Path) -> None:
    """With the overlay that was there; nothing is left behind, not even of a process that died over the note itself."""
    assert (placements.find("a:b"), placements.names()) == (None, ())
    placements.begin(NOTE, [])
    placements.begin(Placement("c", "0" * 12), [])
    assert placements.find("a:b") == NOTE
    assert placements.find("c") == Placement("c", "0" * 12, None)
    assert set(placements.names()) == {"a:b", "c"}
    draft = next((tmp_path / "placing").glob("*.json")).with_suffix(".99.tmp")
    draft.write_text("half")
    for name in ("a:b", "c", "c"):
        placements.end(name)
    assert not (tmp_path / "placing").exists()


def test_a_link_is_known_by_its_file(placements: DiskPlacements, models: Path, tmp_path: Path) -> None:
    """Links of what came, of what was there, encoders, shards and folders: all of that name, and none of another."""
    came, other = _file(tmp_path / "downloads" / "x.gguf", "came"), _file(tmp_path / "other", "other")
    names = ["a%3Ab.gguf", "a%3Ab@mmproj.gguf", "a%3Ab-00001-of-00002.gguf", "a%3Ab/model.safetensors"]
    for name in [*names, "a%3Abc.gguf", "z.gguf"]:
        (models / name).parent.mkdir(exist_ok=True)
        (models / name).hardlink_to(came)
    (models / "a%3Ab%40draft-mtp-abc.gguf").hardlink_to(other)
    (models / "a%3Ab-00002-of-00002.gguf").hardlink_to(other)
    placements.begin(NOTE, [str(came), str(tmp_path / "gone")])
    came.unlink()  # what was downloaded may be swept meanwhile
    found = {str(Path(path).relative_to(models)): folder for path, folder in placements.left("a:b")}
    assert found == {
        **dict.fromkeys(names, ""),
        "a%3Ab%40draft-mtp-abc.gguf": "",
        "a%3Ab/model.safetensors": str(models / "a%3Ab"),
    }


def test_without_a_note_only_names_that_nobody_else_makes_count(placements: DiskPlacements, models: Path) -> None:
    """What a person put there stays, whatever it is called."""
    for name in ("a.gguf", "a%40mine.gguf", "a%400123456789abcdef.gguf", "b%400123456789ab.gguf"):
        _file(models / name, name)
    ours = ["a%400123456789ab.gguf", "a%400123456789ab@mmproj.gguf"]
    for name in ours:
        _file(models / name, name)
    assert [Path(path).name for path, _ in placements.left("a")] == ours
    assert placements.left("c") == ()


def test_what_cannot_be_read_was_not_begun(placements: DiskPlacements, tmp_path: Path) -> None:
    """A note is whole or not there."""
    placements.begin(NOTE, [])
    (note,) = (tmp_path / "placing").iterdir()
    note.write_text("{}")
    assert (placements.find("a:b"), placements.names()) == (None, ())


def test_a_disk_that_refuses_is_told_in_its_own_words(models: Path, tmp_path: Path) -> None:
    """Nothing is entered then."""
    _file(tmp_path / "file", "x")
    with pytest.raises(StoreTrouble, match="what a pull has to remember"):
        DiskPlacements(tmp_path / "file" / "placing", models).begin(NOTE, [])


def test_weights_that_belong_to_nobody_are_found(models: Path) -> None:
    """Not those of a row, their encoders, what is hidden, what is no weight file, and what is somebody else's business."""
    mine = str(_file(models / "a.gguf", "1"))
    for name in ("a@mmproj.gguf", ".downloads/x/y.gguf", "adapters/l.gguf", "readme.txt"):
        _file(models / name, "12")
    stray, deep = _file(models / "b.gguf", "123"), _file(models / "c" / "d" / "e.safetensors", "1234")
    assert list(unlisted(models, {mine}, ("adapters",))) == [(str(stray), 3), (str(deep), 4)]
    assert list(unlisted(models / "none", ())) == []


def test_an_adapter_that_came_with_a_model_is_a_stray_without_it(tmp_path: Path) -> None:
    """The overlay of a row names it, or nobody does."""
    laid, stray = tmp_path / "m%40lora-0123456789ab.gguf", tmp_path / "stray.gguf"
    for path in (laid, stray):
        path.write_bytes(b"x")
    assert [path for path, _ in unlisted(tmp_path, {str(laid)})] == [str(stray)]
    assert [path for path, _ in unlisted(tmp_path, ())] == [str(laid), str(stray)]


def test_a_disk_that_takes_nothing_is_told_by_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is downloaded; one that may be written to is left as it is."""

    def touch(*_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    DiskPlacements(tmp_path / "placing", tmp_path / "models").check_writable()
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(Path, "touch", touch)
    with pytest.raises(StoreTrouble, match=r"placing.*Read-only"):
        DiskPlacements(tmp_path / "placing", tmp_path / "models").check_writable()
