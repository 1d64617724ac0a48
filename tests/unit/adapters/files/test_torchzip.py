"""Checkpoints of PyTorch, whose pickle is never run."""

import pickle
import zipfile
from pathlib import Path

import pytest

from blazar.adapters.files.torchzip import LARGEST_PICKLE, fingerprint, names_in
from blazar.domain.errors import BadWeights, NotFound
from tests.support.safetensors_files import CHECKPOINT, torch_zip


def test_the_names_of_the_tensors_are_found(tmp_path: Path) -> None:
    """Among other words."""
    assert set(CHECKPOINT) <= names_in(str(torch_zip(tmp_path / "m.ckpt", list(CHECKPOINT))))


class _Harm:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return open, ("harmed", "w")


def test_a_pickle_is_never_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it would do when loaded does not happen."""
    monkeypatch.chdir(tmp_path)
    with zipfile.ZipFile("m.ckpt", "w") as archive:
        archive.writestr("a/data.pkl", pickle.dumps(_Harm()))
    names_in("m.ckpt")
    assert not (tmp_path / "harmed").exists()


def test_what_is_no_checkpoint_is_refused(tmp_path: Path) -> None:
    """No archive, one without a table, one whose table unpacks to more than any has, a damaged one."""
    (tmp_path / "none.ckpt").write_bytes(b"\x80\x02}q\x00.")
    with zipfile.ZipFile(tmp_path / "other.ckpt", "w") as archive:
        archive.writestr("readme", "hello")
    with zipfile.ZipFile(tmp_path / "bomb.ckpt", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/data.pkl", bytes(LARGEST_PICKLE + 1))
    with zipfile.ZipFile(tmp_path / "bad.ckpt", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/data.pkl", b"model" * 1000)
    data = bytearray((tmp_path / "bad.ckpt").read_bytes())
    data[42:50] = b"\xff" * 8
    (tmp_path / "bad.ckpt").write_bytes(data)
    for name, why in (("none", "no checkpoint"), ("other", "no data.pkl"), ("bomb", "larger than"), ("bad", "damaged")):
        with pytest.raises(BadWeights, match=why):
            names_in(str(tmp_path / f"{name}.ckpt"))
    with pytest.raises(NotFound):
        names_in(str(tmp_path / "gone.ckpt"))


def test_a_fingerprint_is_of_size_and_both_ends(tmp_path: Path) -> None:
    """In milliseconds, however large."""
    path = tmp_path / "m.ckpt"
    path.write_bytes(b"a" * 100)
    first = fingerprint(str(path))
    assert first[0] == 100
    path.write_bytes(b"a" * 99 + b"b")
    assert fingerprint(str(path)) != first
