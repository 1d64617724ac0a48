"""Folders in which pulls arrive."""

import errno
import hashlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from blazar.adapters.files.landing import BESIDE_MODELS, DiskLanding, landing_root
from blazar.domain.errors import Busy, StoreTrouble

KEY = "0123456789ab"


@pytest.fixture
def landing(tmp_path: Path) -> DiskLanding:
    return DiskLanding(tmp_path / "downloads", sleep=lambda _: None)


def _never() -> None:
    raise AssertionError("nobody else is there")


def test_a_folder_is_made_when_it_is_claimed(landing: DiskLanding, tmp_path: Path) -> None:
    """And is nobody's afterwards."""
    assert not (tmp_path / "downloads").exists()
    for _ in range(2):
        with landing.claim([KEY, KEY], _never):
            assert Path(landing.folder(KEY)).is_dir()


def test_who_comes_second_waits_until_the_first_is_done(landing: DiskLanding) -> None:
    """Even where the first clears the folder: a lock on a file without a name keeps nobody out."""
    waits, order = threading.Event(), list[str]()

    def second() -> None:
        with landing.claim([KEY], waits.set):
            order.append("second")

    thread = threading.Thread(target=second)
    with landing.claim([KEY], _never):
        thread.start()
        assert waits.wait(10)
        order.append("first")
        landing.clear(landing.folder(KEY))
    thread.join(10)
    assert order == ["first", "second"]


def test_who_waits_may_give_up(landing: DiskLanding) -> None:
    """By raising; what it had claimed is free again."""

    def enough() -> None:
        raise Busy("enough")

    with landing.claim([KEY], _never):
        with pytest.raises(Busy), landing.claim(["0" * 12, KEY], enough):
            pass
        with landing.claim(["0" * 12], _never):
            pass


def test_a_process_that_dies_holds_nothing(landing: DiskLanding) -> None:
    """The system lets go of its locks."""
    code = (
        "import os, sys; from pathlib import Path; from blazar.adapters.files.landing import DiskLanding\n"
        "with DiskLanding(Path(sys.argv[1])).claim([sys.argv[2]], lambda: None): os._exit(9)"
    )
    root = Path(landing.folder(KEY)).parent
    assert subprocess.run([sys.executable, "-c", code, str(root), KEY], check=False).returncode == 9
    with landing.claim([KEY], _never):
        pass


def test_sizes_and_what_a_partial_file_takes(landing: DiskLanding, tmp_path: Path) -> None:
    """A partial file is as long as the whole from the beginning: its blocks count."""
    path = tmp_path / "a[1].gguf"
    assert landing.size(str(path)) == -1
    assert landing.held(str(path)) == 0
    with (tmp_path / "a[1].gguf.part").open("wb") as partial:
        partial.write(b"x" * 8192)
        os.truncate(partial.fileno(), 1 << 30)
        partial.flush()
        os.fsync(partial.fileno())
    assert 0 < landing.held(str(path)) < 1 << 20
    path.write_bytes(b"xyz")
    assert landing.size(str(path)) == 3
    assert landing.size(str(tmp_path)) == -1


def test_a_file_that_is_here_is_linked_and_never_copied(landing: DiskLanding, tmp_path: Path) -> None:
    """One that is there already is taken for it only where it is the same."""
    source, other = tmp_path / "a", tmp_path / "b"
    source.write_bytes(b"a")
    other.write_bytes(b"a")
    target = tmp_path / "downloads" / KEY / "sub" / "x"
    assert landing.adopt(str(source), str(target))
    assert target.samefile(source)
    assert landing.adopt(str(source), str(target))
    assert not landing.adopt(str(other), str(target))
    assert not landing.adopt(str(tmp_path / "gone"), str(tmp_path / "y"))


def test_a_folder_goes_with_all_that_is_in_it(landing: DiskLanding, tmp_path: Path) -> None:
    """Again, and nothing happens; what cannot be deleted is told."""
    folder = Path(landing.folder(KEY))
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "x").write_bytes(b"x")
    landing.clear(str(folder))
    landing.clear(str(folder))
    assert not folder.exists()
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreTrouble):
        landing.clear(str(tmp_path / "file"))


def test_notes_are_whole_or_not_there(landing: DiskLanding, tmp_path: Path) -> None:
    """Beside what they are about, hidden from a listing."""
    path = str(tmp_path / "adapters" / "x")
    assert landing.note_of(path) == ""
    landing.keep_note(path, "one")
    landing.keep_note(path, "zwölf")
    assert landing.note_of(path) == "zwölf"
    assert [one.name for one in (tmp_path / "adapters").iterdir()] == [".x.json"]


