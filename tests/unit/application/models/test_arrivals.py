"""Names and versions of what is on its way."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blazar.application.models.arrivals import Shipment, address_of, artefact_of_parcel, files_of, mark_of, sealed
from blazar.application.ports.remote import Parcel, Part, RemoteFile
from blazar.domain.errors import NotFound, RegistryTrouble
from blazar.domain.parcels import Role, Words
from blazar.domain.references import RemoteRef
from tests.fakes.remote import MemoryRegistry

REF = RemoteRef("hf", "owner/repo", "Q4_0")


def _parcel(*files: tuple[Role, str], words: Words = Words()) -> Parcel:  # noqa: B008 - immutable
    parts = [
        Part(role, RemoteFile(name, 1, name, f"{at:064x}"), name * (role is Role.FOLDER))
        for at, (role, name) in enumerate(files)
    ]
    return Parcel(REF, tuple(parts), words)


def _names(parcel: Parcel) -> list[str]:
    return [one.at.removeprefix("/d/") for one in files_of(parcel, "/d")]


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("Tiny-Q4_0.gguf", "Tiny-Q4_0.gguf"),
        ("sub/Tiny.gguf", "Tiny.gguf"),
        ("flux.safetensors", "flux.safetensors"),
        ("sha256-abc", "weights.gguf"),
        ("../../x.gguf", "x.gguf"),
        ("-x.gguf", "weights.gguf"),
        ("x.gguf.part", "weights.gguf"),
        ("big-00002-of-00003.gguf", "weights.gguf"),
        ("nul\0.gguf", "weights.gguf"),
        ("x" * 300 + ".gguf", "weights.gguf"),
    ],
)
def test_a_single_file_keeps_its_name_if_a_file_may_be_called_so(given: str, name: str) -> None:
    """Else it gets ours: inspection goes by the suffix."""
    assert _names(_parcel((Role.WEIGHTS, given))) == [name]


def test_shards_are_called_so_that_engines_find_them() -> None:
    """As they are where that is a set in order, else by our own stem."""
    right = [(Role.WEIGHTS, f"UD/Big-{number:05d}-of-00002.gguf") for number in (1, 2)]
    assert _names(_parcel(*right)) == ["Big-00001-of-00002.gguf", "Big-00002-of-00002.gguf"]
    ours = ["weights-00001-of-00002.gguf", "weights-00002-of-00002.gguf"]
    assert _names(_parcel(*reversed(right))) == ours
    assert _names(_parcel((Role.WEIGHTS, "sha256-a"), (Role.WEIGHTS, "sha256-b"))) == ours


def test_a_projector_is_called_as_inspection_looks_for_it() -> None:
    """Whatever its publisher called it."""
    assert _names(_parcel((Role.WEIGHTS, "a.gguf"), (Role.PROJECTOR, "sight.bin"))) == ["a.gguf", "mmproj.gguf"]


def test_two_files_of_one_name_are_refused() -> None:
    """Even where only the case differs: not every file system tells those apart."""
    with pytest.raises(RegistryTrouble):
        files_of(_parcel((Role.FOLDER, "config.json"), (Role.FOLDER, "Config.json")), "/d")


def test_two_projectors_are_one_too_many() -> None:
    """Both would be one file; it is not their names that are wrong."""
    with pytest.raises(RegistryTrouble, match="more than one projector"):
        _names(_parcel((Role.WEIGHTS, "a.gguf"), (Role.PROJECTOR, "m:1 projector"), (Role.PROJECTOR, "m:1 projector")))


def test_a_projector_alone_is_no_model() -> None:
    """Nor is nothing."""
    with pytest.raises(NotFound):
        files_of(_parcel((Role.PROJECTOR, "mmproj.gguf")), "/d")
    with pytest.raises(NotFound):
        files_of(_parcel(), "/d")


@given(st.text(max_size=40))
def test_no_name_leads_out_of_its_folder(name: str) -> None:
    """Of any name a place below the folder, or a refusal."""
    for role in (Role.FOLDER, Role.ADAPTER, Role.WEIGHTS):
        try:
            (one,) = files_of(_parcel((role, name)), "/d")
        except RegistryTrouble:
            continue
        assert one.at.startswith("/d/")
        steps = one.at.removeprefix("/d/").split("/")
        assert not any(step in ("", ".", "..") or step.startswith(".") for step in steps)
        assert "\\" not in one.at
        assert one.at.isprintable()


def test_a_version_is_its_files_and_what_changes_an_answer() -> None:
    """The order says nothing, nor does a licence (case H11)."""
    one, other = (Role.FOLDER, "a.json"), (Role.FOLDER, "b.json")
    plain = artefact_of_parcel(_parcel(one, other))
    parts = _parcel(one, other).parts
    assert artefact_of_parcel(Parcel(REF, parts[::-1])) == plain
    assert artefact_of_parcel(Parcel(REF, parts, Words(licence="MIT"))) == plain
    assert artefact_of_parcel(Parcel(REF, parts[:1])) != plain
    assert artefact_of_parcel(Parcel(REF, parts, Words(system="x"))) != plain
    assert artefact_of_parcel(Parcel(REF, parts, Words(parameters={"top_k": 1}))) != plain


def test_a_file_without_a_digest_is_told_by_what_else_there_is() -> None:
    """What its host says of it, of that address alone, whatever that looks like."""
    digest, here = "d" * 64, "https://a.example/m.gguf"
    assert mark_of(RemoteFile("a", 1, here, digest, "m")) == f"sha256:{digest}"
    told = RemoteFile("a", 1, here, "", digest)
    others = [
        told._replace(at="https://b.example/m.gguf"),
        told._replace(at="https://a.example/n.gguf"),
        told._replace(size=2),
        told._replace(mark="e" * 64),
        told._replace(mark=""),
    ]
    marks = {mark_of(file) for file in (told, *others)}
    assert len(marks) == 6
    assert not any(digest in mark or mark.startswith("sha256:") for mark in marks)
    assert mark_of(told._replace(at=f"{here}?sig=2")) == mark_of(told)
    unsaid = told._replace(mark="")
    assert mark_of(unsaid._replace(at=f"{here}?file=2")) != mark_of(unsaid)


def test_what_nobody_vouched_for_is_sealed_by_what_came() -> None:
    """So that the next pull finds it by its bytes; a promise stays what it was."""
    parcel = _parcel((Role.WEIGHTS, "a.gguf"), (Role.PROJECTOR, "b.gguf"))
    weights, projector = parcel.parts
    silent = weights._replace(file=weights.file._replace(sha256="", mark=""))
    parcel = parcel._replace(parts=(silent, projector))
    shipment = Shipment("", parcel, MemoryRegistry(), artefact_of_parcel(parcel), "/d", files_of(parcel, "/d"))
    assert [one.is_vouched for one in shipment.files] == [False, True]
    done = sealed(shipment, {"/d/a.gguf": "ab" * 32})
    assert done.is_vouched
    assert done.files[0].mark == "sha256:" + "ab" * 32
    assert done.files[1] == shipment.files[1]
    assert done.artefact == artefact_of_parcel(done.parcel) != shipment.artefact
    assert done.folder == shipment.folder


def test_a_shipment_knows_what_is_to_be_looked_at() -> None:
    """A folder, the first shard, a file that stands alone."""

    def shipment(*files: tuple[Role, str]) -> Shipment:
        parcel = _parcel(*files)
        return Shipment("", parcel, MemoryRegistry(), "ab" * 32, "/d", files_of(parcel, "/d"))

    folder = shipment((Role.FOLDER, "config.json"), (Role.FOLDER, "model.safetensors"))
    assert (folder.model_path, folder.single, folder.is_adapter, folder.size) == ("/d", "", False, 2)
    sights = shipment((Role.WEIGHTS, "a.gguf"), (Role.PROJECTOR, "p.gguf"))
    assert (sights.model_path, sights.single) == ("/d/a.gguf", "")
    alone = shipment((Role.WEIGHTS, "a.gguf"))
    assert (alone.model_path, alone.single, alone.key) == ("/d/a.gguf", "/d/a.gguf", "ab" * 6)
    assert shipment((Role.ADAPTER, "a.gguf")).is_adapter


def test_a_hub_s_file_is_known_by_its_address() -> None:
    """Without who asked for it; what a registry of layers calls its files says nothing."""
    part = Part(Role.WEIGHTS, RemoteFile("A.gguf", 1, "https://me:secret@hub.example/a/b/resolve/main/A.gguf?sig=1"))
    assert address_of(Parcel(RemoteRef("hf", "a/b"), (part,))) == "https://hub.example/a/b/resolve/main/A.gguf"
    assert address_of(Parcel(RemoteRef("ollama", "a/b", "latest"), (part,))) == ""
    assert address_of(Parcel(RemoteRef("hf", "a/b"), ())) == ""
