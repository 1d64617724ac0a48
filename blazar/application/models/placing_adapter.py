"""What was pulled and is a LoRA adapter: it serves nothing by itself, so that it gets a place and a note of its origin, and no row."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from blazar.application.models.arrivals import Shipment
from blazar.application.ports.clock import Clock
from blazar.application.ports.landing import Landing
from blazar.application.ports.weights import WeightFiles
from blazar.domain import teaching
from blazar.domain.errors import BlazarError, Conflict
from blazar.domain.names import file_stem
from blazar.domain.weight_names import SUFFIX


class Noted(NamedTuple):
    """What an earlier pull left: where it came from, which version, its files."""

    reference: str
    artefact: str
    path: str
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlaceAdapter:
    """`folder` is where `weights` links to: one GGUF file an adapter, or a folder of its own."""

    weights: WeightFiles
    landing: Landing
    clock: Clock
    folder: str

    def is_one(self, shipment: Shipment) -> bool:
        """By what its registry says, or by its own header once it is here."""
        if shipment.is_adapter:
            return True
        if not shipment.single.lower().endswith(SUFFIX):
            return False
        with suppress(BlazarError):
            self.weights.vet_adapter(shipment.single, "")
            return True
        return False

    def present(self, name: str, shipment: Shipment) -> str:
        """Its path, where it is there and no other version; "" else. Raises `Conflict` where the name is another's."""
        noted = self._noted(name)
        if noted is None:
            if self.landing.size(f"{self._base(name)}{SUFFIX}") >= 0:
                raise Conflict(teaching.pull_adapter_taken(f"{self._base(name)}{SUFFIX}", shipment.parcel.ref.public))
            return ""
        same = noted.artefact == shipment.artefact
        if not same and not shipment.parcel.ref.is_spelled(noted.reference):
            raise Conflict(teaching.pull_adapter_taken(noted.path, shipment.parcel.ref.public))
        return noted.path if same and not self.weights.missing(noted.files) else ""

    def knows(self, name: str, shipment: Shipment) -> bool:
        """Whether it turned out to be an adapter before, whatever its registry takes it for."""
        noted = self._noted(name)
        return noted is not None and noted.artefact == shipment.artefact

    def __call__(self, name: str, shipment: Shipment) -> str:
        """The path that a configuration names. Raises `BadModelFile` for what is none."""
        files = tuple(one.at for one in shipment.files)
        single = len(files) == 1 and files[0].lower().endswith(SUFFIX)
        if single:
            self.weights.vet_adapter(files[0], "")
        if (before := self._noted(name)) is not None:  # its path stays: configurations name it
            self.weights.unlink(before.files, "" if before.path.endswith(SUFFIX) else before.path)
        names = () if single else tuple(file.removeprefix(f"{shipment.folder}/") for file in files)
        base = self._base(name)
        path = f"{base}{SUFFIX}" if single else base
        # Without a version, first: what a process leaves that dies now would else be taken for somebody else's.
        self._note(shipment, base, Noted(shipment.parcel.ref.kept, "", path, _planned(base, path, names)))
        try:
            placed = self.weights.take(name, files, names)
        except BlazarError:
            self.landing.drop(self.landing.note_at(base))
            raise
        self._note(shipment, base, Noted(shipment.parcel.ref.kept, shipment.artefact, path, placed))
        return path

    def _note(self, shipment: Shipment, base: str, noted: Noted) -> None:
        told = {**noted._asdict(), "licence": shipment.parcel.words.licence, "pulled_at": self.clock.wall()}
        self.landing.keep_note(base, json.dumps(told, ensure_ascii=False))

    def told(self, path: str) -> str:
        """What a person does with the one that lies there."""
        if path.endswith(SUFFIX):
            return teaching.adapter_pulled(path, self.landing.note_at(path.removesuffix(SUFFIX)))
        return teaching.adapter_folder_pulled(path, self.landing.note_at(path))

    def _base(self, name: str) -> str:
        return f"{self.folder}/{file_stem(name)}"

    def _noted(self, name: str) -> Noted | None:
        with suppress(ValueError, KeyError, TypeError):
            said = json.loads(self.landing.note_of(self._base(name)))
            return Noted(str(said["reference"]), str(said["artefact"]), str(said["path"]), tuple(said["files"]))
        return None


def _planned(base: str, path: str, names: Sequence[str]) -> tuple[str, ...]:
    """Where its links are about to be."""
    return tuple(f"{base}/{one}" for one in names) or (path,)
