"""A repository's files as offers."""

from collections.abc import Iterator

import pytest

from blazar.adapters.net.huggingface import MOST_PAGES, HuggingFace
from blazar.domain.errors import NotFound, RegistryTrouble
from blazar.domain.references import RemoteRef
from tests.support.registry import Answer, Asked, Blob, Registry, hub_rows

REF = RemoteRef("hf", "ggml-org/Qwen3-8B-GGUF")
TREE = "/api/models/ggml-org/Qwen3-8B-GGUF/tree/main"
FILES = (
    (".gitattributes", 1600),
    ("README.md", 5000),
    ("Qwen3-8B-Q4_K_M.gguf", 5_027_783_488),
    ("Qwen3-8B-Q8_0.gguf", 8_709_518_112),
    ("BF16/Qwen3-8B-BF16-00001-of-00002.gguf", 10_000_000_000),
    ("BF16/Qwen3-8B-BF16-00002-of-00002.gguf", 6_388_044_032),
    ("mmproj-Qwen3-8B-F16.gguf", 800_000_000),
)


@pytest.fixture
def hub(registry: Registry) -> Iterator[HuggingFace]:
    registry.given[TREE] = Answer(hub_rows(*FILES))
    asking = HuggingFace(registry.url)
    yield asking
    asking.close()


def test_a_repository_is_its_quantisations(hub: HuggingFace, registry: Registry) -> None:
    """Shards summed, projectors apart, other files left out; each file at its address."""
    listing = hub.listing(REF)
    assert [(offer.quant, offer.size, len(offer.files)) for offer in listing.offers] == [
        ("Q4_K_M", 5_027_783_488, 1),
        ("Q8_0", 8_709_518_112, 1),
        ("BF16", 16_388_044_032, 2),
    ]
    assert listing.asked is None
    assert {offer.family for offer in listing.offers} == {"qwen3-8b"}
    first = listing.offers[2].files[0]
    assert first.at == f"{registry.url}/ggml-org/Qwen3-8B-GGUF/resolve/main/{FILES[4][0]}"
    assert [file.name for file in listing.offers[0].projectors] == ["mmproj-Qwen3-8B-F16.gguf"]
    assert registry.paths() == [f"{TREE}?recursive=true"]


@pytest.mark.parametrize("tag", ["Q8_0", "q8_0", "Qwen3-8B-Q8_0", "Qwen3-8B-Q8_0.gguf"])
def test_a_tag_names_one_of_them(hub: HuggingFace, tag: str) -> None:
    """By quantisation or file name, in any case."""
    asked = hub.listing(REF._replace(tag=tag)).asked
    assert asked is not None
    assert asked.quant == "Q8_0"


def test_a_tag_means_a_dynamic_quantisation_where_there_is_no_other(hub: HuggingFace, registry: Registry) -> None:
    """`Q4_K_XL` exists as `UD-Q4_K_XL` only."""
    registry.given[TREE] = Answer(hub_rows(("m-UD-Q4_K_XL.gguf", 5), ("m-Q4_K_M.gguf", 4)))
    asked = hub.listing(REF._replace(tag="Q4_K_XL")).asked
    assert asked is not None
    assert asked.quant == "UD-Q4_K_XL"


def test_an_unknown_tag_names_those_there_are(hub: HuggingFace) -> None:
    """In one sentence."""
    with pytest.raises(NotFound, match="no quantisation Q3_K_S; it has BF16, Q4_K_M, Q8_0"):
        hub.listing(REF._replace(tag="Q3_K_S"))


def test_models_of_one_quantisation_go_by_their_names(hub: HuggingFace, registry: Registry) -> None:
    """A repository with two sizes of a model: neither label nor family may mix them up."""
    registry.given[TREE] = Answer(hub_rows(("a-1b-Q8_0.gguf", 1), ("a-3b-Q8_0.gguf", 3), ("a-3b-Q4_0.gguf", 2)))
    offers = hub.listing(REF).offers
    assert [offer.quant for offer in offers] == ["a-1b-Q8_0", "a-3b-Q8_0", "Q4_0"]
    assert [offer.family for offer in offers] == ["a-1b", "a-3b", "a-3b"]


