"""Diffusion models on disk: a checkpoint with all its parts, or a file and the parts beside it. Reads headers, never a tensor.

What a file is, is decided by the names of its tensors (`domain.diffusion_sets`), never by its own name.
"""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from blazar.adapters.files import torchzip
from blazar.adapters.files.gguf import Header, read_header
from blazar.adapters.files.gguf_facts import fingerprint, quant_name
from blazar.adapters.files.gguf_shape import parse_source
from blazar.adapters.files.safetensors import read_safetensors, shapes_in_source
from blazar.application.ports.weights import FileFacts, Source
from blazar.domain import teaching
from blazar.domain.diffusion_sets import (
    DECODER,
    GGUF_NAMES,
    MODEL,
    ROLES,
    Drawing,
    contradicts,
    drawing_of,
    part_of,
    unknown_drawing,
)
from blazar.domain.errors import BadModelFile, BadWeights, Malformed, NotFound, PartsMissing, PartsOfNoSet, WrongPart
from blazar.domain.kinds import Weights
from blazar.domain.weight_kinds import parameters_of, quant_label

GGUF = ".gguf"
SUFFIXES = (".safetensors", ".sft", GGUF, *torchzip.SUFFIXES)
_MAGIC = b"GGUF"
_FRONT = 512
"""Bytes in which a GGUF file says its architecture: converters write that first."""
MOST_FILES = 16
"""Headers of one folder that are read to find out what belongs together."""

Parts = Sequence[tuple[str, str]]
"""Role and path, in any order."""


class Looked(NamedTuple):
    """One file's header. `shapes` are as safetensors have them; a checkpoint's tensors have none."""

    path: str
    size: int
    digest: str
    shapes: Mapping[str, tuple[int, ...]]
    arch: str
    quant: str
    parameters: int

    @property
    def drawing(self) -> Drawing | None:
        return drawing_of(self.shapes, self.arch)

    @property
    def part(self) -> str:
        return part_of(self.shapes, self.arch)


def look_at(path: str) -> Looked:
    """Raises `BadModelFile` or `NotFound`."""
    low = path.lower()
    if low.endswith(GGUF):
        return looked_at_gguf(path, read_header(path))
    if low.endswith(torchzip.SUFFIXES):
        size, digest = torchzip.fingerprint(path)
        return Looked(path, size, digest, dict.fromkeys(torchzip.names_in(path), ()), "", "", 0)
    header = read_safetensors(path)
    shapes = {row.name: row.shape for row in header.tensors}
    quant, count = quant_label({}, (), header.tensors), parameters_of({}, header.tensors)
    return Looked(path, header.file_size, header.digest, shapes, "", quant, count)


def looked_at_gguf(path: str, header: Header) -> Looked:
    """The same of a header that was read already."""
    if not header.tensors:
        raise BadModelFile(path, "unsupported/empty model: it holds no tensors")
    shapes = {row.name: row.shape[::-1] for row in header.tensors}
    try:
        digest = fingerprint([path], [header])
    except OSError as error:
        raise BadModelFile(path, error.strerror or str(error)) from None
    arch = header.metadata.get("general.architecture", "")
    count = sum(row.elements for row in header.tensors)
    return Looked(path, header.file_size, digest, shapes, str(arch), quant_name([header]), count)


def facts_of_set(main: Looked, parts: Parts) -> FileFacts:
    """A diffusion model and its parts. Raises `Malformed` for a main file that is none, and for parts that are missing or no files."""
    roles = [role for role, _ in parts]
    drawing = main.drawing or _trusted(main, roles)
    if drawing is None:
        raise PartsOfNoSet(main.path)
    # First: a part that was named and is not there is what is wrong, whatever else lacks.
    looked = [(role, _look_at_part(role, path)) for role, path in sorted(parts, key=lambda part: ROLES.index(part[0]))]
    if lacking := drawing.missing(roles):
        raise PartsMissing(main.path, drawing.family.name, lacking)
    everything = [(drawing.role, main), *looked]
    digest = sha256(b"blazar set fingerprint 1\n")
    for role, one in everything:
        digest.update(f"{role} {one.digest}\n".encode())
    return FileFacts(
        files=tuple(one.path for _, one in everything),
        sizes=tuple(one.size for _, one in everything),
        weights=Weights.DIFFUSION,
        arch=drawing.family.name,
        quant=main.quant,
        parameters=sum(one.parameters for _, one in everything),
        ctx_train=0,
        embedding_length=0,
        pooling=None,
        template=False,
        digest=digest.hexdigest(),
        names=_names(everything),
        stem=_stem(main.path),
        components=tuple((role, one.path) for role, one in everything),
    )


