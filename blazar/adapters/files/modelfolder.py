"""A language model as a folder: its config.json, the weight files that belong together, and what is read beside them.

Decides which files an import takes along; what kind of weights they are is `domain.weight_kinds`'s. Reads no tensor.
"""

import os
import re
from collections.abc import Collection, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from blazar.adapters.files.bounded import read_object, read_object_if_there
from blazar.adapters.files.safetensors import read_safetensors
from blazar.application.ports.weights import FileFacts
from blazar.domain import teaching
from blazar.domain.errors import BadWeights, Malformed
from blazar.domain.weight_kinds import (
    Tensor,
    arch_of,
    facts_of_config,
    info_of,
    parameters_of,
    pooling_of,
    quant_label,
    weights_of,
)

SUFFIX = ".safetensors"
CONFIG = "config.json"
_INDEX = SUFFIX + ".index.json"
_WHOLE = "model" + SUFFIX
_ADAPTER = "adapter_config.json"
_MODELOPT = "hf_quant_config.json"
_TOKENIZER = "tokenizer_config.json"
_TEMPLATE = "chat_template.jinja"
LONGEST_TEMPLATE = 1 << 20

MOST_BESIDE = 256
"""Files taken along with a model: the largest published folders have about fifty, a folder of training data has thousands."""
LARGEST_BESIDE = 64 << 20
"""Bytes of each: the largest tokenizers have 35 million."""
_BESIDE = (".json", ".jinja", ".model", ".txt", ".tiktoken")
_VERSIONED = re.compile(r"tokenizer\.model\.v\d{1,3}")
_CODE = ".py"
_SHARD = re.compile(r"(?P<stem>.+)-(?P<number>\d{5})-of-(?P<total>\d{5})\.safetensors")
_MODULE = re.compile(r"\d{1,2}_[A-Za-z]+")
"""Folders in which sentence-transformers keep what comes after the model."""
_POOLING = "1_Pooling"
_CACHED = re.compile(r"models--(?:.+--)?(?P<name>.+)")
"""How the hub's cache calls the folder of a repository; a snapshot's own is called by a commit."""


class Described(NamedTuple):
    """A configuration as engines find it. `names` are those that a publisher gave."""

    config: Mapping[str, Any]
    names: tuple[str, ...]
    tensors: tuple[Tensor, ...]


def is_described(folder: Path) -> bool:
    """Whether a configuration of a language model lies there. Raises `BadWeights` for one that cannot be read."""
    return (folder / CONFIG).exists() and bool(arch_of(read_object(str(folder / CONFIG))))


def facts_of_folder(folder: Path, named: str = "") -> FileFacts:
    """All of it. `named` is the weight file that was asked for, which has to be one of the model's."""
    weights = weight_files(folder)
    if named and named not in weights:
        raise Malformed(teaching.several_weights_in_folder(str(folder), _few(weights)), "path")
    config = configuration(folder)
    files = (*weights, *_beside(folder, config))
    headers = [read_safetensors(str(folder / name)) for name in weights]
    tensors = tuple(row for header in headers for row in header.tensors)
    if not tensors:
        raise BadWeights(str(folder / weights[0]), "it holds no tensors")
    facts, names = facts_of_config(config), (_name(folder), *weights)
    digest = sha256(b"blazar folder fingerprint 1\n" + repr(sorted(config.items(), key=str)).encode())
    for header in headers:
        digest.update(header.digest.encode())
    return FileFacts(
        files=tuple(str(folder / name) for name in files),
        sizes=tuple((folder / name).stat().st_size for name in files),
        weights=weights_of(config, names),
        arch=facts.arch,
        quant=quant_label(config, names, tensors),
        parameters=parameters_of(config, tensors),
        ctx_train=facts.ctx_train,
        embedding_length=facts.embedding_length,
        pooling=pooling_of(read_object_if_there(str(folder / _POOLING / CONFIG))),
        template=bool(template_in(folder)),
        digest=digest.hexdigest(),
        names=files,
        folder=str(folder),
        stem=_name(folder),
    )


def metadata_of_folder(folder: Path, first: str) -> dict[str, Any]:
    """What `show` tells, by the keys of GGUF headers. `first` is the model's first weight file."""
    config = configuration(folder)
    arch = arch_of(config)
    found: dict[str, Any] = {"general.architecture": arch, **info_of(config)}
    notes = read_safetensors(str(folder / first)).metadata
    if text := notes.get("format"):
        found["general.file_format"] = text
    if text := template_in(folder):
        found["tokenizer.chat_template"] = text
    return found


def configuration(folder: Path) -> dict[str, Any]:
    """The config.json, with what ModelOpt keeps in a file of its own. Raises `BadWeights` where it names no architecture."""
    path = str(folder / CONFIG)
    if not _stays(folder, CONFIG):
        raise BadWeights(path, teaching.companion_elsewhere())
    config = read_object(path)
    if not arch_of(config):
        raise BadWeights(path, "it names no architecture (model_type)")
    if "quantization_config" not in config and (folder / _MODELOPT).is_file():
        config["quantization_config"] = read_object_if_there(str(folder / _MODELOPT)).get("quantization")
    return config


