"""What the headers of one model say together: whether it is a model at all, its quantisation, its fingerprint."""

import json
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from blazar.adapters.files.ggml_types import FILE_TYPES, GUESSED
from blazar.adapters.files.gguf import Header
from blazar.domain import teaching
from blazar.domain.errors import BadModelFile

SAMPLE = 1 << 20
"""Bytes hashed at either end of each file's tensor data."""

SPLIT_KEYS = ("split.count", "split.no")
"""All that is looked at of a later shard's metadata."""

# What an import would start an engine on, only to see it die (general.type, or the architecture of projectors).
_NO_MODELS = {
    "adapter": "it is a LoRA adapter, which is laid over a model and cannot be served alone",
    "mmproj": "it is a vision projector, which belongs to a model and cannot be served alone",
    "clip": "it is a vision projector, which belongs to a model and cannot be served alone",
    "imatrix": "it is an importance matrix, not a model",
    "vocab": "it holds a vocabulary and no weights",
}


def vet_model(files: Sequence[str], headers: Sequence[Header]) -> None:
    """Raise `BadModelFile` unless these headers are one servable model."""
    vet_first(files[0], headers[0])
    if not any(header.tensors for header in headers):
        raise BadModelFile(files[0], "unsupported/empty model: it holds no tensors")  # F12
    _vet_split(files, headers)
    _vet_tensors(files, headers)


def vet_first(file: str, header: Header) -> None:
    """What can be told of a model by its first header alone."""
    values = header.metadata
    arch = values.get("general.architecture")
    if not arch:
        raise BadModelFile(file, "it names no architecture (general.architecture)")
    why = _NO_MODELS.get(str(values.get("general.type"))) or _NO_MODELS.get(arch)
    if why:
        raise BadModelFile(file, why)


def vet_adapter(file: str, header: Header, arch: str) -> None:
    """What llama-server ends itself over (b11434, src/llama-adapter.cpp): a file that is no adapter, or one for other models."""
    values = header.metadata
    kind, made = str(values.get("general.type") or "model"), values.get("general.architecture")
    if kind == "adapter" and (sort := str(values.get("adapter.type") or "nameless")) != "lora":
        kind = f"{sort} adapter"
    if kind != "adapter":
        raise BadModelFile(file, teaching.adapter_is_other(kind))
    if arch and made != arch:
        raise BadModelFile(file, teaching.adapter_for_other(str(made or "-"), arch))


def _vet_split(files: Sequence[str], headers: Sequence[Header]) -> None:
    """What the headers say of the split must agree with the names, or the engine loads another set than we counted."""
    total = len(files)
    for index, (file, header) in enumerate(zip(files, headers, strict=True)):
        count, number = header.metadata.get("split.count", 0), header.metadata.get("split.no", 0)
        if total == 1 and count in (0, 1):
            return
        if total == 1:
            raise BadModelFile(
                file, f"it is one of {count} shards, but its name lacks the -00001-of-000NN.gguf that engines need"
            )
        if (count, number) != (total, index):
            raise BadModelFile(
                file, f"its name says shard {index + 1} of {total}, its header says number {number} (from 0) of {count}"
            )


def _vet_tensors(files: Sequence[str], headers: Sequence[Header]) -> None:
    """Every tensor once, and as many as the first shard promises."""
    if len(headers) == 1:
        return
    names = Counter(tensor.name for header in headers for tensor in header.tensors)
    name, times = names.most_common(1)[0]
    if times > 1:
        raise BadModelFile(files[0], f"the tensor '{name}' stands in more than one shard")
    promised = headers[0].metadata.get("split.tensors.count", len(names))
    if promised != len(names):
        raise BadModelFile(files[0], f"it promises {promised} tensors and its shards hold {len(names)}")


def quant_name(headers: Sequence[Header]) -> str:
    """`general.file_type` by name, else the tensor type that most bytes are of."""
    number = headers[0].metadata.get("general.file_type")
    if isinstance(number, int) and (name := FILE_TYPES.get(number & ~GUESSED)):
        return name
    sizes: Counter[str] = Counter()
    for header in headers:
        for tensor in header.tensors:
            sizes[tensor.type] += tensor.size
    return sizes.most_common(1)[0][0]


def fingerprint(files: Sequence[str], headers: Sequence[Header]) -> str:
    """A hex SHA-256 over what tells models apart, in milliseconds instead of the minutes that a whole file takes.

    Hashed are, of each file in order: its size, the metadata that is kept (sorted by key), the lengths of skipped
    arrays, the tensor table, and the first and last MiB of its tensor data. It is a fingerprint to recognise a model
    by, not proof that no byte was changed in between.
    """
    digest = sha256(b"blazar gguf fingerprint 1\n")
    for file, header in zip(files, headers, strict=True):
        facts = [header.file_size, sorted(header.metadata.items()), sorted(header.lengths.items())]
        digest.update(json.dumps(facts, separators=(",", ":")).encode())
        for tensor in header.tensors:
            digest.update(repr(tuple(tensor)).encode())
        for sample in _samples(file, header):
            digest.update(sample)
    return digest.hexdigest()


def _samples(file: str, header: Header) -> list[bytes]:
    """Both ends of the tensor data; all of it where it is short."""
    start = header.data_start
    end = start + (header.tensors[-1].offset + header.tensors[-1].size if header.tensors else 0)
    tail = max(start + SAMPLE, end - SAMPLE)
    with Path(file).open("rb", buffering=0) as data:
        data.seek(start)
        samples = [data.read(min(SAMPLE, end - start))]
        if tail < end:
            data.seek(tail)
            samples.append(data.read(end - tail))
    return samples
