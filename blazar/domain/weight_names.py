"""What the names of weight files say: shards of a set, projectors beside a model, quantisations. Opens nothing."""

import re
from collections.abc import Iterable
from typing import NamedTuple

SUFFIX = ".gguf"
_SHARD = re.compile(r"(?P<stem>.+)-(?P<number>\d{5})-of-(?P<total>\d{5})\.gguf")

# As publishers write them: `Q4_K_M`, `IQ2_XXS`, `UD-Q4_K_XL` (dynamic), `BF16`, `MXFP4_MOE`, `TQ1_0`. The last one in a name counts.
_QUANT = re.compile(
    r"(?<![A-Za-z0-9])((?:UD-)?(?:I?Q\d(?:_(?:0|1|K|NL|XXS|XS|S|M|L|XL))*|TQ\d_\d|MXFP4(?:_MOE)?|NVFP4|BF16|F16|FP16|F32|FP32))"
    r"(?![A-Za-z0-9])",
    re.IGNORECASE,
)


class Shard(NamedTuple):
    """What a file name says about its place in a set."""

    stem: str
    number: int
    total: int


def shard_of(file_name: str) -> Shard | None:
    """None for a file that stands alone."""
    match = _SHARD.fullmatch(file_name)
    return Shard(match["stem"], int(match["number"]), int(match["total"])) if match else None


def shard_name(stem: str, number: int, total: int) -> str:
    """The file name of one shard."""
    return f"{stem}-{number:05d}-of-{total:05d}{SUFFIX}"


def is_projector(file_name: str) -> bool:
    """Whether a file is named as converters name vision and audio encoders; those lie beside models and are none."""
    low = file_name.lower()
    return low.endswith(SUFFIX) and "mmproj" in low


def projector_rank(file_name: str) -> tuple[int, str]:
    """Sorts encoders by what is usually taken: f16, then bf16, then the smaller and the larger ones."""
    words = {"F16": 0, "FP16": 0, "BF16": 1, "Q8_0": 2, "F32": 3, "FP32": 3}
    return words.get(quant_of(file_name), 4), file_name.lower()


_NO_STEM = re.compile(r"mmproj|projector|encoder|model|vision|audio|clip|[._ -]+", re.IGNORECASE)


def same_model(projector: str, model: str) -> bool | None:
    """Whether an encoder's name goes with that of a model's file: they begin alike. None where it names no model (`mmproj-F16.gguf`)."""
    named, other = (_NO_STEM.sub("", _QUANT.sub("", name.removesuffix(SUFFIX))).lower() for name in (projector, model))
    return other.startswith(named) if named else None


def quant_of(file_name: str) -> str:
    """The quantisation that a file's name ends in, in capitals; "" where it names none."""
    found = _QUANT.findall(file_name)
    return str(found[-1]).upper() if found else ""


class Model(NamedTuple):
    """One model among the files of a folder: its names in shard order, what it is called, and how many shards lack."""

    quant: str
    files: tuple[str, ...]
    missing: int = 0


def models_among(paths: Iterable[str]) -> list[Model]:
    """The models that a list of paths holds, in its order; projectors, importance matrices and other files left out.

    Only names ending in `-NNNNN-of-NNNNN.gguf` make a set (F19). A shard numbered beyond its total belongs to none.
    A set with shards missing is there, with their number: it cannot be loaded.
    """
    sets: dict[tuple[str, int], set[int]] = {}
    singles: list[str] = []
    for path in paths:
        folder, _, name = path.rpartition("/")
        if not name.endswith(SUFFIX) or is_projector(name) or "imatrix" in name.lower():
            continue
        shard = shard_of(name)
        if shard is None:
            singles.append(path)
        elif 1 <= shard.number <= shard.total:
            stem = f"{folder}/{shard.stem}" if folder else shard.stem
            sets.setdefault((stem, shard.total), set()).add(shard.number)
    found = [Model(_label(path), (path,)) for path in singles]
    for (stem, total), numbers in sets.items():
        files = tuple(shard_name(stem, number, total) for number in sorted(numbers))
        found.append(Model(_label(stem), files, total - len(numbers)))
    return found


def _label(path: str) -> str:
    """The quantisation from the name, else from its folder (`Q8_0/model-00001-of-00002.gguf`), else the name itself."""
    folder, _, name = path.rpartition("/")
    return quant_of(name) or quant_of(folder) or name.removesuffix(SUFFIX)


def came_along(path: str) -> bool:
    """Whether it is the link of a LoRA that came with a model: `@lora-` after the model's name, as files spell it."""
    return "%40lora-" in path.replace("\\", "/").rpartition("/")[2]
