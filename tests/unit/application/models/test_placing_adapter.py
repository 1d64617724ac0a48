"""Adapters have a place, a note and no row."""

from dataclasses import replace
from pathlib import Path

import pytest

from blazar.adapters.files.landing import DiskLanding
from blazar.adapters.files.modeldir import DiskWeightFiles
from blazar.application.models.arrivals import Shipment, artefact_of_parcel, files_of
from blazar.application.models.placing_adapter import PlaceAdapter
from blazar.application.ports.remote import Parcel, Part, RemoteFile
from blazar.domain.errors import BadModelFile, Conflict
from blazar.domain.parcels import Role
from blazar.domain.references import RemoteRef
from tests.fakes.clock import FakeClock
from tests.fakes.remote import MemoryRegistry
from tests.support.gguf_files import Gguf, tiny

LORA = Gguf([("general.architecture", "llama"), ("general.type", "adapter"), ("adapter.type", "lora")], tiny().rows)


@pytest.fixture
def place(tmp_path: Path) -> PlaceAdapter:
    folder = tmp_path / "adapters"
    return PlaceAdapter(DiskWeightFiles(folder), DiskLanding(tmp_path / "downloads"), FakeClock(), str(folder))


def _arrived(tmp_path: Path, gguf: Gguf = LORA, role: Role = Role.ADAPTER, repo: str = "owner/lora") -> Shipment:
    data = gguf.build()
    part = Part(role, RemoteFile("a.gguf", len(data), "", "", str(hash(data))))
    parcel = Parcel(RemoteRef("hf", repo), (part,))
    folder = str(tmp_path / "downloads" / "x")
    gguf.save(Path(folder) / "a.gguf")
    return Shipment("", parcel, MemoryRegistry(), artefact_of_parcel(parcel), folder, files_of(parcel, folder))


def test_a_file_is_an_adapter_by_its_registry_or_by_its_header(place: PlaceAdapter, tmp_path: Path) -> None:
    """A model is none; what cannot be read is the inspection's to complain about."""
    assert place.is_one(_arrived(tmp_path))
    assert place.is_one(_arrived(tmp_path, role=Role.WEIGHTS))
    assert not place.is_one(_arrived(tmp_path, tiny(), Role.WEIGHTS))
    assert not place.is_one(_arrived(tmp_path, Gguf(magic=b"none"), Role.WEIGHTS))


def test_what_is_no_lora_is_refused(place: PlaceAdapter, tmp_path: Path) -> None:
    """Engines end themselves over it."""
    with pytest.raises(BadModelFile):
        place("a", _arrived(tmp_path, tiny()))
    assert not (tmp_path / "adapters").exists()


def test_an_adapter_that_was_pulled_is_known_again(place: PlaceAdapter, tmp_path: Path) -> None:
    """By its note; a file that is gone, or another version, is none."""
    shipment = _arrived(tmp_path)
    assert place.present("a:b", shipment) == ""
    path = place("a:b", shipment)
    assert path == str(tmp_path / "adapters" / "a%3Ab.gguf")
    assert place.present("a:b", shipment) == path
    assert place.present("a:b", _arrived(tmp_path, LORA.having(general__name="newer"))) == ""
    Path(path).unlink()
    assert place.present("a:b", shipment) == ""


def test_a_name_that_is_taken_is_refused(place: PlaceAdapter, tmp_path: Path) -> None:
    """By another repository's adapter, or by a file that somebody put there."""
    place("a", _arrived(tmp_path))
    with pytest.raises(Conflict):
        place.present("a", _arrived(tmp_path, LORA.having(general__name="other"), repo="owner/other"))
    LORA.save(tmp_path / "adapters" / "mine.gguf")
    with pytest.raises(Conflict):
        place.present("mine", _arrived(tmp_path))


def test_what_is_told_of_one_names_its_key_and_its_files(place: PlaceAdapter, tmp_path: Path) -> None:
    """Both that are to be deleted by who wants it no more; safetensors are named elsewhere than GGUF files."""
    path = place("a:b", _arrived(tmp_path))
    told = place.told(path)
    note = tmp_path / "adapters" / ".a%3Ab.json"
    assert note.is_file()
    assert all(word in told for word in (".loras", f"'{path}'", f"'{note}'"))
    folder = str(tmp_path / "adapters" / "pixel")
    assert all(word in place.told(folder) for word in ("sdcpp_lora_model_dir", f"'{tmp_path}/adapters/.pixel.json'"))


def test_who_died_over_an_adapter_is_followed_by_the_next(place: PlaceAdapter, tmp_path: Path) -> None:
    """Its link is no stranger's file; and where a stranger's is in the way nothing is noted."""
    shipment = _arrived(tmp_path)
    linked = replace(place, landing=DiskLanding(tmp_path / "downloads"))
    noted = linked.landing.keep_note
    told: list[str] = []

    def once(path: str, text: str) -> None:
        if told:
            raise SystemExit
        told.append(text)
        noted(path, text)

    linked.landing.keep_note = once  # type: ignore[method-assign] # it fails once
    with pytest.raises(SystemExit):
        linked("a", shipment)
    assert (tmp_path / "adapters" / "a.gguf").exists()
    assert place.present("a", shipment) == ""
    path = place("a", shipment)
    assert place.present("a", shipment) == path
    (tmp_path / "adapters" / "b.gguf").write_text("mine")
    with pytest.raises(Conflict):
        place("b", shipment)
    assert (tmp_path / "adapters" / "b.gguf").read_text() == "mine"
    assert not Path(place.landing.note_at(str(tmp_path / "adapters" / "b"))).exists()
