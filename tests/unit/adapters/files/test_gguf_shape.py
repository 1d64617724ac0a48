"""From headers to what is counted: here and far away, single and in shards."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from blazar.adapters.files import gguf_shape as module
from blazar.adapters.files.gguf_shape import REMOTE_CHUNK
from blazar.adapters.files.modeldir import DiskWeightFiles
from blazar.application.ports.remote import RemoteFile
from blazar.domain.errors import BadModelFile, BlazarError, Malformed, NotFound
from blazar.domain.fit.shape import Projector
from tests.fakes.remote import MemorySource
from tests.support.gguf_files import STRING, Gguf, Row, Value, save_shards, tiny


@pytest.fixture
def weights(tmp_path: Path) -> DiskWeightFiles:
    return DiskWeightFiles(tmp_path / "data" / "models")


def elsewhere(data: bytes, name: str = "m.gguf", size: int | None = None) -> MemorySource:
    return MemorySource(RemoteFile(name, len(data) if size is None else size, "/m"), data)


def test_a_file_and_the_same_file_elsewhere(weights: DiskWeightFiles, tmp_path: Path) -> None:
    """One shape, from bytes on disk and from bytes that somebody fetches."""
    path = tiny(blocks=3).save(tmp_path / "m.gguf")
    here = weights.shape((str(path),))
    assert (here.arch, len(here.blocks), here.trained_ctx, here.embedding) == ("llama", 3, 512, 64)
    assert sum(row.bytes for row in here.tensors) == 64 * 3 * 2 + 3 * 64 * 64 * 2 + 64 * 4
    there = weights.shape_elsewhere([elsewhere(path.read_bytes())])
    assert (there.tensors, there.blocks, there.caches) == (here.tensors, here.blocks, here.caches)


def test_shards_are_summed(weights: DiskWeightFiles, tmp_path: Path) -> None:
    """All tensors, the metadata of the first (F19); a set that contradicts itself is refused."""
    paths = save_shards(tmp_path, "big", 3)
    here = weights.shape(tuple(map(str, paths)))
    assert sum(row.bytes for row in here.tensors) == 3 * 64 * 64 * 2
    sources = [elsewhere(path.read_bytes(), path.name) for path in paths]
    assert weights.shape_elsewhere(sources).tensors == here.tensors
    mixed = [elsewhere(path.read_bytes(), path.name) for path in (paths[0], paths[2], paths[1])]
    with pytest.raises(BadModelFile, match="its header says number"):
        weights.shape_elsewhere(mixed)


def test_a_shape_is_remembered_until_its_file_changes(weights: DiskWeightFiles, tmp_path: Path) -> None:
    """By path, size and modification time."""
    path = tiny(blocks=2).save(tmp_path / "m.gguf")
    first = weights.shape((str(path),))
    assert weights.shape((str(path),)) is first
    tiny(blocks=4).save(path)
    os.utime(path, ns=(5, 5))
    assert len(weights.shape((str(path),)).blocks) == 4
    path.unlink()
    with pytest.raises(NotFound):
        weights.shape((str(path),))


def test_a_projector_beside_a_model_is_found(weights: DiskWeightFiles, tmp_path: Path) -> None:
    """The usual one of several; none in our own folder, where every model's links lie together."""
    path = str(tiny().save(tmp_path / "m.gguf"))
    assert weights.projector((path,)) is None
    assert weights.projector_file((path,)) == ""
    encoder = Gguf(
        [
            ("general.architecture", "clip"),
            ("general.type", "mmproj"),
            ("clip.projector_type", "mlp"),
            ("clip.has_vision_encoder", True),
            ("clip.vision.image_size", 224),
            ("clip.vision.patch_size", 14),
            ("clip.vision.embedding_length", 64),
            ("clip.vision.feed_forward_length", 128),
            ("clip.vision.block_count", 2),
            ("clip.vision.attention.head_count", 4),
        ],
        [Row("v.patch_embd.weight", (14, 14, 3, 64), 1)],
    )
    encoder.save(tmp_path / "mmproj-F32.gguf")
    usual = encoder.save(tmp_path / "mmproj-m-f16.gguf")
    found = weights.projector((path,))
    assert isinstance(found, Projector)
    assert found.weights_bytes == 14 * 14 * 3 * 64 * 2
    assert weights.projector_elsewhere(elsewhere(usual.read_bytes(), usual.name)) == found
    assert weights.projector_file((path,)) == str(usual)
    owned = tiny().save(weights.folder / "m.gguf")
    encoder.save(weights.folder / "mmproj-F16.gguf")
    assert weights.projector((str(owned),)) is None


def test_an_encoder_counts_for_the_model_it_belongs_to(weights: DiskWeightFiles, tmp_path: Path) -> None:
    """By the width of its rows, whatever it is called; where the file does not tell, by its name."""
    path = str(tiny().save(tmp_path / "small-Q4_0.gguf"))  # 64 wide

    def encoder(name: str, width: int, said: int = 0) -> int:
        rows = [Row("v.patch_embd.weight", (14, 14, 3, 64 + width), 1), Row("mm.2.bias", (width,), 0)]
        keys: list[Any] = [("general.architecture", "clip"), ("clip.has_vision_encoder", True)]
        Gguf([*keys, ("clip.vision.projection_dim", said)], rows if width else rows[:1]).save(tmp_path / name)
        return 14 * 14 * 3 * (64 + width) * 2 + 4 * width

    encoder("mmproj-F16.gguf", 128, 128)
    assert weights.projector((path,)) is None
    size = encoder("mmproj-Q8_0.gguf", 64, 768)  # of the LLaVA kind: what it says is another width
    found = weights.projector((path,))
    assert found is not None
    assert (found.weights_bytes, found.widths) == (size, (64,))
    (tmp_path / "mmproj-Q8_0.gguf").unlink()
    encoder("mmproj-other-F16.gguf", 0)
    assert weights.projector((path,)) is None
    size = encoder("mmproj-small-F32.gguf", 0)
    found = weights.projector((path,))
    assert found is not None
    assert (found.weights_bytes, found.widths) == (size, ())