def weight_files(folder: Path) -> list[str]:
    """The files of one model among those of a folder, as transformers choose: the whole, else the index's, else a set by name.

    Raises `Malformed` where some are missing, or where nothing says which ones are meant.
    """
    present = {one.name for one in folder.iterdir()}
    found = sorted(name for name in present if name.endswith(SUFFIX))
    if _WHOLE in present:
        return [_WHOLE]
    indices = sorted(name for name in present if name.endswith(_INDEX))
    if indices:
        return _indexed(folder, "model" + _INDEX if "model" + _INDEX in indices else indices[0], present)
    sets = {(match["stem"], int(match["total"])) for name in found if (match := _SHARD.fullmatch(name))}
    single = [name for name in found if not _SHARD.fullmatch(name)]
    if _ADAPTER in present and all(name.startswith("adapter_") for name in found):
        raise Malformed(teaching.adapter_alone(str(folder)), "path")
    if len(sets) + len(single) != 1:
        raise Malformed(teaching.several_weights_in_folder(str(folder), _few(found)), "path")
    return single or _set(folder, *sets.pop(), present)


def _indexed(folder: Path, index: str, present: Collection[str]) -> list[str]:
    path = str(folder / index)
    listed = read_object(path).get("weight_map")
    names = set(listed.values()) if isinstance(listed, dict) and all(map(_is_plain, listed.values())) else set()
    if not names:
        raise BadWeights(path, "it does not say which files the tensors are in")
    if missing := sorted(names - set(present)):
        raise Malformed(teaching.index_names_missing(path, _few(missing)), "path")
    return sorted(names)


def _is_plain(name: Any) -> bool:
    """A file's name and no way to another folder: an index comes from strangers."""
    return isinstance(name, str) and name.endswith(SUFFIX) and name == Path(name).name and "\\" not in name


def _set(folder: Path, stem: str, total: int, present: Collection[str]) -> list[str]:
    names = [f"{stem}-{number:05d}-of-{total:05d}{SUFFIX}" for number in range(1, total + 1)]
    if missing := [name for name in names if name not in present]:
        raise Malformed(teaching.shards_missing(str(folder / f"{stem}{SUFFIX}"), _few(missing)), "path")
    return names


def _beside(folder: Path, config: Mapping[str, Any]) -> list[str]:
    """Configuration, tokenizer and template, in the order of their names.

    ODD: program code is taken along only where the configuration asks for it. Taking it runs nothing: an engine runs it where
    somebody set trust_remote_code, and could not find it elsewhere.
    """
    tokenizer = read_object_if_there(str(folder / _TOKENIZER))
    code = any("auto_map" in one or "model_file" in one for one in (config, tokenizer))
    found = []
    for one in folder.iterdir():
        name = one.name
        if name.startswith(".") or name.endswith(".bak"):
            continue
        wanted = name.endswith(_BESIDE) or _VERSIONED.fullmatch(name) or (code and name.endswith(_CODE))
        if wanted and one.is_file():
            found.append(name)
        elif _MODULE.fullmatch(name) and one.is_dir():
            found += [f"{name}/{inner.name}" for inner in one.iterdir() if _is_module_file(inner)]
    _check_beside(folder, found)
    return sorted(found)


def _check_beside(folder: Path, names: Sequence[str]) -> None:
    """Raises `BadWeights` for what would be shown or handed to an engine and is not of the model's making, and for folders of data."""
    if len(names) > MOST_BESIDE:
        raise BadWeights(str(folder), teaching.companions_many(MOST_BESIDE))
    for name in names:
        path = folder / name
        if not _stays(folder, name):
            raise BadWeights(str(path), teaching.companion_elsewhere())
        if not name.endswith(SUFFIX) and path.stat().st_size > LARGEST_BESIDE:
            raise BadWeights(str(path), teaching.companion_large(LARGEST_BESIDE))


def _stays(folder: Path, name: str) -> bool:
    """Whether a name leads to a file of the folder itself, or of a hub's cache, which links its snapshots' names to `blobs`.

    Folders come from strangers: a link in one may name a key of this machine's, that `show` would print.
    """
    real = Path(os.path.realpath(folder / name))
    cached = real.parent.name == "blobs" and (real.parent.parent / "snapshots").is_dir()
    return cached or real.is_relative_to(os.path.realpath(folder))


def _is_module_file(path: Path) -> bool:
    return path.name.endswith((".json", SUFFIX)) and not path.name.startswith(".") and path.is_file()


def template_in(folder: Path) -> str:
    """The chat template: a file of its own wins over the tokenizer's, as in transformers; "" where there is none."""
    if (folder / _TEMPLATE).is_file() and _stays(folder, _TEMPLATE):
        try:
            with (folder / _TEMPLATE).open(encoding="utf-8", errors="replace") as file:
                return file.read(LONGEST_TEMPLATE)
        except OSError:
            return ""
    for name in (_TOKENIZER, "chat_template.json"):
        if not _stays(folder, name):
            continue
        text = read_object_if_there(str(folder / name)).get("chat_template")
        if isinstance(text, list):  # several by name, of which `default` is used
            text = next(
                (one.get("template") for one in text if isinstance(one, dict) and one.get("name") == "default"), ""
            )
        if isinstance(text, str) and text:
            return text[:LONGEST_TEMPLATE]
    return ""


def _name(folder: Path) -> str:
    """What a publisher called it: the hub's cache names a snapshot by its commit and the repository two folders above."""
    if folder.parent.name == "snapshots" and (match := _CACHED.fullmatch(folder.parent.parent.name)):
        return match["name"]
    return folder.name


def _few(names: Sequence[str]) -> list[str]:
    """At most eight names: an index may list 99 999."""
    return list(names) if len(names) <= 8 else [*names[:8], f"and {len(names) - 8} more"]
