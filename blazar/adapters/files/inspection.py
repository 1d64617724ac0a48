"""What lies at a path: a GGUF file or set, a folder of safetensors, a diffusion model. Decides by contents; links nothing.

A GGUF file wins in a folder that holds safetensors too: who wants those names one of them.
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blazar.adapters.files import drawings, modelfolder, torchzip
from blazar.adapters.files.bounded import stamp_of
from blazar.adapters.files.gguf import Header, read_header, reason_of
from blazar.adapters.files.gguf_facts import fingerprint, quant_name, vet_model
from blazar.adapters.files.gguf_shape import shape_of_files
from blazar.adapters.files.safetensors import read_safetensors
from blazar.adapters.files.shards import files_of, models_in
from blazar.application.ports.weights import FileFacts
from blazar.domain import teaching
from blazar.domain.diffusion_sets import drawing_of
from blazar.domain.errors import BadModelFile, BadWeights, Malformed, NotFound, WrongPart
from blazar.domain.kinds import Weights

if TYPE_CHECKING:  # the arithmetic is imported by those who count
    from blazar.domain.fit.shape import ModelShape

DIFFUSERS = "model_index.json"
ADAPTER = "adapter_config.json"


def inspect(path: str, parts: Sequence[tuple[str, str]] = ()) -> FileFacts:
    """Raises `BadModelFile`, `NotFound` or `Malformed`."""
    try:
        return _inspect(_absolute(path), parts)
    except FileNotFoundError as gone:
        raise NotFound(teaching.no_such_file(str(gone.filename or path))) from None
    except (OSError, ValueError) as error:
        raise BadModelFile(path, reason_of(error)) from None


def metadata_of(path: str) -> dict[str, Any]:
    """What `show` tells of a model whose first file this is."""
    low = path.lower()
    if low.endswith((modelfolder.SUFFIX, ".sft", *torchzip.SUFFIXES)):
        at = Path(path)
        if (
            low.endswith(modelfolder.SUFFIX)
            and drawings.look_at(path).drawing is None
            and modelfolder.is_described(at.parent)
        ):
            return modelfolder.metadata_of_folder(at.parent, at.name)
        return drawings.metadata_of_drawing(path)
    return dict(read_header(path).metadata)


def shape_of(files: tuple[str, ...]) -> "ModelShape":
    """What memory depends on. Raises `BadShape` for weights of which nobody can tell."""
    if not files[0].lower().endswith(modelfolder.SUFFIX):
        return shape_of_files(files)
    return _folder_shape(files, tuple(map(stamp_of, files)))


@lru_cache(maxsize=16)
def _folder_shape(files: tuple[str, ...], _stamps: tuple[tuple[int, int], ...]) -> "ModelShape":
    from blazar.domain.fit.safetensors import shape_from_safetensors

    folder = Path(files[0]).parent
    weights = [file for file in files if file.endswith(modelfolder.SUFFIX) and Path(file).parent == folder]
    rows = [row for file in weights for row in read_safetensors(file).tensors]
    return shape_from_safetensors(modelfolder.configuration(folder), rows)


def _absolute(path: str) -> Path:
    """A row must hold wherever it is read from. A symlink stays the name it is: shards find each other by name."""
    whole = Path(path).absolute()
    return whole.parent.resolve() / whole.name if ".." in whole.parts else whole


def _inspect(at: Path, parts: Sequence[tuple[str, str]]) -> FileFacts:
    low = at.name.lower()
    if parts:
        return drawings.facts_of_set(drawings.look_at(str(at)), parts)
    if at.is_dir():
        return _folder(at)
    if low.endswith((modelfolder.SUFFIX, ".sft")):
        return _safetensors(at)
    if low.endswith(torchzip.SUFFIXES):
        main = drawings.look_at(str(at))
        if main.drawing is None:
            raise BadWeights(
                str(at), "it is no diffusion checkpoint, and language models are read as GGUF or safetensors"
            )
        return drawings.facts_of_set(main, ())
    if low.endswith(".json") and at.is_file() and (at.parent / modelfolder.CONFIG).is_file():
        raise Malformed(teaching.name_the_folder(str(at), str(at.parent)), "path")
    return _gguf(at)


def _folder(at: Path) -> FileFacts:
    names = sorted(one.name for one in at.iterdir())
    candidates = [name for name in names if name.lower().endswith(drawings.SUFFIXES)]
    ggufs = models_in(names)
    if len(ggufs) == 1 and not _draws(at / ggufs[0]):
        return _gguf(at)
    if len(ggufs) > 1:
        return _set_among(at, candidates) or _gguf(at)
    safetensors = [name for name in names if name.endswith(modelfolder.SUFFIX)]
    if not ggufs and safetensors and modelfolder.is_described(at):
        return modelfolder.facts_of_folder(at)
    found = drawings.set_in(at, candidates) if candidates else None
    if found is not None:
        return found
    if DIFFUSERS in names:
        raise Malformed(teaching.diffusers_folder(str(at)), "path")
    if not safetensors:
        raise Malformed(teaching.no_model_in_folder(str(at)), "path")
    said = teaching.adapter_alone if ADAPTER in names else teaching.no_model_config
    raise Malformed(said(str(at)), "path")


def _set_among(at: Path, candidates: Sequence[str]) -> FileFacts | None:
    """A component set among several GGUF models; a file that cannot be read makes it none."""
    try:
        return drawings.set_in(at, candidates)
    except BadModelFile:
        return None


def _draws(at: Path) -> bool:
    header = read_header(str(at))
    return drawing_of((row.name for row in header.tensors), _arch(header)) is not None


def _arch(header: Header) -> str:
    return str(header.metadata.get("general.architecture", ""))


def _safetensors(at: Path) -> FileFacts:
    main = drawings.look_at(str(at))
    if main.drawing is not None:
        return drawings.facts_of_set(main, ())
    if modelfolder.is_described(at.parent):
        return modelfolder.facts_of_folder(at.parent, at.name)
    if main.part not in ("", "llm"):
        raise WrongPart(str(at), "", main.part)
    raise Malformed(teaching.no_model_config(str(at)), "path")


def _gguf(at: Path) -> FileFacts:
    files = tuple(map(str, files_of(at)))
    headers = [read_header(file) for file in files]
    if len(files) == 1 and drawing_of((row.name for row in headers[0].tensors), _arch(headers[0])) is not None:
        return drawings.facts_of_set(drawings.looked_at_gguf(files[0], headers[0]), ())
    vet_model(files, headers)
    try:
        digest = fingerprint(files, headers)
    except OSError as error:
        raise BadModelFile(files[0], reason_of(error)) from None
    return _facts(files, headers, digest)


def _facts(files: tuple[str, ...], headers: list[Header], digest: str) -> FileFacts:
    """The first shard of a set carries the metadata of all (llama.cpp's own rule)."""
    values = headers[0].metadata
    arch = values["general.architecture"]
    pooling = values.get(f"{arch}.pooling_type")
    return FileFacts(
        files=files,
        sizes=tuple(header.file_size for header in headers),
        weights=Weights.GGUF,
        arch=arch,
        quant=quant_name(headers),
        parameters=sum(tensor.elements for header in headers for tensor in header.tensors),
        ctx_train=values.get(f"{arch}.context_length", 0),
        embedding_length=values.get(f"{arch}.embedding_length", 0),
        pooling=pooling,
        template=bool(values.get("tokenizer.chat_template")),
        digest=digest,
    )
