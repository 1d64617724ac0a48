"""Files made to hurt: each is refused with a sentence, in a read or two and without a large allocation (J13, F12)."""

import os
import random
import struct
import tracemalloc
from pathlib import Path

import pytest

from blazar.adapters.files.gguf import LONGEST_KEY, MOST_PAIRS, MOST_TENSORS, parse
from blazar.adapters.files.modeldir import DiskWeightFiles
from blazar.domain.errors import BadModelFile
from tests.support.counted import CountedFile
from tests.support.gguf_files import ARRAY, F32, I32, STRING, U32, U64, Gguf, Row, Value, scalar, text, tiny

MIB = 1 << 20


def _array(of: int, count: int, body: bytes = b"") -> Value:
    """An array that claims `count` elements over `body`."""
    return Value(ARRAY, raw=struct.pack("<IQ", of, count) + body)


def _with(key: str, value: object) -> bytes:
    return tiny(extra={key: value}).build()


def _one(row: Row, *more: Row) -> bytes:
    return Gguf([("general.architecture", "llama")], [row, *more]).build()


HEAD = struct.pack("<4sI", b"GGUF", 3)

# name → (bytes, a part of the sentence)
CORPUS: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "it is empty"),
    "three bytes": (b"GGU", "does not begin with"),
    "other magic": (b"GGML" + bytes(60), "does not begin with"),
    "lower-case magic": (Gguf(magic=b"gguf").build(), "does not begin with"),
    "git lfs pointer": (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "Git LFS pointer"),
    "web page": (b"<!DOCTYPE html><html></html>", "web page"),
    "zip": (b"PK\x03\x04" + bytes(30), "ZIP archive"),
    "magic alone": (b"GGUF", "first 8 bytes"),
    "half a version": (b"GGUF\x03\x00", "first 8 bytes"),
    "version 0": (Gguf(version=0).build(), "GGUF version 0"),
    "version 1": (Gguf(version=1).build(), "version 1"),
    "version 4": (Gguf(version=4).build(), "version 4"),
    "big-endian": (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "big-endian"),
    "no counts": (HEAD, "ends 8 bytes early"),
    "one count": (HEAD + bytes(12), "ends 4 bytes early"),
    "too many pairs": (Gguf(pair_count=MOST_PAIRS + 1).build(), "65537 key-value pairs, more than"),
    "2^63 pairs": (Gguf(pair_count=2**63).build(), "key-value pairs, more than"),
    "pairs beyond the file": (Gguf([("a", 1)], pair_count=60_000).build(), "do not fit"),
    "too many tensors": (Gguf(tensor_count=MOST_TENSORS + 1).build(), "1000001 tensors, more than"),
    "2^64-1 tensors": (Gguf(tensor_count=2**64 - 1).build(), "tensors, more than"),
    "tensors beyond the file": (Gguf([("a", 1)], tensor_count=900_000).build(), "do not fit"),
    "array of 2^63": (Gguf([("a", _array(U32, 2**63))]).build(), "elements and 0 bytes are left"),
    "array of 2^64-1 bytes": (Gguf([("a", _array(0, 2**64 - 1))]).build(), "elements and 0 bytes are left"),
    "array one too long": (Gguf([("a", _array(U32, 5, bytes(16)))]).build(), "5 elements and 16 bytes"),
    "texts of 2^60": (Gguf([("tokenizer.ggml.tokens", _array(STRING, 2**60))]).build(), "bytes are left"),
    "array of arrays": (Gguf([("a", _array(ARRAY, 1, struct.pack("<IQ", ARRAY, 1) * 20))]).build(), "array of arrays"),
    "array of nothing known": (Gguf([("a", _array(99, 1, bytes(8)))]).build(), "array of the unknown type 99"),
    "value of nothing known": (Gguf([("a", Value(13, raw=bytes(8)))]).build(), "unknown type 13"),
    "value cut": (Gguf([("a", Value(U64, raw=bytes(3)))]).build(), "ends 5 bytes early"),
    "text beyond the file": (Gguf([("a", Value(STRING, raw=text("x", 500)))]).build(), "claims 500 bytes and 1 are"),
    "text of 2^64-1": (Gguf([("a", Value(STRING, raw=text("x", 2**64 - 1)))]).build(), "bytes and 1 are left"),
    "token beyond the file": (
        Gguf([("tokenizer.ggml.tokens", _array(STRING, 2, text("a") + text("b", 10**12)))]).build(),
        "text in 'tokenizer.ggml.tokens' claims",
    ),
    "tokens cut": (
        Gguf([("tokenizer.ggml.tokens", _array(STRING, 3, text("aaaaaaaa") + text("bbb")))]).build(),
        "ends 8 bytes early",
    ),
    "key beyond the file": (HEAD + struct.pack("<QQ", 0, 1) + text("a", 2**62) + bytes(8), "the name of a key claims"),
    "key too long": (Gguf([("k" * (LONGEST_KEY + 1), 1)]).build(), "more than 65535"),
    "key empty": (Gguf([("", 1), ("b", 1)]).build(), "name of a key is empty"),
    "key not text": (Gguf([(b"\xff\xfe\xfd", 1)]).build(), "name of a key is not text"),
    "key with an escape": (Gguf([("a\x1b[2J", 1)]).build(), "name of a key is not printable"),
    "key twice": (Gguf([("a.b", 1), ("a.b", "x")]).build(), "'a.b' stands twice"),
    "array twice": (Gguf([("a", _array(U32, 0)), ("a", 1)]).build(), "stands twice"),
    "alignment 2^30": (_with("general.alignment", 2**30), "not a power of two"),
    "alignment 0": (_with("general.alignment", 0), "not a power of two"),
    "alignment 3": (_with("general.alignment", 3), "not a power of two"),
    "alignment in words": (_with("general.alignment", "32"), "not an unsigned 32-bit number"),
    "alignment of 64 bits": (_with("general.alignment", Value(U64, 32)), "not an unsigned 32-bit number"),
    "alignment as array": (_with("general.alignment", _array(U32, 1, bytes(4))), "not an unsigned 32-bit number"),
    "5 dimensions": (_one(Row("a", (1, 1, 1, 1, 1))), "5 dimensions"),
    "2^32-1 dimensions": (_one(Row("a", dims=2**32 - 1)), "4294967295 dimensions"),
    "dimension of 0": (_one(Row("a", (64, 0))), "impossible shape"),
    "dimensions overflow": (_one(Row("a", (2**32, 2**32), size=0)), "impossible shape"),
    "2^64-1 elements": (_one(Row("a", (2**64 - 1,), size=0)), "impossible shape"),
    "2^62 elements": (_one(Row("a", (2**62,), size=64)), "outside the file"),
    "tensor of nothing known": (_one(Row("a", kind=43)), "unknown type 43"),
    "tensor of a removed type": (_one(Row("a", kind=4)), "unknown type 4"),
    "rows of half blocks": (_one(Row("a", (33,), kind=2)), "whole number of Q4_0 blocks"),
    "tensor unaligned": (_one(Row("a", offset=8)), "not aligned to 32"),
    "tensors overlap": (_one(Row("a"), Row("b", offset=0)), "overlaps the tensor before it"),
    "tensors out of order": (_one(Row("a", offset=256), Row("b", offset=0)), "out of order"),
    "tensor beyond 2^64": (_one(Row("a", offset=2**64 - 32)), "outside the file"),
    "tensor outside": (_one(Row("a", offset=2**40)), "outside the file"),
    "data cut by one byte": (tiny().build()[:-1], "the download is incomplete"),
    "data missing": (_one(Row("a", (4096,), size=0)), "the download is incomplete"),
    "tensor twice": (_one(Row("a"), Row("a")), "'a' stands twice"),
    "tensor name too long": (_one(Row("n" * 128)), "more than 127"),
    "tensor name empty": (_one(Row("")), "name of a tensor is empty"),
    "tensor name not text": (_one(Row(b"\x80\x80")), "not text"),
    "tensor name with a newline": (_one(Row("a\nb")), "not printable"),
    "table cut": (Gguf([("a", 1)], [Row("x" * 40), Row("y" * 40)]).build()[:120], "incomplete"),
    "dimensions cut": (_one(Row("a", dims=4), Row("b"))[:110], "early"),
    "2^32-1 blocks": (_with("llama.block_count", 2**32 - 1), "block_count is 4294967295, not"),
    "4097 blocks": (_with("llama.block_count", 4_097), "block_count is 4097"),
    "no blocks": (_with("llama.block_count", 0), "block_count is 0"),
    "blocks in words": (_with("llama.block_count", "two"), "block_count is a text"),
    "blocks as a truth": (_with("llama.block_count", True), "block_count is True"),
    "projector blocks": (_with("clip.vision.block_count", 10**6), "clip.vision.block_count is 1000000"),
    "heads in words": (_with("llama.attention.head_count_kv", ["a", "b"]), "head_count_kv is an array of 2"),
    "heads below zero": (_with("llama.attention.head_count", Value(I32, -4)), "head_count is -4"),
    "heads a block below zero": (_with("llama.attention.head_count_kv", [4, -4]), "head_count_kv is an array of 2"),
    "no heads at all": (_with("llama.attention.head_count_kv", Value(ARRAY, [], I32)), "is an array of 0"),
    "heads of 5000 blocks": (_with("llama.attention.head_count_kv", [1] * 5_000), "has 5000 elements"),
    "blocks of 5000 elements": (_with("llama.block_count", [1] * 5_000), "is an array"),
    "window of 2^63": (_with("llama.context_length", Value(U64, 2**63)), "context_length is 9223372036854775808"),
    "window as fraction": (_with("llama.context_length", Value(F32, 0.5)), "context_length is 0.5"),
    "architecture a number": (_with("general.architecture", 7), "general.architecture is 7, not a text"),
    "architecture empty": (_with("general.architecture", ""), "not the name of an architecture"),
    "architecture endless": (_with("general.architecture", "a" * 65), "not the name of an architecture"),
    "architecture a path": (_with("general.architecture", "../../etc"), "not the name of an architecture"),
    "architecture a command": (_with("general.architecture", "a b;c"), "not the name of an architecture"),
    "template a number": (_with("tokenizer.chat_template", 1), "chat_template is 1, not a text"),
}


