"""What every registry must do: the one in memory, Hugging Face and ollama's, on loopback."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from blazar.adapters.net.huggingface import HuggingFace
from blazar.adapters.net.ollama_registry import OllamaRegistry
from blazar.application.ports.remote import Offer, Parcel, Part, RemoteFile, RemoteModels
from blazar.domain.errors import NotFound
from blazar.domain.parcels import Role
from blazar.domain.references import RemoteRef
from tests.fakes.remote import MemoryRegistry
from tests.support.proxies import forget_proxies
from tests.support.registry import Answer, Blob, Registry, hub_rows, manifest

FRONT = b"GGUF" + bytes(range(200))
SIZE = 5_000_000_000


@dataclass
class World:
    """A registry that holds `there` with the quantisation or tag `q8_0`, five gigabytes that begin with `FRONT`."""

    models: RemoteModels
    there: RemoteRef
    gone: RemoteRef
    no_tag: RemoteRef


def _memory(_: Registry) -> World:
    offer = Offer("Q8_0", "m", (RemoteFile("m-Q8_0.gguf", SIZE, "/m"),))
    models = MemoryRegistry({"me/m": (offer,)}, {"m-Q8_0.gguf": FRONT})
    there = RemoteRef("hf", "me/m", "q8_0")
    models.parcels[str(there)] = Parcel(there, (Part(Role.WEIGHTS, offer.files[0]),))
    return World(models, there, there._replace(repo="me/gone"), there._replace(tag="q4_0"))


def _hub(server: Registry) -> World:
    server.given["/api/models/me/m/tree/main"] = Answer(hub_rows(("m-Q8_0.gguf", SIZE)))
    server.given["/me/m/resolve/main/m-Q8_0.gguf"] = Blob(FRONT, SIZE)
    there = RemoteRef("hf", "me/m", "q8_0")
    return World(HuggingFace(server.url), there, there._replace(repo="me/gone"), there._replace(tag="q4_0"))


def _ollama(server: Registry) -> World:
    weights = manifest(SIZE)["layers"][:1]
    server.given["/v2/me/m/manifests/q8_0"] = Answer({**manifest(SIZE), "layers": weights})
    server.given[f"/v2/me/m/blobs/sha256:{'c' * 64}"] = Blob(FRONT, SIZE)
    there = RemoteRef("ollama", "me/m", "q8_0")
    return World(OllamaRegistry(server.url), there, there._replace(repo="me/gone"), there._replace(tag="q4_0"))


@pytest.fixture(params=[_memory, _hub, _ollama])
def world(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    forget_proxies(monkeypatch)
    make: Callable[[Registry], World] = request.param
    server = Registry()
    made = make(server)
    yield made
    made.models.close()
    server.close()


def test_a_listing_knows_what_was_asked_for(world: World) -> None:
    """The offer is one of the listing's, with the size of its files."""
    listing = world.models.listing(world.there)
    assert listing.ref == world.there
    assert listing.asked in listing.offers
    assert listing.asked is not None
    assert (listing.asked.quant.lower(), listing.asked.size, listing.asked.missing) == ("q8_0", SIZE, 0)


def test_what_is_not_there_is_not_found(world: World) -> None:
    """A repository, and a quantisation of one that is there; neither is listed nor pulled."""
    for ref in (world.gone, world.no_tag):
        for ask in (world.models.listing, world.models.parcel):
            with pytest.raises(NotFound):
                ask(ref)


def test_a_parcel_is_what_was_listed(world: World) -> None:
    """The same files, and how each of them is asked for."""
    listing = world.models.listing(world.there)
    parcel = world.models.parcel(world.there)
    assert listing.asked is not None
    assert [part.file for part in parcel.parts] == list(listing.asked.files)
    assert [(part.role, part.path) for part in parcel.parts] == [(Role.WEIGHTS, "")]
    assert (parcel.ref.repo, parcel.ref.tag.lower()) == (world.there.repo, "q8_0")
    file = parcel.parts[0].file
    want = world.models.wanted(file, "/here/m")
    assert want[:5] == (file.at, "/here/m", file.name, SIZE, file.sha256)


def test_the_front_of_a_file_reads_like_a_file(world: World) -> None:
    """Position, size, seeking; after the block it may be opened again."""
    offer = world.models.listing(world.there).offers[0]
    for _ in range(2):
        with world.models.open(offer.files[0]) as source:
            assert source.size == SIZE
            assert source.name
            assert source.read(4) == b"GGUF"
            assert source.read(3) == bytes((0, 1, 2))
            assert source.seek(100) == 100
            assert source.read(2) == FRONT[100:102]
