"""A file at a plain address."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from blazar.adapters.net.direct import MOST_SHARDS, DirectFile
from blazar.domain.errors import Malformed, NotFound, RegistryTrouble, Unserved
from blazar.domain.parcels import Role
from blazar.domain.references import RemoteRef
from tests.support.registry import Answer, Registry
from tests.support.registry_faults import Stored

SHA = "a" * 64


def ref(registry: Registry, path: str) -> RemoteRef:
    return RemoteRef("url", "m", file=registry.url + path)


@pytest.fixture
def host(registry: Registry) -> Iterator[DirectFile]:
    with closing(DirectFile(registry.url + "/x.gguf")) as asking:
        yield asking


def test_a_file_is_its_length_and_what_tells_versions_apart(host: DirectFile, registry: Registry) -> None:
    """No digest where the host tells none; the query stays with the address."""
    registry.given["/d/m-Q8_0.gguf"] = Stored(bytes(1000))
    (part,) = host.parcel(ref(registry, "/d/m-Q8_0.gguf?sig=1")).parts
    assert part.role is Role.WEIGHTS
    assert part.file[:5] == ("m-Q8_0.gguf", 1000, registry.url + "/d/m-Q8_0.gguf?sig=1", "", "v1")
    want = host.wanted(part.file, "/here")
    assert (want.url, want.path, want.size, want.token) == (part.file.at, "/here", 1000, "")


def test_h17_a_digest_that_is_told_is_kept_to(host: DirectFile, registry: Registry) -> None:
    """A mirror of Hugging Face says it beside the file."""
    registry.given["/m.gguf"] = Stored(bytes(9), None, (("x-linked-etag", f'"{SHA}"'),))
    (part,) = host.parcel(ref(registry, "/m.gguf")).parts
    assert (part.file.sha256, part.file.mark) == (SHA, SHA)


@pytest.mark.parametrize("tag", [None, 'W/"v1"', '""'])
def test_without_a_strong_tag_nothing_tells_versions_apart(
    host: DirectFile, registry: Registry, tag: str | None
) -> None:
    """A length is no mark: many files have it."""
    registry.given["/m.gguf"] = Stored(bytes(1000), tag)
    assert host.parcel(ref(registry, "/m.gguf")).parts[0].file.mark == ""


def test_a_shard_is_its_set(host: DirectFile, registry: Registry) -> None:
    """From whichever of them; one that lacks is not found."""
    for number in (1, 2):
        registry.given[f"/d/m x-0000{number}-of-00002.gguf"] = Stored(bytes(number))
    parts = host.parcel(ref(registry, "/d/m%20x-00002-of-00002.gguf?k=1")).parts
    assert [(part.file.name, part.file.size) for part in parts] == [
        ("m x-00001-of-00002.gguf", 1),
        ("m x-00002-of-00002.gguf", 2),
    ]
    assert parts[0].file.at == f"{registry.url}/d/m%20x-00001-of-00002.gguf?k=1"
    with pytest.raises(NotFound, match=r"m-00001-of-00002\.gguf"):
        host.parcel(ref(registry, "/m-00002-of-00002.gguf"))


def test_a_set_is_of_one_version(host: DirectFile, registry: Registry) -> None:
    """Each shard is wanted as it was found; a single file by any version that comes whole."""
    for number in (1, 2):
        registry.given[f"/m-0000{number}-of-00002.gguf"] = Stored(bytes(5), f'"v{number}"')
    registry.given["/m.gguf"] = Stored(bytes(5), '"v1"')
    files = [part.file for part in host.parcel(ref(registry, "/m-00001-of-00002.gguf")).parts]
    single = host.parcel(ref(registry, "/m.gguf")).parts[0].file
    assert [host.wanted(file, "x").etag for file in (*files, single)] == ["v1", "v2", ""]


def test_a_set_without_end_is_one_file(host: DirectFile, registry: Registry) -> None:
    """Nobody asks for 99 999 lengths."""
    name = f"/m-00001-of-{MOST_SHARDS + 1:05d}.gguf"
    registry.given[name] = Stored(bytes(5))
    assert len(host.parcel(ref(registry, name)).parts) == 1
    assert len(registry.asked) == 1


@pytest.mark.parametrize(("name", "role"), [("mmproj-F16.gguf", Role.PROJECTOR), ("x-lora.gguf", Role.ADAPTER)])
def test_what_is_no_model_is_told_apart(host: DirectFile, registry: Registry, name: str, role: Role) -> None:
    """By its name."""
    registry.given[f"/{name}"] = Stored(bytes(5))
    assert host.parcel(ref(registry, f"/{name}")).parts[0].role is role


def test_a_listing_is_that_one_file(host: DirectFile, registry: Registry) -> None:
    """Which is what was asked for; its front is read where it lies."""
    registry.given["/m-Q8_0.gguf"] = Stored(b"GGUF" + bytes(96))
    listing = host.listing(ref(registry, "/m-Q8_0.gguf"))
    assert listing.asked is listing.offers[0]
    assert (listing.asked.quant, listing.asked.size) == ("Q8_0", 100)
    with host.open(listing.asked.files[0]) as source:
        assert source.read(4) == b"GGUF"


def test_h2_a_file_of_no_bytes_is_told_as_nothing(host: DirectFile, registry: Registry) -> None:
    """So is one whose length nobody says."""
    registry.given["/m.gguf"] = Answer(b"")
    with pytest.raises(RegistryTrouble, match="0 bytes received"):
        host.parcel(ref(registry, "/m.gguf"))
    registry.given["/m.gguf"] = Answer(b"x", 206, (("content-range", "bytes 0-0/*"),))
    with pytest.raises(RegistryTrouble, match="does not say how long"):
        host.parcel(ref(registry, "/m.gguf"))


@pytest.mark.parametrize("address", ["http://files.example/m.gguf", "ftp://files.example/m.gguf", "file:///etc/passwd"])
def test_h13_https_alone(address: str) -> None:
    """But for this machine."""
    with pytest.raises(Malformed, match="https"):
        DirectFile(address)


def test_there_is_nothing_to_search(host: DirectFile) -> None:
    """Said with the host's name."""
    with pytest.raises(Unserved, match="no search"):
        host.search("qwen", 5)
