"""Which files of a repository make one model, by their names: shards and a projector, a folder that engines are given whole, an adapter.

Pure. Decides nothing about quantisations; those are told apart in `weight_names`.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from blazar.domain.weight_names import SUFFIX, Model, models_among, projector_rank, same_model

SAFETENSORS: Final = ".safetensors"
CONFIG: Final = "config.json"
ADAPTER_CONFIG: Final = "adapter_config.json"
ADAPTER_WEIGHTS: Final = "adapter_model.safetensors"
PIPELINE: Final = "model_index.json"
"""Of a set of folders that the diffusers library reads."""
MOST_BESIDE: Final = 256
LARGEST_BESIDE: Final = 64 << 20
"""What an import takes along beside weights (`adapters/files/modelfolder.py` has the reasons): more would be fetched in vain."""

_WHOLE: Final = "model.safetensors"
_INDEX: Final = ".safetensors.index.json"
_SHARD: Final = re.compile(r"(?P<stem>.+)-(?P<number>\d{5})-of-(?P<total>\d{5})\.safetensors")
_BESIDE: Final = (".json", ".jinja", ".model", ".txt", ".tiktoken", ".py")
_VERSIONED: Final = re.compile(r"tokenizer\.model\.v\d{1,3}")
_MODULE: Final = re.compile(r"\d{1,2}_[A-Za-z]+/[^/]+\.(?:json|safetensors)")
"""What sentence-transformers keep of the steps after the model."""
_NOT_BESIDE: Final = re.compile(r"trainer_state\.json|.*\.(?:bin|msgpack|h5)\.index\.json|adapter_.*|\..*")
_CONSOLIDATED: Final = re.compile(r"consolidated([.-].*)?\.safetensors")
"""The same weights once more, in their makers' own layout (Mistral's and Meta's repositories)."""
_HEADS: Final = re.compile(r"(?:mtp|eagle3|dflash|dspark)-", re.IGNORECASE)
"""Files that guess ahead for a model of their repository, as llama.cpp tells them apart (common/download.cpp, b11434)."""
_LORA: Final = re.compile(r"(?:^|[-_. ])(?:q?lora|adapter)s?(?=[-_. ]|$)", re.IGNORECASE)
_MERGED: Final = re.compile(r"merged", re.IGNORECASE)


class Folder(NamedTuple):
    """`weights` in shard order; `missing` counts shards that are not there."""

    weights: tuple[str, ...]
    beside: tuple[str, ...]
    missing: int = 0


def is_adapter(path: str) -> bool:
    """Whether a file is named as LoRA adapters are; one that was merged into its model is none."""
    name = path.rpartition("/")[2].removesuffix(SUFFIX).removesuffix(SAFETENSORS)
    return _LORA.search(name) is not None and _MERGED.search(name) is None


def gguf_models(paths: Iterable[str]) -> list[Model]:
    """Models to choose from; heads and adapters are among them only where there is nothing else."""
    found = models_among(paths)
    models = [one for one in found if not is_adapter(one.files[0]) and not _is_head(one.files[0])]
    return models or found


def projector_of(model: str, projectors: Iterable[str]) -> tuple[str | None, tuple[str, ...]]:
    """The encoder that goes with a model's file, and those that would, too. The nearest folder on the way up counts, then the name."""
    home = _folders(model)
    near = [path for path in projectors if _folders(path) == home[: len(_folders(path))]]
    if not near:
        return None, ()
    deepest = max(len(_folders(path)) for path in near)
    near = [path for path in near if len(_folders(path)) == deepest]
    file = model.rpartition("/")[2]
    alike = [path for path in near if same_model(path.rpartition("/")[2], file) is not False] or near
    named = [path for path in alike if same_model(path.rpartition("/")[2], file)]
    best, *others = sorted(named or alike, key=lambda path: projector_rank(path.rpartition("/")[2]))
    return best, tuple(others)


def model_folder(paths: Iterable[str]) -> Folder | None:
    """The model that a repository is as a whole: configuration, tokenizer and weights beside each other. None where it is no such one."""
    known = [path for path in paths if not path.startswith(".")]
    root = [path for path in known if "/" not in path]
    if CONFIG not in root:
        return None
    weights, missing = _weights(root)
    if not weights:
        return None
    beside = [path for path in known if _MODULE.fullmatch(path) or ("/" not in path and _is_beside(path))]
    return Folder(tuple(weights), tuple(sorted(beside)), missing)


def adapter_folder(paths: Iterable[str]) -> tuple[str, ...]:
    """The files of a LoRA that is published as PEFT writes it; empty where it is none."""
    known = set(paths)
    whole = ADAPTER_CONFIG in known and ADAPTER_WEIGHTS in known
    return (ADAPTER_WEIGHTS, ADAPTER_CONFIG) if whole else ()


def is_of_peft(path: str, paths: Iterable[str]) -> bool:
    """Whether a file is the weights of such a LoRA, in whatever folder."""
    folder, _, name = path.rpartition("/")
    return name == ADAPTER_WEIGHTS and f"{folder}/{ADAPTER_CONFIG}".lstrip("/") in set(paths)


def checkpoints(paths: Iterable[str]) -> list[str]:
    """Files that are a whole model each, as image models are published; folders of a pipeline hold parts of one."""
    return [
        path
        for path in paths
        if "/" not in path
        and path.endswith(SAFETENSORS)
        and not _SHARD.fullmatch(path)
        and not is_adapter(path)
        and not path.startswith("adapter_")
    ]


def _folders(path: str) -> list[str]:
    return path.split("/")[:-1]


def _is_head(path: str) -> bool:
    return _HEADS.match(path.rpartition("/")[2]) is not None


def _is_beside(name: str) -> bool:
    if _NOT_BESIDE.fullmatch(name):
        return False
    return name.endswith(_BESIDE) or _VERSIONED.fullmatch(name) is not None


def _weights(root: Sequence[str]) -> tuple[list[str], int]:
    """As transformers choose: the whole, else the set that an index is of, else the only one there is."""
    found = [
        name
        for name in root
        if name.endswith(SAFETENSORS) and not _CONSOLIDATED.fullmatch(name) and not name.startswith("adapter_")
    ]
    if _WHOLE in found:
        return [_WHOLE], 0
    sets: dict[tuple[str, int], list[str]] = {}
    for name in sorted(found):
        if (match := _SHARD.fullmatch(name)) is not None and 1 <= int(match["number"]) <= int(match["total"]):
            sets.setdefault((match["stem"], int(match["total"])), []).append(name)
    indexed = {name.removesuffix(_INDEX) for name in root if name.endswith(_INDEX)}
    meant = [key for key in sets if key[0] in indexed] or list(sets)
    if indexed and not any(key[0] in indexed for key in sets):
        return sorted(found), 0  # an index of names that are no set: it says itself which are meant
    if meant:
        key = next((key for key in meant if key[0] == "model"), meant[0])
        return sets[key], key[1] - len(sets[key])
    single = [name for name in found if not _SHARD.fullmatch(name)]
    return (single, 0) if len(single) == 1 else ([], 0)
