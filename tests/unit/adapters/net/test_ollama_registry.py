"""A tag and what lies beside it."""

from collections.abc import Iterator
from typing import Any

import pytest

from blazar.adapters.net.ollama_registry import MOST_TAGS, OllamaRegistry
from blazar.domain.errors import NotFound, RegistryTrouble
from blazar.domain.references import RemoteRef
from tests.support.registry import Answer, Blob, Registry, manifest

REF = RemoteRef("ollama", "library/qwen3", "8b")
ROOT = "/v2/library/qwen3"


@pytest.fixture
def ollama(registry: Registry) -> Iterator[OllamaRegistry]:
    registry.given[f"{ROOT}/manifests/8b"] = Answer(manifest(5_000))
    asking = OllamaRegistry(registry.url)
    yield asking
    asking.close()


def test_a_tag_is_its_model_layer(ollama: OllamaRegistry, registry: Registry) -> None:
    """Templates and licences are no weights; a registry that lists no tags has this one."""
    listing = ollama.listing(REF)
    (offer,) = listing.offers
    assert (offer.quant, offer.family, offer.size, offer.projectors) == ("8b", "8b", 5_000, ())
    assert offer.files[0].at == f"{registry.url}{ROOT}/blobs/sha256:{'c' * 64}"
    assert offer.files[0].name == "qwen3:8b"
    assert listing.asked is offer
    assert registry.asked[0].headers["accept"].startswith("application/vnd.docker.distribution.manifest.v2+json")


def test_a_projector_layer_goes_with_it(ollama: OllamaRegistry, registry: Registry) -> None:
    """Vision models have one."""
    registry.given[f"{ROOT}/manifests/8b"] = Answer(manifest(5_000, projector=(900, "9" * 64)))
    (offer,) = ollama.listing(REF).offers
    assert [file.size for file in offer.projectors] == [900]


def test_tags_of_the_same_size_are_listed(ollama: OllamaRegistry, registry: Registry) -> None:
    """Not those of other sizes, which are other models; the same bytes under two tags are one row."""
    registry.given[f"{ROOT}/tags/list"] = Answer(
        {"tags": ["latest", "8b", "8b-q8_0", "8b-again", "70b", "8b-gone", "8b/../x", 7]}
    )
    registry.given[f"{ROOT}/manifests/8b-q8_0"] = Answer(manifest(9_000, "1" * 64))
    registry.given[f"{ROOT}/manifests/8b-again"] = Answer(manifest(5_000))
    listing = ollama.listing(REF)
    assert [(offer.quant, offer.size) for offer in listing.offers] == [("8b", 5_000), ("8b-q8_0", 9_000)]
    assert not any("70b" in path or ".." in path for path in registry.paths())


def test_tags_are_bounded(ollama: OllamaRegistry, registry: Registry) -> None:
    """A manifest each."""
    registry.given[f"{ROOT}/tags/list"] = Answer({"tags": [f"8b-{number}" for number in range(500)]})
    (note,) = ollama.listing(REF).notes
    assert len(registry.asked) == 2 + MOST_TAGS
    assert note.startswith("not looked at: 8b-32, 8b-33")
    assert note.endswith(f"8b-51 and {500 - MOST_TAGS - 20} more; name one to see it")


@pytest.mark.parametrize(("runner", "size"), [("llamacpp", 7_000), ("mlx", 6_000)])
def test_a_list_of_manifests_is_one_for_each_runner(
    ollama: OllamaRegistry, registry: Registry, runner: str, size: int
) -> None:
    """Ours where there is one, else the first."""
    children = [
        {"digest": f"sha256:{'1' * 64}", "annotations": {"runner": "ggml"}},
        {"digest": f"sha256:{'2' * 64}", "annotations": {"runner": runner}},
        {"digest": "sha256:../x"},
        5,
    ]
    registry.given[f"{ROOT}/manifests/8b"] = Answer({"manifests": children})
    registry.given[f"{ROOT}/manifests/sha256:{'1' * 64}"] = Answer(manifest(6_000))
    registry.given[f"{ROOT}/manifests/sha256:{'2' * 64}"] = Answer(manifest(7_000))
    assert ollama.listing(REF).offers[0].size == size


@pytest.mark.parametrize(
    "body",
    [
        {"errors": []},
        {"manifests": []},
        {"manifests": [{"digest": "latest"}, None]},
        [],
        {"layers": [{**manifest(1)["layers"][0], "digest": "sha256:../../x"}]},
        {"layers": [{**manifest(1)["layers"][0], "digest": None}]},
        {"layers": [{**manifest(1)["layers"][0], "size": -1}]},
        {"layers": [{**manifest(1)["layers"][0], "size": 1.5}]},
    ],
)
def test_a_manifest_that_cannot_be_is_refused(ollama: OllamaRegistry, registry: Registry, body: Any) -> None:
    """Nothing of it becomes part of an address."""
    registry.given[f"{ROOT}/manifests/8b"] = Answer(body)
    with pytest.raises(RegistryTrouble, match="manifest"):
        ollama.listing(REF)


def test_a_model_without_weights_of_ours(ollama: OllamaRegistry, registry: Registry) -> None:
    """Safetensors layers only, or nonsense among the layers."""
    registry.given[f"{ROOT}/manifests/8b"] = Answer({"layers": [None, 5, {"mediaType": "x"}]})
    with pytest.raises(NotFound, match="qwen3:8b holds no GGUF file"):
        ollama.listing(REF)


def test_an_unknown_model_is_not_found(ollama: OllamaRegistry) -> None:
    """By the name that was typed."""
    with pytest.raises(NotFound, match=r"has no qwen3:9b, or it is private: check the spelling$"):
        ollama.listing(REF._replace(tag="9b"))


def test_a_blob_is_read_by_ranges(ollama: OllamaRegistry, registry: Registry) -> None:
    """Where the registry keeps it."""
    registry.given[f"{ROOT}/blobs/sha256:{'c' * 64}"] = Blob(b"GGUF", 5_000)
    with ollama.open(ollama.listing(REF).offers[0].files[0]) as source:
        assert source.read(5) == b"GGUF\0"
