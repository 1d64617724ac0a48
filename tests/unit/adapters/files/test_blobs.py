"""Blobs on disk: checked, laid out, swept."""

import hashlib
import os
from pathlib import Path

import pytest

from blazar.adapters.files.blobs import KEPT_SECS, DiskBlobs
from blazar.adapters.files.kept import SPARE
from blazar.domain.errors import BlazarError, Malformed, NotFound
from tests.fakes.disk import FakeDisk
from tests.fakes.entropy import CountingEntropy

DATA = b"GGUF and more"
HEX = hashlib.sha256(DATA).hexdigest()
DIGEST = f"sha256:{HEX}"


class Side:
    """A folder, its clock and what overlays name."""

    def __init__(self, folder: Path, **disk: int) -> None:
        self.folder, self.now, self.held = folder, 0.0, [""]
        self.blobs = DiskBlobs(folder, FakeDisk(**disk), CountingEntropy(), lambda: self.now, lambda: self.held)

    def send(self, digest: str = DIGEST, data: bytes = DATA) -> Path:
        intake = self.blobs.begin(digest)
        try:
            intake.write(data)
            assert intake.size == len(data)
            intake.keep(digest)
        finally:
            intake.discard()
        return self.folder / f"sha256-{digest[7:]}"


@pytest.fixture
def side(tmp_path: Path) -> Side:
    return Side(tmp_path / "blobs")


def test_a_blob_is_a_plain_file(side: Side) -> None:
    """Named by its digest, in either of ollama's spellings (D12)."""
    assert not side.blobs.has(DIGEST)
    path = side.send()
    assert path.read_bytes() == DATA
    assert side.blobs.has(DIGEST)
    assert side.blobs.has(f"sha256-{HEX}")
    assert side.blobs.path_of(DIGEST) == str(path)


def test_other_bytes_are_not_kept(side: Side) -> None:
    """The sentence names what came."""
    with pytest.raises(Malformed, match=hashlib.sha256(b"other").hexdigest()):
        side.send(data=b"other")
    assert not side.blobs.has(DIGEST)
    assert not [*side.folder.rglob("*")][1:]


@pytest.mark.parametrize(
    "digest", ["", "sha256:", f"sha256:{HEX[:-1]}", f"sha256:{HEX.upper()}", f"md5:{HEX}", f"../{HEX}"]
)
def test_what_is_no_digest_is_no_path(side: Side, digest: str) -> None:
    """Nothing outside the folder can be asked for."""
    for ask in (side.blobs.has, side.blobs.begin, side.blobs.path_of):
        with pytest.raises(Malformed, match="digest"):
            ask(digest)


def test_what_does_not_fit_is_refused_before_it_is_sent(tmp_path: Path) -> None:
    """By the length that was announced."""
    with pytest.raises(BlazarError, match="no room"):
        Side(tmp_path, room=SPARE + 9).blobs.begin(DIGEST, 10)


def test_laid_out_files_are_links_in_one_folder(side: Side) -> None:
    """Under the client's names; afterwards nothing of it stays but the blob."""
    path = side.send()
    with side.blobs.laid_out({"a Q4.gguf": DIGEST, "mmproj-a.gguf": DIGEST}) as laid:
        assert [Path(file).name for file in laid.values()] == ["a Q4.gguf", "mmproj-a.gguf"]
        assert len({Path(file).parent for file in laid.values()}) == 1
        assert all(path.samefile(file) for file in laid.values())
    assert path.stat().st_nlink == 1
    assert not [*(side.folder / ".laid").iterdir()]


@pytest.mark.parametrize("name", ["../a.gguf", "a/b.gguf", "", ".a", "a\x00", "a" * 300, "C:\\a.gguf"])
def test_a_name_is_no_path(side: Side, name: str) -> None:
    """Whatever a client calls its file (J6)."""
    side.send()
    with pytest.raises(Malformed, match="name"), side.blobs.laid_out({name: DIGEST}):
        pass


def test_a_blob_that_is_not_there_is_named(side: Side) -> None:
    """With the route that takes it."""
    with pytest.raises(NotFound, match="/api/blobs/"), side.blobs.laid_out({"a.gguf": DIGEST}):
        pass
    with pytest.raises(NotFound):
        side.blobs.path_of(DIGEST)


def test_a_blob_that_became_nothing_goes_after_a_day(side: Side) -> None:
    """One that is a model, or an adapter of one, stays; parts of uploads that a crash cut go, too."""
    other = f"sha256:{hashlib.sha256(b'b').hexdigest()}"
    path = side.send()
    side.now = path.stat().st_mtime + KEPT_SECS + 1
    side.held = [str(path)]
    side.blobs.begin(other).discard()
    assert path.exists()
    side.held = []
    model = side.folder / "model.gguf"
    os.link(path, model)
    side.blobs.begin(other).discard()
    assert path.exists()
    model.unlink()
    left = side.blobs.begin(other)
    left.write(b"half")
    side.now = (side.folder / ".parts").stat().st_mtime + 2 * KEPT_SECS
    side.blobs.begin(other).discard()
    assert not path.exists()
    assert not [*(side.folder / ".parts").iterdir()]
    left.discard()