def vet_source(source: Source, roles: Sequence[str]) -> None:
    """Raises `PartsMissing` for a diffusion model elsewhere that needs more than `roles`, and `WrongPart` for a part of one by itself.

    `PartsOfNoSet` where it is none and parts are named for it; without any, of a GGUF file that holds anything else only the front is read.
    """
    if source.name.lower().endswith(GGUF) and not roles:
        front = source.read(_FRONT)
        if not any(name.encode() in front for name in GGUF_NAMES):
            return
        source.seek(0)
    found = _read_elsewhere(source)
    drawing = found.drawing
    if roles and drawing is None and (found.arch or found.part == "llm"):
        raise PartsOfNoSet(source.name)
    if drawing is not None and (lacking := drawing.missing(roles)):
        raise PartsMissing(source.name, drawing.family.name, lacking)
    if drawing is None and not roles and found.part not in ("", "llm"):
        raise WrongPart(source.name, "", found.part)


def vet_part_source(source: Source, role: str) -> None:
    """Raises `WrongPart` for a file elsewhere that is another part than this for sure."""
    found = _read_elsewhere(source)
    _check_role(source.name, role, found.drawing, found.part)


def _elsewhere(shapes: Mapping[str, tuple[int, ...]], arch: str = "") -> Looked:
    """What a header alone says of a file that is not here."""
    return Looked("", 0, "", shapes, arch, "", 0)


def _read_elsewhere(source: Source) -> Looked:
    low = source.name.lower()
    if low.endswith(GGUF) or _begins_as_gguf(source):  # a registry of layers calls them by no file's name
        header = parse_source(source)
        shapes = {row.name: row.shape[::-1] for row in header.tensors}
        return _elsewhere(shapes, str(header.metadata.get("general.architecture", "")))
    return _elsewhere(shapes_in_source(source) if low.endswith((".safetensors", ".sft")) else {})


def _begins_as_gguf(source: Source) -> bool:
    front = source.read(len(_MAGIC))
    source.seek(0)
    return front == _MAGIC


def _trusted(main: Looked, roles: Sequence[str]) -> Drawing | None:
    """A person who names decoder and encoders knows a family that we do not: unless the file is something else for sure."""
    known_otherwise = main.arch or main.part
    return unknown_drawing() if set(roles) & set(DECODER) and not known_otherwise else None


def _look_at_part(role: str, path: str) -> Looked:
    try:
        found = look_at(path)
    except NotFound:
        raise
    except BadModelFile as wrong:
        raise BadWeights(path, teaching.part_flaw(role, wrong.why)) from None
    _check_role(path, role, found.drawing, found.part)
    return found


def _check_role(path: str, role: str, drawing: Drawing | None, part: str) -> None:
    draws = drawing is not None and not (
        drawing.decoder and role in DECODER
    )  # a checkpoint's own decoder may be asked for
    part = MODEL if draws else part
    if contradicts(role, part):
        raise WrongPart(path, role, part)


def set_in(folder: Path, names: Sequence[str]) -> FileFacts | None:
    """The one component set that these files of a folder are; None where none of them is a diffusion model.

    Raises `Malformed` where it cannot be told what belongs to it.
    """
    if len(names) > MOST_FILES:
        return None
    looked = [look_at(str(folder / name)) for name in names]
    mains = [one for one in looked if one.drawing is not None]
    if not mains:
        return None
    if len(mains) > 1:
        files = [Path(one.path).name for one in mains]
        raise Malformed(teaching.several_weights_in_folder(str(folder), files), "path")
    parts = [(one.part, one.path) for one in looked if one is not mains[0]]
    wanted = {role for roles in _needs(mains[0]) for role in roles} | {*DECODER, "llm_vision"}
    roles = [role for role, _ in parts]
    unclear = [Path(path).name for role, path in parts if role not in wanted or roles.count(role) > 1]
    if unclear:
        raise Malformed(teaching.set_unclear(str(folder), unclear), "path")
    found = facts_of_set(mains[0], parts)
    return found._replace(stem=folder.name) if parts else found


def _needs(main: Looked) -> tuple[tuple[str, ...], ...]:
    return main.drawing.family.needs if main.drawing is not None else ()


def _names(everything: Sequence[tuple[str, Looked]]) -> tuple[str, ...]:
    """Files keep their names in the folder that they will share; of two with one name the later carries its role."""
    taken: set[str] = set()
    names = []
    for role, one in everything:
        name = Path(one.path).name
        if name.lower() in taken:
            name = f"{role}-{name}"
        taken.add(name.lower())
        names.append(name)
    return tuple(names)


def _stem(path: str) -> str:
    name = Path(path).name
    end = next((end for end in SUFFIXES if name.lower().endswith(end)), "")
    return name[: len(name) - len(end)]


def metadata_of_drawing(path: str) -> dict[str, object]:
    """What `show` tells of a main file."""
    main = look_at(path)
    drawing = main.drawing
    return {"general.architecture": drawing.family.name if drawing else "diffusion", "general.type": "diffusion"}
