"""What the headers of one model say together."""

from pathlib import Path
from typing import Any

import pytest

from blazar.adapters.files.gguf import read_header
from blazar.adapters.files.gguf_facts import SAMPLE, fingerprint, quant_name, vet_adapter, vet_model
from blazar.domain import teaching
from blazar.domain.errors import BadModelFile
from tests.support.gguf_files import U16, Gguf, Row, Value, save_shards, tiny


def _print(path: Path) -> str:
    return fingerprint([str(path)], [read_header(str(path))])


def _quant(path: Path, file: Gguf) -> str:
    return quant_name([read_header(str(file.save(path)))])


@pytest.mark.parametrize(
    ("file_type", "name"),
    [(0, "F32"), (15, "Q4_K_M"), (38, "MXFP4_MOE"), (1024 + 7, "Q8_0"), (500, "F16"), (None, "F16"), ("x", "F16")],
)
def test_the_quantisation_has_the_name_people_use(tmp_path: Path, file_type: Any, name: str) -> None:
    """general.file_type decides; where it says nothing known, the type that most bytes are of."""
    assert _quant(tmp_path / "m.gguf", tiny().having(general__file_type=file_type)) == name


@pytest.mark.parametrize(
    ("facts", "why"),
    [
        ({}, teaching.adapter_is_other("model")),
        ({"general__type": "model"}, teaching.adapter_is_other("model")),
        ({"general__type": "mmproj"}, teaching.adapter_is_other("mmproj")),
        ({"general__type": "adapter"}, teaching.adapter_is_other("nameless adapter")),
        ({"general__type": "adapter", "adapter__type": "ia3"}, teaching.adapter_is_other("ia3 adapter")),
        (
            {"general__type": "adapter", "adapter__type": "lora", "general__architecture": "qwen2"},
            teaching.adapter_for_other("qwen2", "llama"),
        ),
    ],
)
def test_what_cannot_be_laid_over_a_model_is_no_adapter(tmp_path: Path, facts: dict[str, str], why: str) -> None:
    """The engine would end itself over each of them."""
    file = str(tiny().having(**facts).save(tmp_path / "l.gguf"))
    with pytest.raises(BadModelFile) as caught:
        vet_adapter(file, read_header(file), "llama")
    assert caught.value.why == why


def test_an_adapter_is_taken(tmp_path: Path) -> None:
    """One for the model's architecture; for any where that is unknown."""
    made = {"general__type": "adapter", "adapter__type": "lora"}
    for arch, asked in (("llama", "llama"), ("qwen2", "")):
        file = str(tiny().having(**made, general__architecture=arch).save(tmp_path / f"{arch}.gguf"))
        vet_adapter(file, read_header(file), asked)


def test_the_fingerprint_knows_a_model_again_and_tells_others_apart(tmp_path: Path) -> None:
    """The path plays no part; metadata, names and weights do."""
    first = _print(tiny().save(tmp_path / "a.gguf"))
    assert _print(tiny().save(tmp_path / "folder" / "b.gguf")) == first
    others = [tiny().having(general__name="Other"), Gguf(tiny().pairs, tiny().rows, noise=1), tiny(blocks=3)]
    prints = {_print(other.save(tmp_path / f"{index}.gguf")) for index, other in enumerate(others)}
    assert len(prints | {first}) == 4
    assert len(first) == 64


def test_the_fingerprint_samples_both_ends_of_the_weights(tmp_path: Path) -> None:
    """A byte in the first or last MiB counts; one in the middle of a large file does not, as documented."""
    whole = Gguf(tiny().pairs, [Row("a", (SAMPLE,))]).build()
    path = tmp_path / "m.gguf"

    def changed(at: int) -> str:
        data = bytearray(whole)
        data[at] ^= 1
        path.write_bytes(data)
        read_header.__globals__["_read"].cache_clear()
        return _print(path)

    start = len(whole) - 4 * SAMPLE
    same = changed(start + 2 * SAMPLE)
    assert changed(start + 2 * SAMPLE + 1) == same
    assert len({same, changed(start), changed(start + SAMPLE - 1), changed(len(whole) - 1)}) == 4


@pytest.mark.parametrize(
    ("file", "why"),
    [
        (tiny().having(general__architecture=None), "names no architecture"),
        (tiny().having(general__type="adapter"), "LoRA adapter"),
        (tiny().having(general__type="mmproj"), "vision projector"),
        (tiny(arch="clip"), "vision projector"),
        (Gguf(tiny().pairs), "unsupported/empty model"),
        (tiny().having(split__count=Value(U16, 3), split__no=Value(U16, 1)), "one of 3 shards"),
    ],
)
def test_what_is_no_model_of_its_own_is_refused(tmp_path: Path, file: Gguf, why: str) -> None:
    """Better here than as an engine that dies while loading (F12)."""
    path = str(file.save(tmp_path / "m.gguf"))
    with pytest.raises(BadModelFile, match=why):
        vet_model([path], [read_header(path)])


def test_a_shard_set_that_agrees_with_its_names_is_a_model(tmp_path: Path) -> None:
    """Numbers, counts and tensors fit."""
    files = list(map(str, save_shards(tmp_path, "m", 3)))
    vet_model(files, [read_header(file) for file in files])


def test_a_shard_set_whose_headers_disagree_is_refused(tmp_path: Path) -> None:
    """Swapped names, a shard of another set, a tensor twice, a tensor too few."""
    one, two, three = map(str, save_shards(tmp_path, "m", 3))
    headers = [read_header(file) for file in (one, two, three)]
    with pytest.raises(BadModelFile, match=r"name says shard 2 of 3, its header says number 2 \(from 0\) of 3"):
        vet_model([one, two, three], [headers[0], headers[2], headers[1]])
    with pytest.raises(BadModelFile, match="shard 1 of 2, its header says number 0"):
        vet_model([one, two], headers[:2])
    twice = [headers[0], headers[1]._replace(tensors=headers[0].tensors), headers[2]]
    with pytest.raises(BadModelFile, match="more than one shard"):
        vet_model([one, two, three], twice)
    fewer = [headers[0], headers[1]._replace(tensors=()), headers[2]]
    with pytest.raises(BadModelFile, match="promises 3 tensors and its shards hold 2"):
        vet_model([one, two, three], fewer)
