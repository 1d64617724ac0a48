"""Which files make up one model: a single file, or a set whose names end in `-00001-of-000NN.gguf`.

Engines find the siblings of a shard by name, so the names are taken at their word and every one of them must be there.
"""

from collections.abc import Iterable
from pathlib import Path

from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.weight_names import SUFFIX, is_projector, shard_name, shard_of


def files_of(path: Path) -> tuple[Path, ...]:
    """All files of the model at `path`, which is one file, any shard of a set, or a folder that holds one model."""
    file = _model_in(path) if path.is_dir() else path
    shard = shard_of(file.name)
    if shard is None:
        return (file,)
    if not 1 <= shard.number <= shard.total:
        raise Malformed(teaching.shard_outside_set(str(file), shard.number, shard.total), "path")
    present = {one.name for one in file.parent.iterdir()}
    names = [shard_name(shard.stem, number, shard.total) for number in range(1, shard.total + 1)]
    missing = [name for name in names if name not in present]
    if missing:
        raise Malformed(teaching.shards_missing(str(file), _few(missing)), "path")
    return tuple(file.parent / name for name in names)


def _model_in(folder: Path) -> Path:
    """The first file of the only model in `folder`; vision projectors lie beside models and are none."""
    names = [one.name for one in folder.iterdir()]
    models = models_in(names)
    if not models:
        raise Malformed(teaching.no_model_in_folder(str(folder)), "path")
    if len(models) > 1:
        raise Malformed(teaching.several_models_in_folder(str(folder), _few(_files(names))), "path")
    return folder / models[0]


def models_in(names: Iterable[str]) -> list[str]:
    """The first file of every GGUF model among the names of a folder, in their order."""
    found: dict[object, str] = {}
    for name in _files(names):
        shard = shard_of(name)
        found.setdefault((shard.stem, shard.total) if shard else name, name)
    return list(found.values())


def _files(names: Iterable[str]) -> list[str]:
    return sorted(name for name in names if name.endswith(SUFFIX) and not is_projector(name))


def _few(names: list[str]) -> list[str]:
    """At most eight names: a set may claim 99 999 shards."""
    return names if len(names) <= 8 else [*names[:8], f"and {len(names) - 8} more"]
