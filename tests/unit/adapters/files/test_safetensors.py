"""Headers of safetensors, right ones and those made to hurt: each is refused with a sentence, without a large allocation."""

import struct
import tracemalloc
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blazar.adapters.files.safetensors import LARGEST_HEADER, SAMPLE, read_safetensors
from blazar.domain.errors import BadWeights, NotFound
from tests.support.safetensors_files import BODY, header_of, packed, safetensors

ROW: dict[str, Any] = {"dtype": "F16", "shape": [2, 2], "data_offsets": [0, 8]}


def one(**changes: Any) -> dict[str, Any]:
    return {"a": ROW | changes}


CORPUS: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "it is empty"),
    "seven bytes": (bytes(7), "within its first 8 bytes"),
    "length beyond the file": (packed(b"{}", data=0, length=99), "claims 99 bytes and 2 are left"),
    "length of 2^64-1": (packed(b"{}", data=0, length=2**64 - 1), "bytes and 2 are left"),
    "git lfs pointer": (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "Git LFS pointer"),
    "web page": (b"<!DOCTYPE html><html></html>", "web page"),
    "zip": (b"PK\x03\x04" + bytes(30), "ZIP archive"),
    "no header": (packed(b"", data=9), "not JSON"),
    "no JSON": (packed(b"{]", data=0), "not JSON"),
    "a list": (packed(b"[]", data=0), "no JSON object"),
    "deep": (packed(b'{"a":' + b"[" * 100_000, data=0), "nested too deeply"),
    "a row that is none": (packed(b'{"a": 1}', data=0), "is no object"),
    "no shape": (packed(one(shape=None), data=8), "has no shape"),
    "shape of text": (packed(one(shape=["2"]), data=8), "has no shape"),
    "shape of truth": (packed(one(shape=[True]), data=8), "has no shape"),
    "negative shape": (packed(one(shape=[-1]), data=8), "has no shape"),
    "nine dimensions": (packed(one(shape=[1] * 9), data=8), "has no shape"),
    "no type": (packed(one(dtype=None), data=8), "has no type"),
    "long type": (packed(one(dtype="F" * 33), data=8), "has no type"),
    "a type that is no word": (packed(one(dtype="\ud800"), data=8), "has no type"),
    "rows over each other": (packed(one() | {"b": ROW}, data=8), "lie over each other"),
    "one offset": (packed(one(data_offsets=[0]), data=8), "where it lies"),
    "offsets backwards": (packed(one(data_offsets=[8, 0]), data=8), "where it lies"),
    "offsets of text": (packed(one(data_offsets=["0", "8"]), data=8), "where it lies"),
    "beyond the data": (packed(one(), data=7), "download is incomplete"),
    "too many bytes": (packed(one(data_offsets=[0, 10]), data=10), "which its shape and type do not come to"),
    "a shape that overflows": (packed(one(shape=[2**62, 2**62]), data=8), "which its shape and type do not come to"),
}


@pytest.mark.parametrize("name", CORPUS)
def test_hostile_headers_are_refused(tmp_path: Path, name: str) -> None:
    """By a sentence that names the file."""
    data, why = CORPUS[name]
    path = tmp_path / "model.safetensors"
    path.write_bytes(data)
    with pytest.raises(BadWeights, match=why) as refused:
        read_safetensors(str(path))
    assert str(refused.value).startswith(str(path))


def test_a_header_of_gigabytes_is_not_read(tmp_path: Path) -> None:
    """A sparse file can promise anything."""
    path = tmp_path / "model.safetensors"
    with path.open("wb") as file:
        file.write(struct.pack("<Q", LARGEST_HEADER + 1))
        file.truncate(8 << 30)
    tracemalloc.start()
    with pytest.raises(BadWeights, match="more than 16 MiB"):
        read_safetensors(str(path))
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_a_header_is_read_and_its_data_is_not(tmp_path: Path) -> None:
    """Names, shapes, types, bytes; of the data only both ends, for the fingerprint."""
    header = read_safetensors(str(safetensors(tmp_path / "m.safetensors", metadata={"format": "pt"})))
    assert [row.name for row in header.tensors] == list(BODY)
    assert header.tensors[0].shape == (32, 64)
    assert header.tensors[0].bytes == 32 * 64 * 2
    assert header.metadata == {"format": "pt"}
    sparse = tmp_path / "big.safetensors"
    rows = header_of({"a": ("F16", (1 << 20, 1 << 10))})
    sparse.write_bytes(packed(rows, data=0))
    with sparse.open("r+b") as file:
        file.truncate(sparse.stat().st_size + (2 << 30))
    tracemalloc.start()
    assert read_safetensors(str(sparse)).tensors[0].bytes == 2 << 30
    assert tracemalloc.get_traced_memory()[1] < 8 * SAMPLE
    tracemalloc.stop()


def test_an_unknown_type_is_believed(tmp_path: Path) -> None:
    """A format of tomorrow; its bytes must lie in the file all the same."""
    path = tmp_path / "m.safetensors"
    path.write_bytes(packed(one(dtype="F3_NEW"), data=8))
    assert read_safetensors(str(path)).tensors[0].type == "F3_NEW"


def test_a_fingerprint_tells_models_apart(tmp_path: Path) -> None:
    """By header and by data; the same bytes elsewhere have the same."""
    first = read_safetensors(str(safetensors(tmp_path / "a.safetensors")))
    same = read_safetensors(str(safetensors(tmp_path / "b.safetensors")))
    other = read_safetensors(str(safetensors(tmp_path / "c.safetensors", noise=1)))
    assert first.digest == same.digest != other.digest


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    """Its size and time are asked each time."""
    path = safetensors(tmp_path / "m.safetensors")
    assert len(read_safetensors(str(path)).tensors) == len(BODY)
    safetensors(path, {"a": ("F16", (2, 2))})
    assert len(read_safetensors(str(path)).tensors) == 1
    path.unlink()
    with pytest.raises(NotFound):
        read_safetensors(str(path))


@given(st.binary(max_size=200))
def test_any_bytes_end_in_a_sentence(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    """Behind a length that is right."""
    path = tmp_path_factory.mktemp("any") / "m.safetensors"
    path.write_bytes(packed(data, data=0))
    with suppress(BadWeights):
        read_safetensors(str(path))
