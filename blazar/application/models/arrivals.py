"""Where each file of a parcel lies while it comes, and which version of the model all of them are. Touches no disk, asks nobody.

Names are a registry's where a file may be called so, else our own: nothing that a host says leads out of a folder.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Final, NamedTuple

from blazar.application.ports.remote import Parcel, Part, RemoteFile, RemoteModels
from blazar.domain import teaching
from blazar.domain.errors import NotFound, RegistryTrouble
from blazar.domain.harmless import public
from blazar.domain.parcels import Role, Words, artefact_of
from blazar.domain.references import HF
from blazar.domain.weight_names import SUFFIX, shard_name, shard_of

KEY: Final = 12
"""Digits of the artefact that a folder is called by."""
PLAIN: Final = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9._+ -]{0,198}[A-Za-z0-9_+-])?")
"""A name that every file system takes, that no shell hides, and that is none of our notes beside a partial file."""
_OURS: Final = (".part", ".part.json", ".lock")
VERIFIED: Final = "sha256:"
"""Begins the mark of a file whose bytes were compared with it."""
_TOLD: Final = "told:"
KINDS: Final = (VERIFIED, _TOLD)
DEEPEST: Final = 6
_WEIGHTS: Final = (SUFFIX, ".safetensors", ".sft", ".ckpt", ".pt", ".pth")
PROJECTOR: Final = f"mmproj{SUFFIX}"
_ADAPTER: Final = "adapter"


class Arriving(NamedTuple):
    """One file of it, and the path at which it arrives."""

    part: Part
    at: str

    @property
    def mark(self) -> str:
        return mark_of(self.part.file)

    @property
    def is_vouched(self) -> bool:
        """Whether its host says anything by which another version of it could be told."""
        return bool(self.part.file.sha256 or self.part.file.mark)


class Shipment(NamedTuple):
    """A parcel on its way. `role` is "" for the model itself, `draft`, or what it is in a diffusion set."""

    role: str
    parcel: Parcel
    registry: RemoteModels
    artefact: str
    folder: str
    files: tuple[Arriving, ...]

    @property
    def key(self) -> str:
        return self.artefact[:KEY]

    @property
    def size(self) -> int:
        return sum(max(0, one.part.file.size) for one in self.files)

    @property
    def is_vouched(self) -> bool:
        return all(one.is_vouched for one in self.files)

    @property
    def is_adapter(self) -> bool:
        return all(one.part.role is Role.ADAPTER for one in self.files)

    def of(self, role: Role) -> tuple[Arriving, ...]:
        """Its files of that role, in order."""
        return tuple(one for one in self.files if one.part.role is role)

    @property
    def single(self) -> str:
        """The path of its weights where they are one file, else ""."""
        weights = self.of(Role.WEIGHTS)
        return weights[0].at if len(weights) == 1 and len(self.files) == 1 else ""

    @property
    def model_path(self) -> str:
        """What an inspection is pointed at: the first shard, or the folder."""
        weights = self.of(Role.WEIGHTS)
        return self.folder if self.of(Role.FOLDER) or not weights else weights[0].at


def mark_of(file: RemoteFile) -> str:
    """What tells versions of a file apart: a digest, which no file gets past that has another, or what its host says of this address.

    Only the first means the same bytes wherever they come from: anybody can send anybody's digest as an entity tag.
    """
    if file.sha256:
        return f"{VERIFIED}{file.sha256}"
    # A query may hold a signature, which is another each time; the tag is of what is sent.
    said = (file.at.partition("#")[0].partition("?")[0] if file.mark else file.at, file.mark, str(file.size))
    return f"{_TOLD}{sha256(json.dumps(said).encode()).hexdigest()}"


def sealed(shipment: Shipment, digests: Mapping[str, str]) -> Shipment:
    """With the digests of what came, by path, for files of which nobody had said anything: by these the next pull compares."""

    def told(part: Part, at: str) -> Part:
        return part._replace(file=part.file._replace(sha256=digests[at])) if at in digests else part

    files = tuple(Arriving(told(one.part, one.at), one.at) for one in shipment.files)
    parcel = shipment.parcel._replace(parts=tuple(one.part for one in files))
    return shipment._replace(parcel=parcel, artefact=artefact_of_parcel(parcel), files=files)


def artefact_of_parcel(parcel: Parcel) -> str:
    """Over all files and over the words that change what is answered. A licence, a README, a commit change nothing (case H11)."""
    marks = [(part.path or part.file.name, part.file.sha256 or mark_of(part.file)) for part in parcel.parts]
    return artefact_of([*marks, *_words(parcel.words)])


def _words(words: Words) -> Iterable[tuple[str, str]]:
    said = (words.template, words.system, dict(words.parameters), [dict(message) for message in words.messages])
    if any(said):
        yield "\0words", sha256(json.dumps(said, sort_keys=True, default=str).encode("utf-8", "replace")).hexdigest()


def files_of(parcel: Parcel, folder: str) -> tuple[Arriving, ...]:
    """Raises `RegistryTrouble` for names that may be no file's, and `NotFound` where there is no model in it."""
    weights = [part for part in parcel.parts if part.role is Role.WEIGHTS]
    names = dict(zip(map(id, weights), _weight_names(weights), strict=True)) | _adapter_names(parcel.parts)
    found = [Arriving(part, f"{folder}/{names.get(id(part)) or _place(part, parcel)}") for part in parcel.parts]
    if not any(one.part.role is not Role.PROJECTOR for one in found):
        raise NotFound(teaching.pull_nothing_in(parcel.ref.public))
    places = [one.at.casefold() for one in found]
    if len(set(places)) < len(places):
        twice = next(one for one in found if places.count(one.at.casefold()) > 1)
        if twice.part.role is Role.PROJECTOR:
            raise RegistryTrouble(teaching.pull_projectors_twice(parcel.ref.public))
        raise RegistryTrouble(teaching.pull_odd_path(parcel.ref.public, twice.part.file.name))
    return tuple(found)


