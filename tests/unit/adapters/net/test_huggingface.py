"""A repository's files as offers."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from blazar.adapters.net.huggingface import MOST_FOUND, MOST_PAGES, HuggingFace
from blazar.domain.errors import ChoiceOpen, Forbidden, NotFound, RegistryTrouble
from blazar.domain.parcels import Role
from blazar.domain.references import RemoteRef
from tests.support.model_registry import ModelRegistry, digest_of
from tests.support.registry import Answer, Asked, Blob, Registry, hub_rows
from tests.support.registry_faults import Fault

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


def test_h10_an_unknown_tag_names_those_there_are(hub: HuggingFace) -> None:
    """In one sentence, with their sizes; never the folder, or another one in its place."""
    words = r"no quantisation Q9_Z; it has Q4_K_M \(4\.68 GiB\), Q8_0 \(8\.11 GiB\), BF16 \(15\.26 GiB\)"
    for ask in (hub.listing, hub.parcel):
        with pytest.raises(ChoiceOpen, match=words):
            ask(REF._replace(tag="Q9_Z"))


def test_h10_a_quantisation_of_two_models_is_a_choice(hub: HuggingFace, registry: Registry) -> None:
    """The tag fits both: neither is taken."""
    registry.given[TREE] = Answer(hub_rows(("a-1b-Q8_0.gguf", 1), ("a-3b-Q8_0.gguf", 3)))
    with pytest.raises(ChoiceOpen, match=r"a-1b-Q8_0 .*a-3b-Q8_0"):
        hub.parcel(REF._replace(tag="Q8_0"))
    assert hub.parcel(REF._replace(tag="a-3b-Q8_0")).parts[0].file.name == "a-3b-Q8_0.gguf"


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


GGUF = b"GGUF" + bytes(100)
FILES_OF_TWO = {"m-Q4_0.gguf": GGUF, "m-Q8_0.gguf": GGUF + b"8", "README.md": b"# m", "mmproj-F16.gguf": b"GGUFp"}


@pytest.fixture
def models() -> Iterator[ModelRegistry]:
    server = ModelRegistry()
    yield server
    server.close()


def test_a_parcel_has_what_the_registry_promises(models: ModelRegistry) -> None:
    """Lengths, digests and addresses of weights and projector, and the licence; the reference with what it came to."""
    models.publish_hub("me/m", FILES_OF_TWO)
    with closing(HuggingFace(models.url)) as hub:
        parcel = hub.parcel(RemoteRef("hf", "me/m", "q8_0"))
    assert parcel.ref == RemoteRef("hf", "me/m", "Q8_0")
    weights, projector = parcel.parts
    sha256 = digest_of(GGUF + b"8")
    at = models.file_url("me/m", "m-Q8_0.gguf")
    assert weights == (Role.WEIGHTS, ("m-Q8_0.gguf", 105, at, sha256, sha256, ""), "")
    assert (projector.role, projector.file.name) == (Role.PROJECTOR, "mmproj-F16.gguf")
    assert (parcel.words.licence, parcel.notes) == ("apache-2.0", ())
    assert models.network.asked == []


def test_files_of_a_folder_that_git_keeps_have_its_mark(models: ModelRegistry) -> None:
    """No digest is promised for them; that they changed is seen all the same (case H11)."""
    models.publish_hub("me/m", {"config.json": b"{}", "model.safetensors": b"x", "README.md": b"1"})
    with closing(HuggingFace(models.url)) as hub:
        before = hub.parcel(RemoteRef("hf", "me/m"))
        models.publish_hub("me/m", {"config.json": b"{}", "model.safetensors": b"x", "README.md": b"2"})
        assert hub.parcel(RemoteRef("hf", "me/m")).parts == before.parts
        models.publish_hub("me/m", {"config.json": b"[]", "model.safetensors": b"x"})
        after = hub.parcel(RemoteRef("hf", "me/m"))
    weights, config = before.parts
    assert (weights.file.sha256, config.file.sha256) == (digest_of(b"x"), "")
    assert [old.file.mark == new.file.mark for old, new in zip(before.parts, after.parts, strict=True)] == [True, False]


@pytest.mark.parametrize("etags", ["linked", "etag", "none"])
def test_h17_a_listing_without_digests(models: ModelRegistry, etags: str) -> None:
    """A mirror that keeps files itself: the digest is what the file's own address says, or there is none."""
    repo = models.publish_hub("me/m", {"m.gguf": GGUF}, etags=etags)
    rows: list[dict[str, Any]] = [{name: row[name] for name in ("type", "path", "size")} for row in repo.rows()]
    models.given["/api/models/me/m/tree/main"] = Answer(rows)
    sha256 = digest_of(GGUF)
    with closing(HuggingFace(models.url)) as hub:
        file = hub.parcel(RemoteRef("hf", "me/m")).parts[0].file
    assert file.sha256 == (sha256 if etags == "linked" else "")
    assert file.mark == ("" if etags == "none" else sha256)