def test_a_repository_without_gguf_says_where_to_look(hub: HuggingFace, registry: Registry) -> None:
    """Safetensors are no files of ours yet."""
    registry.given[TREE] = Answer(hub_rows(("model.safetensors", 9)))
    with pytest.raises(NotFound, match="no GGUF file: look for a repository"):
        hub.listing(REF)


def test_pages_are_followed_on_the_same_server(hub: HuggingFace, registry: Registry, network: Registry) -> None:
    """`Link: rel=next`, which could lead anywhere, and could go on for ever."""
    pages: list[Asked] = []

    def page(asked: Asked) -> Answer:
        pages.append(asked)
        link = f'<{registry.url}{TREE}?recursive=true&cursor={len(pages)}>; rel="next"'
        return Answer(hub_rows((f"m-Q{len(pages) % 8}_0.gguf", 1)), headers=(("link", link),))

    registry.given[TREE] = page
    listing = hub.listing(REF)
    assert len(pages) == MOST_PAGES
    (note,) = listing.notes
    assert f"lists more than {2 * MOST_PAGES} files" in note
    assert pages[1].path.endswith("cursor=1")
    registry.given[TREE] = Answer(hub_rows(*FILES), headers=(("link", f'<{network.url}/x>; rel="next"'),))
    assert hub.listing(REF).notes == ()
    assert network.asked == []


@pytest.mark.parametrize(
    "row",
    [
        None,
        [],
        {"type": "file"},
        {"type": "file", "path": "../m-Q8_0.gguf", "size": 5},
        {"type": "file", "path": "/m-Q8_0.gguf", "size": 5},
        {"type": "file", "path": "a//m-Q8_0.gguf", "size": 5},
        {"type": "file", "path": "m-Q8_0\x1b[2J.gguf", "size": 5},
        {"type": "file", "path": "m?x=-Q8_0.gguf", "size": 5},
        {"type": "file", "path": "m" * 600 + "-Q8_0.gguf", "size": 5},
        {"type": "file", "path": "m-Q8_0.gguf", "size": "5"},
        {"type": "file", "path": "m-Q8_0.gguf", "size": -5},
        {"type": "file", "path": "m-Q8_0.gguf", "size": 2**63},
        {"type": "file", "path": "m-Q8_0.gguf", "size": True},
    ],
)
def test_rows_that_cannot_be_are_left_out(hub: HuggingFace, registry: Registry, row: object) -> None:
    """Paths that climb, sizes that are none; the rest of the listing stands."""
    registry.given[TREE] = Answer([row, *hub_rows(("m-Q4_0.gguf", 5))])
    assert [offer.quant for offer in hub.listing(REF).offers] == ["Q4_0"]


@pytest.mark.parametrize("body", [{"error": "x"}, "text", 5, None])
def test_a_listing_must_be_a_list(hub: HuggingFace, registry: Registry, body: object) -> None:
    """Whatever a hub of one's own answers."""
    registry.given[TREE] = Answer(body)
    with pytest.raises(RegistryTrouble, match="no list"):
        hub.listing(REF)


def test_a_file_is_read_where_the_hub_sends_us(hub: HuggingFace, registry: Registry, network: Registry) -> None:
    """`resolve` redirects to a content network, which takes the range."""
    file = hub.listing(REF).offers[0].files[0]
    registry.given[f"/ggml-org/Qwen3-8B-GGUF/resolve/main/{file.name}"] = Answer(
        status=302, headers=(("location", network.url + "/blob?sig=1"),)
    )
    network.given["/blob"] = Blob(b"GGUF", file.size)
    with hub.open(file) as source:
        assert (source.read(4), source.size, source.name) == (b"GGUF", file.size, file.name)


def test_the_token_is_sent_to_the_hub(registry: Registry) -> None:
    """As a bearer token."""
    registry.given[TREE] = Answer(hub_rows(*FILES))
    hub = HuggingFace(registry.url + "/", "hf_x")
    hub.listing(REF)
    assert registry.asked[0].headers["authorization"] == "Bearer hf_x"
    hub.close()