@pytest.mark.parametrize("name", CORPUS)
def test_a_hostile_file_is_refused_with_a_sentence(name: str) -> None:
    """One line that names the file and the reason, after at most two reads and below 10 MB."""
    data, part = CORPUS[name]
    file = CountedFile(data)
    tracemalloc.start()
    try:
        with pytest.raises(BadModelFile) as caught:
            parse(file, len(data), "m.gguf")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    sentence = str(caught.value)
    assert sentence.startswith("m.gguf is not a usable GGUF model: ")
    assert part in caught.value.why
    assert "\n" not in sentence
    assert len(sentence) < 300
    assert file.reads <= 2
    assert peak < 10 * MIB


def _sparse(head: bytes, size: int) -> CountedFile:
    """`head`, and nothing but zeros up to `size`."""
    return CountedFile(head, size)


@pytest.mark.parametrize(
    ("head", "part"),
    [
        (
            HEAD + struct.pack("<QQ", 0, 1) + text("a") + struct.pack("<I", STRING) + text("", 65 * MIB),
            "more than 67108864",
        ),
        (HEAD + struct.pack("<QQ", 0, 1) + text("a") + struct.pack("<IIQ", ARRAY, STRING, 2**32), "any vocabulary"),
        (HEAD + struct.pack("<QQ", 0, 50_000), "name of a key is empty"),
        (HEAD + struct.pack("<QQ", 1_000_000, 0), "name of a tensor is empty"),
    ],
    ids=["text", "texts", "pairs", "tensors"],
)
def test_a_sparse_terabyte_promises_in_vain(head: bytes, part: str) -> None:
    """Where the file is large enough for any claim, the fixed bounds hold, before a second read."""
    file = _sparse(head, 1 << 40)
    with pytest.raises(BadModelFile, match=part):
        parse(file, file.size, "m.gguf")
    assert file.bytes_read <= 2 * MIB