def test_a_file_elsewhere_is_not_downloaded(weights: DiskWeightFiles) -> None:
    """What is cut short lies there so; a download of ours is not to blame."""
    data = tiny().build()
    for size in (len(data) - 1, len(data) - 3000):
        with pytest.raises(BadModelFile, match="lies there cut short") as refused:
            weights.shape_elsewhere([elsewhere(data, size=size)])
        assert "download" not in str(refused.value)


def test_only_the_header_is_read_of_a_file_elsewhere(weights: DiskWeightFiles) -> None:
    """Of a 40 GB file no more than its header, a piece beyond it at most."""
    rows = [Row("token_embd.weight", (64, 3), 1), Row("blk.0.attn_q.weight", (64, 8), 1, size=0)]
    tokens = [f"token {number}" for number in range(20_000)]
    file = tiny(blocks=1).having(tokenizer__ggml__tokens=tokens)
    data = Gguf(file.pairs, rows).build()
    source = elsewhere(data, size=40 << 30)
    weights.shape_elsewhere([source])
    assert 0 < source._at <= len(data) + REMOTE_CHUNK


HOSTILE: dict[str, bytes] = {
    "nothing": b"",
    "a page": b"<!DOCTYPE html><title>Sign in</title>" + bytes(500),
    "a magic": b"GGUF",
    "a count": Gguf(tiny().pairs, tiny().rows, tensor_count=2**40).build(),
    "pairs": Gguf(tiny().pairs, tiny().rows, pair_count=2**63).build(),
    "a key": Gguf([("k" * 70_000, 1)]).build(),
    "a text": Gguf([("general.name", Value(STRING, raw=(2**62).to_bytes(8, "little")))]).build(),
    "an array": Gguf([("a", Value(9, [1], count=2**60))]).build(),
    "no tensors": Gguf([("general.architecture", "llama")]).build(),
    "heads of zero": tiny().having(llama__attention__head_count=0).build(),
    "no architecture": tiny().having(general__architecture=None).build(),
    "a projector": Gguf([("general.architecture", "clip")], tiny().rows).build(),
    "a cut": tiny().build()[:300],
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_headers_are_refused(weights: DiskWeightFiles, what: str) -> None:
    """A typed refusal, without allocating what a header claims; whatever size the registry names for the file."""
    for size in (len(HOSTILE[what]), 40 << 30):
        with pytest.raises(BlazarError) as refused:
            weights.shape_elsewhere([elsewhere(HOSTILE[what], size=size)])
        assert isinstance(refused.value, Malformed)
        assert len(str(refused.value)) < 600


def test_the_projector_may_be_no_projector(weights: DiskWeightFiles, tmp_path: Path) -> None:
    """What is called so and is garbage is refused by its name."""
    path: Any = tiny().save(tmp_path / "m.gguf")
    (tmp_path / "mmproj.gguf").write_bytes(b"garbage")
    with pytest.raises(BadModelFile, match=r"mmproj\.gguf"):
        weights.projector((str(path),))


def test_a_projector_that_is_none_hides_no_other(weights: DiskWeightFiles, tmp_path: Path) -> None:
    """Junk, and a pipe that would be waited for, beside one that belongs to the model."""
    path = str(tiny().save(tmp_path / "m.gguf"))
    (tmp_path / "mmproj-m-f16.gguf").write_bytes(b"garbage")
    os.mkfifo(tmp_path / "mmproj-m-bf16.gguf")
    with pytest.raises(BadModelFile, match=r"mmproj-m-f16\.gguf"):
        weights.projector((path,))
    keys: list[Any] = [("general.architecture", "clip"), ("clip.has_vision_encoder", True)]
    rows = [Row("v.patch_embd.weight", (14, 14, 3, 128), 1), Row("mm.2.bias", (64,), 0)]
    Gguf(keys, rows).save(tmp_path / "mmproj-m-F32.gguf")
    found = weights.projector((path,))
    assert found is not None
    assert found.widths == (64,)


def test_the_first_shard_elsewhere_is_judged_first(weights: DiskWeightFiles) -> None:
    """No second one is asked for where it is no model's."""
    asked: list[str] = []

    def sources() -> Iterator[MemorySource]:
        for name in ("a", "b"):
            asked.append(name)
            yield elsewhere(Gguf([("general.type", "imatrix"), ("general.architecture", "llama")]).build(), name)

    with pytest.raises(BadModelFile, match="importance matrix"):
        weights.shape_elsewhere(sources())
    assert asked == ["a"]


@pytest.mark.parametrize(("bound", "value"), [("MOST_REMOTE", 700), ("MOST_REMOTE_ROWS", 3)])
def test_headers_elsewhere_are_bounded_together(
    weights: DiskWeightFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str, value: int
) -> None:
    """A set of many files may claim a large header in each."""
    fronts = [path.read_bytes() for path in save_shards(tmp_path, "big", 4)]
    weights.shape_elsewhere(elsewhere(front) for front in fronts)
    monkeypatch.setattr(module, bound, value)
    with pytest.raises(BadModelFile, match="the headers of its files are larger than"):
        weights.shape_elsewhere(elsewhere(front) for front in fronts)