def test_a_gated_repository_says_what_to_do(models: ModelRegistry) -> None:
    """Before anything is fetched, in its name: accept the terms, set the token."""
    models.publish_hub("me/m", FILES_OF_TWO, token="hf_good", gated=True)
    ref = RemoteRef("hf", "me/m", "Q8_0")
    with closing(HuggingFace(models.url)) as hub, pytest.raises(Forbidden) as refused:
        hub.parcel(ref)
    assert "me/m: accept its terms on its page there, then set HF_TOKEN" in str(refused.value)
    with closing(HuggingFace(models.url, "hf_good")) as hub:
        assert len(hub.parcel(ref).parts) == 2


def test_a_private_repository_is_not_there_for_others(models: ModelRegistry) -> None:
    """Which is all that the hub says."""
    models.publish_hub("me/m", FILES_OF_TWO, token="hf_good")
    with closing(HuggingFace(models.url, "hf_other")) as hub, pytest.raises(NotFound, match="HF_TOKEN"):
        hub.parcel(RemoteRef("hf", "me/m", "Q8_0"))


def test_a_mirror_without_pages_is_no_reason_to_fail(models: ModelRegistry) -> None:
    """The licence is all that is missing."""
    models.publish_hub("me/m", FILES_OF_TWO)
    models.faults.set("/api/models/me/m", Fault(status=500))
    with closing(HuggingFace(models.url)) as hub:
        parcel = hub.parcel(RemoteRef("hf", "me/m", "Q8_0"))
    assert (len(parcel.parts), parcel.words.licence) == (2, "")


def test_h13_the_token_is_for_files_of_the_hub_only(models: ModelRegistry) -> None:
    """A file that lies elsewhere is asked for without it."""
    models.publish_hub("me/m", FILES_OF_TWO)
    with closing(HuggingFace(models.url, " hf_x ")) as hub:
        file = hub.parcel(RemoteRef("hf", "me/m", "Q8_0")).parts[0].file
        want = hub.wanted(file, "/here/m.gguf")
        away = hub.wanted(file._replace(at=models.url + ".evil.test/m.gguf"), "/here/m.gguf")
    assert want == (file.at, "/here/m.gguf", "m-Q8_0.gguf", 105, file.sha256, "hf_x", "HF_TOKEN", "", False, "")
    assert away.token == ""


def test_j6_a_digest_that_is_none_refuses_the_listing(models: ModelRegistry) -> None:
    """By the file's name."""
    models.publish_hub("me/m", FILES_OF_TWO)
    rows = hub_rows(("m-Q8_0.gguf", 5))
    rows[1]["lfs"]["oid"] = "../../../tmp/x"
    models.given["/api/models/me/m/tree/main"] = Answer(rows)
    with closing(HuggingFace(models.url)) as hub, pytest.raises(RegistryTrouble, match=r"m-Q8_0\.gguf by no digest"):
        hub.parcel(RemoteRef("hf", "me/m", "Q8_0"))


def test_search(models: ModelRegistry) -> None:
    """GGUF repositories of that word, the most downloaded first, bounded; everything that a row shall say is asked for."""
    for name, downloads in (("a/Qwen3-GGUF", 5), ("b/qwen3", 900), ("c/Qwen3-8B-GGUF", 70), ("d/other-GGUF", 9)):
        files = {"model.safetensors": b"x"} if name == "b/qwen3" else {"m-Q8_0.gguf": GGUF}
        models.publish_hub(name, files).facts["downloads"] = downloads
    with closing(HuggingFace(models.url)) as hub:
        assert [one.repo for one in hub.search("qwen3", 10)] == ["c/Qwen3-8B-GGUF", "a/Qwen3-GGUF"]
        assert [one.repo for one in hub.search("qwen3", 1)] == ["c/Qwen3-8B-GGUF"]
        assert hub.search("& evil=1", MOST_FOUND * 100) == ()
    query = parse_qs(urlsplit(models.asked[0].path).query)
    assert (query["filter"], query["sort"], query["limit"]) == (["gguf"], ["downloads"], ["10"])
    assert {"downloads", "siblings", "gguf"} <= set(query["expand"])
    assert parse_qs(urlsplit(models.asked[-1].path).query)["limit"] == [str(MOST_FOUND)]


def test_a_search_must_answer_a_list(models: ModelRegistry) -> None:
    """Whatever a hub of one's own answers; and no more of it is read than was asked for."""
    models.given["/api/models"] = Answer({"error": "x"})
    with closing(HuggingFace(models.url)) as hub:
        with pytest.raises(RegistryTrouble, match="no list"):
            hub.search("x", 5)
        models.given["/api/models"] = Answer([{"id": f"a/m{number}"} for number in range(500)])
        assert len(hub.search("x", 5)) == 5