def test_a_vocabulary_cannot_make_us_read_for_ever() -> None:
    """Many texts of just below the buffer's size: reading ends at 512 MiB."""

    class Endless(CountedFile):
        def read(self, count: int, /) -> bytes:
            super().read(count)
            return block[:count]

    # Every eight bytes say "a text of 900 000 bytes"; the walk never runs out of file.
    block = struct.pack("<Q", 900_000) * (MIB // 8 + 2)
    head = HEAD + struct.pack("<QQ", 0, 1) + text("tokenizer.x") + struct.pack("<IIQ", ARRAY, STRING, 4_000_000)

    class Opened(Endless):
        def read(self, count: int, /) -> bytes:
            if self._at == 0:
                return head + super().read(count)[: count - len(head)]
            return super().read(count)

    file = Opened(b"", 1 << 44)
    with pytest.raises(BadModelFile, match="larger than 512 MiB"):
        parse(file, file.size, "m.gguf")


def test_metadata_that_is_too_much_in_all_is_refused() -> None:
    """Two texts of 40 MiB are each allowed and together are not."""
    one = text("", 40 * MIB)
    head = HEAD + struct.pack("<QQ", 0, 2) + text("a") + struct.pack("<I", STRING) + one
    second = text("b") + struct.pack("<I", STRING) + one
    data = head + bytes(40 * MIB) + second
    file = _sparse(data, len(data) + 40 * MIB)
    with pytest.raises(BadModelFile, match="metadata is larger than 64 MiB"):
        parse(file, file.size, "m.gguf")


def test_a_file_that_shrinks_while_it_is_read_is_refused() -> None:
    """Somebody truncated it after we asked for its size."""
    data = tiny().build()
    with pytest.raises(BadModelFile, match="became shorter"):
        parse(CountedFile(data[:40]), len(data), "m.gguf")


INTERESTING = (0, 1, 2, 7, 31, 255, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**62, 2**63 - 1, 2**63, 2**64 - 1)


def _mutate(data: bytes, rng: random.Random) -> bytes:
    """One to four changes, mostly in the header: flips, planted numbers, cuts, doubled and dropped pieces."""
    out = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(min(len(out), 900)) if rng.random() < 0.95 else rng.randrange(len(out))
        kind = rng.randrange(6)
        if kind == 0:
            out[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            out[at : at + 8] = struct.pack("<Q", rng.choice(INTERESTING))
        elif kind == 2:
            out[at : at + 4] = struct.pack("<I", rng.choice(INTERESTING) & 0xFFFFFFFF)
        elif kind == 3 and len(out) > 64:
            del out[max(at, 32) :]
        elif kind == 4:
            out[at:at] = out[at : at + rng.randrange(1, 40)]
        else:
            del out[at : at + rng.randrange(1, 12)]
        if not out:
            return b"G"
    return bytes(out)


def test_no_mutation_of_a_file_does_worse_than_a_refusal(tmp_path: Path) -> None:
    """Whatever is planted in a header, reading it ends in facts or in BadModelFile, and in bounded memory."""
    rounds = 40_000 if os.environ.get("BLAZAR_FUZZ") == "1" else 400
    rng = random.Random(20_261_129)
    base = tiny(
        blocks=1,
        extra={
            "llama.attention.head_count_kv": [4, 4],
            "split.count": Value(U32, 1),
            "a.nested": Value(ARRAY, raw=struct.pack("<IQ", U32, 2) + scalar(U32, 1) * 2),
        },
    ).build()
    weights, path = DiskWeightFiles(tmp_path / "models"), tmp_path / "m.gguf"
    read = refused = several_lines = 0
    tracemalloc.start()
    try:
        for index in range(rounds):
            data = _mutate(base, rng)
            path.write_bytes(data)
            os.utime(path, ns=(index, index))  # never the header of the file before, from the cache
            try:
                weights.inspect(str(path))
                read += 1
            except BadModelFile as error:
                refused += 1
                several_lines += "\n" in str(error)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert several_lines == 0
    assert refused > rounds // 2
    assert read > rounds // 50  # the mutations are not all crude
    assert peak < 16 * MIB