def test_what_nobody_came_back_for_is_swept(landing: DiskLanding, tmp_path: Path) -> None:
    """Not what is younger, not what somebody works in, and nothing that is not ours (case H3)."""
    root = tmp_path / "downloads"
    for name in (KEY, "ba9876543210", "0" * 12, "engine-b1"):
        (root / name).mkdir(parents=True)
        (root / name / "x.part").write_bytes(b"x")
        os.utime(root / name / "x.part", (1000, 1000))
    os.utime(root / "ba9876543210" / "x.part", (3000, 3000))
    with landing.claim(["0" * 12], _never):
        landing.sweep(2000.0)
    assert {one.name for one in root.iterdir()} == {"ba9876543210", "0" * 12, "engine-b1"}
    DiskLanding(tmp_path / "none").sweep(2000.0)


def test_a_folder_in_which_nothing_came_goes_with_its_lock(landing: DiskLanding, tmp_path: Path) -> None:
    """One that failed before its first byte; what came keeps it, and who waits for it is not confused."""
    with landing.claim([KEY, "0" * 12], _never):
        (Path(landing.folder(KEY)) / "a.gguf.part").write_bytes(b"x")
    assert [folder.name for folder in (tmp_path / "downloads").iterdir()] == [KEY]


def test_a_digest_is_of_what_lies_there_now(landing: DiskLanding, tmp_path: Path) -> None:
    """Nothing for what cannot be read; who has it read may end that."""
    (tmp_path / "f").write_bytes(b"abc")
    asked: list[None] = []
    assert landing.digest(str(tmp_path / "f"), lambda: asked.append(None)) == hashlib.sha256(b"abc").hexdigest()
    assert asked
    assert landing.digest(str(tmp_path / "none"), _never) == ""
    with pytest.raises(AssertionError):
        landing.digest(str(tmp_path / "f"), _never)


def test_a_file_is_dropped(landing: DiskLanding, tmp_path: Path) -> None:
    """One that is gone is gone."""
    (tmp_path / "f").write_bytes(b"abc")
    for _ in range(2):
        landing.drop(str(tmp_path / "f"))
    assert not (tmp_path / "f").exists()


def _apart(monkeypatch: pytest.MonkeyPatch, one: Path) -> None:
    """What lies below `one` is another file system than everything else."""
    for name in ("link", "replace", "rename"):
        real = getattr(os, name)

        def way(source: str, target: str, real: Callable[[str, str], None] = real, **_: object) -> None:
            if Path(source).is_relative_to(one) != Path(target).is_relative_to(one):
                raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
            real(source, target)

        monkeypatch.setattr(os, name, way)


def test_downloads_arrive_where_a_link_leads_to_the_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the file system of the models where the usual folder is on another; no probe is left."""
    usual, models = tmp_path / "downloads", tmp_path / "models"
    models.mkdir()
    assert landing_root(usual, models) == usual
    _apart(monkeypatch, models)
    assert landing_root(usual, models) == models / BESIDE_MODELS
    assert [*usual.iterdir(), *models.iterdir()] == []


def test_a_file_system_without_hardlinks_takes_a_rename(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There files are moved; and a folder that cannot be tried is the usual one: whoever needs it tells the trouble."""
    usual, models = tmp_path / "downloads", tmp_path / "models"
    models.mkdir()
    assert landing_root(usual, tmp_path / "none") == usual

    def no_link(*_: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", no_link)
    assert landing_root(usual, models) == usual
    (tmp_path / "file").write_text("")
    assert landing_root(tmp_path / "file", models) == tmp_path / "file"
    assert list(models.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_told_as_what_it_is(tmp_path: Path) -> None:
    """Downloads are no files that clients sent."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreTrouble, match=r"^downloads cannot be written"):
        DiskLanding(tmp_path / "file").keep_note(str(tmp_path / "file" / "x"), "x")


def test_what_was_left_is_told_and_what_is_worked_on_is_not(landing: DiskLanding, tmp_path: Path) -> None:
    """By the names of the files and the room that they take; nothing changes by it. Other folders are somebody else's."""
    assert list(landing.left()) == []
    folder = Path(landing.folder(KEY))
    with landing.claim([KEY], _never):
        (folder / "a.gguf").write_bytes(b"x" * 4096)
        with (folder / "b.gguf.part").open("wb") as part:
            part.truncate(1 << 30)
        (folder / "b.gguf.part.json").write_text("{}")
        (folder / ".a.gguf.json").write_text("{}")
        assert list(landing.left()) == []
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    ((path, names, size),) = landing.left()
    assert (path, names) == (str(folder), ("a.gguf", "b.gguf"))
    assert 4096 <= size < 1 << 20
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
    (folder.parent / "engines").mkdir()
    (folder.parent / "engines" / "x.part").write_bytes(b"x")
    for file in folder.iterdir():
        if file.name != ".lock":
            file.unlink()
    assert list(landing.left()) == []
