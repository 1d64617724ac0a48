"""Adapters that came with a model: their links, and whose they are."""

from pathlib import Path

import pytest

from blazar.adapters.files.modeldir import DiskWeightFiles
from blazar.application.models.arrivals import Shipment, artefact_of_parcel, files_of
from blazar.application.models.laid_adapters import adapters_of, are_there, link_adapters, ours_alone
from blazar.application.ports.remote import Parcel, Part, RemoteFile
from blazar.domain.errors import BadModelFile
from blazar.domain.overlay import Overlay
from blazar.domain.parcels import Role
from blazar.domain.references import RemoteRef
from blazar.domain.weight_names import came_along
from tests.fakes.catalog import MemoryModelCatalog
from tests.fakes.overlays import MemoryOverlays
from tests.fakes.remote import MemoryRegistry
from tests.support.gguf_files import Gguf, tiny

LORA = Gguf([("general.architecture", "llama"), ("general.type", "adapter"), ("adapter.type", "lora")], tiny().rows)


def _arrived(folder: Path, *adapters: Gguf) -> Shipment:
    """A model with adapters, named as a registry of layers names them."""
    parts = [Part(Role.WEIGHTS, RemoteFile("m:1b", 5, "", "a" * 64, "a" * 64))]
    parts += [
        Part(Role.ADAPTER, RemoteFile("m:1b adapter", 5, "", f"{number}" * 64, f"{number}" * 64))
        for number in range(len(adapters))
    ]
    parcel = Parcel(RemoteRef("ollama", "library/m", "1b"), tuple(parts))
    files = files_of(parcel, str(folder))
    for one, gguf in zip(files[1:], adapters, strict=True):
        gguf.save(Path(one.at))
    return Shipment("", parcel, MemoryRegistry(), artefact_of_parcel(parcel), str(folder), files)


def test_each_gets_a_link_of_its_own(tmp_path: Path) -> None:
    """In the order in which they came; a model without any gets none."""
    weights = DiskWeightFiles(tmp_path / "models")
    links = link_adapters(weights, "m:1b", _arrived(tmp_path / "d", LORA, LORA.having(general__name="b")), "llama")
    assert [Path(link).name for link in links] == ["m%3A1b%40lora-000000000000.gguf", "m%3A1b%40lora-111111111111.gguf"]
    assert all(Path(link).is_file() for link in links)
    assert link_adapters(weights, "m:1b", _arrived(tmp_path / "e"), "llama") == ()


@pytest.mark.parametrize(("gguf", "arch"), [(tiny(), "llama"), (LORA, "qwen3")])
def test_one_that_the_model_cannot_take_is_refused(tmp_path: Path, gguf: Gguf, arch: str) -> None:
    """It would end the engine."""
    with pytest.raises(BadModelFile):
        link_adapters(DiskWeightFiles(tmp_path / "models"), "m", _arrived(tmp_path / "d", gguf), arch)
    assert not (tmp_path / "models").exists()


def test_only_our_own_links_go_and_only_those_of_no_other_model(tmp_path: Path) -> None:
    """A person may have named a file of their own; a copy of the model names ours."""
    overlays, catalog = MemoryOverlays(), MemoryModelCatalog()
    ours, theirs = str(tmp_path / "m%40lora-000000000000.gguf"), str(tmp_path / "mine.gguf")
    overlays.keep("m", Overlay(adapters=(ours, theirs)), {})
    assert adapters_of(overlays, "m") == (ours, theirs)
    assert adapters_of(None, "m") == adapters_of(overlays, "other") == ()
    assert ours_alone((ours, theirs), "m", catalog, overlays) == (ours,)


def test_an_adapter_that_is_gone_is_missed(tmp_path: Path) -> None:
    """The next pull brings it."""
    weights, overlays = DiskWeightFiles(tmp_path / "models"), MemoryOverlays()
    main = _arrived(tmp_path / "d", LORA)
    assert not are_there(weights, overlays, "m", main)
    links = link_adapters(weights, "m", main, "llama")
    overlays.keep("m", Overlay(adapters=links), {})
    assert are_there(weights, overlays, "m", main)
    Path(links[0]).unlink()
    assert not are_there(weights, overlays, "m", main)
    assert are_there(weights, overlays, "other", _arrived(tmp_path / "e"))


def test_an_adapter_that_comes_no_more_is_too_much(tmp_path: Path) -> None:
    """What its registry dropped is to be taken away; a person's own file is none of its business."""
    weights, overlays, plain = DiskWeightFiles(tmp_path / "models"), MemoryOverlays(), _arrived(tmp_path / "e")
    links = link_adapters(weights, "m", _arrived(tmp_path / "d", LORA), "llama")
    overlays.keep("m", Overlay(adapters=links), {})
    assert came_along(links[0])
    assert not are_there(weights, overlays, "m", plain)
    overlays.keep("m", Overlay(adapters=(str(tmp_path / "mine.gguf"),)), {})
    assert are_there(weights, overlays, "m", plain)