def address_of(parcel: Parcel) -> str:
    """Of its first file in a hub; what a registry of layers calls those says no more than the reference."""
    return public(parcel.parts[0].file.at) if parcel.ref.registry == HF and parcel.parts else ""


def _weight_names(parts: Sequence[Part]) -> list[str]:
    """Shards as engines find their siblings; a single file by its own name, if it may be one."""
    given = [part.file.name.rpartition("/")[2] for part in parts]
    if len(parts) == 1:
        low = given[0].lower()
        fit = _plain(given[0]) and low.endswith(_WEIGHTS) and shard_of(given[0]) is None
        return given if fit else [f"weights{SUFFIX}"]
    shards = [shard_of(name) for name in given]
    total = len(parts)
    whole = all(
        shard is not None and _plain(name) and (shard.number, shard.total) == (number, total)
        for number, (name, shard) in enumerate(zip(given, shards, strict=True), 1)
    )
    if whole and len({shard.stem for shard in shards if shard is not None}) == 1:
        return given
    return [shard_name("weights", number, total) for number in range(1, total + 1)]


def _adapter_names(parts: Sequence[Part]) -> dict[int, str]:
    """Ours for those that have no file's name: a registry of layers calls them by a digest only."""
    odd = [part for part in parts if part.role is Role.ADAPTER and not part.path and not _fits(part)]
    return {id(part): f"{_ADAPTER}{f'-{number}' if number > 1 else ''}{SUFFIX}" for number, part in enumerate(odd, 1)}


def _fits(part: Part) -> bool:
    name = part.file.name.rpartition("/")[2]
    return _plain(name)


def _place(part: Part, parcel: Parcel) -> str:
    if part.role is Role.PROJECTOR:
        return PROJECTOR
    path = part.path or part.file.name.rpartition("/")[2]
    steps = path.split("/")
    if len(steps) > DEEPEST or not all(map(_plain, steps)):
        raise RegistryTrouble(teaching.pull_odd_path(parcel.ref.public, path))
    return path


def _plain(name: str) -> bool:
    return PLAIN.fullmatch(name) is not None and not name.lower().endswith(_OURS)
