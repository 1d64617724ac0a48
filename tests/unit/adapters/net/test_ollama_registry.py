"""A tag and what lies beside it."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from blazar.adapters.net.ollama_layers import KIND, LONGEST_TEXT
from blazar.adapters.net.ollama_registry import MOST_TAGS, OllamaRegistry
from blazar.adapters.net.patience import BRIEF, TRIES
from blazar.domain import teaching
from blazar.domain.errors import BlazarError, Busy, NotFound, RegistryGarbled, RegistryTrouble, Unserved
from blazar.domain.parcels import Role
from blazar.domain.references import RemoteRef
from tests.support.model_registry import Auth, ModelRegistry, digest_of
from tests.support.registry import Answer, Blob, Registry, manifest
from tests.support.registry_faults import Fault

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


GGUF = b"GGUF" + bytes(100)
LAYERS = (
    ("model", GGUF),
    ("template", b"{{ .Prompt }}"),
    ("params", json.dumps({"stop": ["<|im_end|>"], "temperature": 0.6}).encode()),
    ("license", b"Apache 2.0"),
    ("system", b""),
)
PULLED = RemoteRef("ollama", "library/m", "1b")


@pytest.fixture
def models() -> Iterator[ModelRegistry]:
    server = ModelRegistry()
    server.publish("library/m", "1b", LAYERS)
    yield server
    server.close()


def test_a_parcel_is_weights_and_words(models: ModelRegistry) -> None:
    """The weights are promised by their digest and not fetched; the words are, and the rest of the manifest is left."""
    with closing(OllamaRegistry(models.url)) as asking:
        parcel = asking.parcel(PULLED)
        (part,) = parcel.parts
        want = asking.wanted(part.file, "/here")
    sha256 = digest_of(GGUF)
    at = f"{models.url}/v2/library/m/blobs/sha256:{sha256}"
    assert part == (Role.WEIGHTS, ("m:1b", 104, at, sha256, sha256, ""), "")
    assert (want.url, want.path, want.size, want.sha256, want.token) == (at, "/here", 104, sha256, "")
    assert parcel.words.template == "{{ .Prompt }}"
    assert parcel.words.parameters == {"stop": ["<|im_end|>"], "temperature": 0.6}
    assert (parcel.words.licence, parcel.words.system) == ("Apache 2.0", "")
    assert parcel.ref == PULLED
    assert not any(sha256 in path for path in models.network.paths())


def test_projector_and_adapter_come_with_it(models: ModelRegistry) -> None:
    """One unit."""
    models.publish("library/m", "1b", [("projector", b"p"), ("adapter", b"a"), *LAYERS])
    with closing(OllamaRegistry(models.url)) as asking:
        roles = [part.role for part in asking.parcel(PULLED).parts]
    assert roles == [Role.WEIGHTS, Role.PROJECTOR, Role.ADAPTER]


@pytest.mark.parametrize(
    ("layers", "words"),
    [
        ([("tensor", b"t"), ("template", b"x")], "tensor by tensor"),
        ([("template", b"x")], "holds no GGUF file"),
        ([("projector", b"p")], "holds no GGUF file"),
    ],
)
def test_what_is_no_gguf_is_not_pulled(models: ModelRegistry, layers: list[tuple[str, bytes]], words: str) -> None:
    """Said before anything of it is fetched."""
    models.publish("library/m", "1b", layers)
    with closing(OllamaRegistry(models.url)) as asking, pytest.raises(NotFound, match=words):
        asking.parcel(PULLED)
    assert models.network.asked == []


@pytest.mark.parametrize("fault", [Fault(flip=3), Fault(length=5), Fault(cut=2)])
def test_words_that_were_spoilt_on_the_way_are_refused(models: ModelRegistry, fault: Fault) -> None:
    """By their digest."""
    models.spoil(digest_of(b"{{ .Prompt }}"), fault)
    with closing(OllamaRegistry(models.url)) as asking, pytest.raises(RegistryTrouble):
        asking.parcel(PULLED)


def test_words_are_read_no_further_than_they_are_long(models: ModelRegistry) -> None:
    """By what the manifest says of them, and by a bound."""
    spoilt = models.publish("library/m", "1b", LAYERS)
    spoilt["layers"][1]["size"] = 5
    with closing(OllamaRegistry(models.url)) as asking:
        with pytest.raises(RegistryGarbled, match="the template of m:1b is not what its digest promises"):
            asking.parcel(PULLED)
        spoilt["layers"][1]["size"] = LONGEST_TEXT + 1
        found = asking.parcel(PULLED)
    assert found.words.template == ""
    assert found.notes == (teaching.remote_words_left("m:1b", ["template (larger than 1 MiB)"]),)


def test_a_token_that_everybody_gets_is_fetched(models: ModelRegistry) -> None:
    """For that service and scope, once; it goes to the registry and not to where files lie."""
    models.auth = Auth()
    with closing(OllamaRegistry(models.url)) as asking:
        asking.parcel(PULLED)
        asking.parcel(PULLED)
    tokens = [path for path in models.paths() if path.startswith("/token")]
    assert tokens == ["/token?service=registry&scope=repository%3Alibrary%2Fm%3Apull"]
    assert all("authorization" not in asked.headers for asked in models.network.asked)
    assert models.network.asked


def test_a_token_that_has_run_out_is_fetched_anew(models: ModelRegistry) -> None:
    """They live for minutes."""
    models.auth = Auth()
    with closing(OllamaRegistry(models.url)) as asking:
        asking.parcel(PULLED)
        models.auth = Auth(token="second")
        asking.parcel(PULLED)
    assert sum(path.startswith("/token") for path in models.paths()) == 2


def test_h12_a_realm_elsewhere_is_refused(models: ModelRegistry, network: Registry) -> None:
    """Nothing is sent there, and the sentence names it."""
    for realm in (f"{network.url}/token", "http://evil.test/token", "file:///etc/passwd", "https://169.254.169.254/"):
        models.auth = Auth(realm=realm)
        with closing(OllamaRegistry(models.url)) as asking, pytest.raises(RegistryTrouble) as refused:
            asking.parcel(PULLED)
        assert f"asks for a token from {realm}, which is not its own address" in str(refused.value)
    assert network.asked == []
    assert not any(path.startswith("/token") for path in models.paths())


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (Answer({"token": ""}), RegistryGarbled),
        (Answer([]), RegistryGarbled),
        (Answer(b"<html>"), RegistryGarbled),
        (Answer({"token": "wrong"}), NotFound),
        (Answer({}, 401, (("www-authenticate", 'Bearer realm="/token"'),)), NotFound),
        (Answer({}, 500), RegistryTrouble),
    ],
)
def test_a_token_server_that_gives_none(models: ModelRegistry, answer: Answer, kind: type[BlazarError]) -> None:
    """Asked once: what is refused with its token is refused. One that is in trouble is asked again, as for a manifest."""
    models.auth = Auth()
    models.given["/token"] = answer
    with closing(OllamaRegistry(models.url)) as asking, pytest.raises(kind):
        asking.parcel(PULLED)
    assert sum(path.startswith("/token") for path in models.paths()) == (1 if answer.status != 500 else TRIES)


@pytest.mark.parametrize("path", ["/v2/library/m/manifests/1b", "/v2/library/m/blobs/{layer}"])
@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=503, headers=(("retry-after", "0"),)),
        Fault(status=429, headers=(("retry-after", "Thu, 01 Jan 1970 00:00:00 GMT"),)),
        Fault(status=429),
        Fault(status=500),
    ],
    ids=["503", "429", "429-untold", "500"],
)
def test_a_registry_in_trouble_for_a_moment_ends_no_pull(models: ModelRegistry, fault: Fault, path: str) -> None:
    """Manifests and texts are asked for five times, as files are; a listing that somebody waits for three times."""
    (layer,) = (
        one["digest"] for one in models.manifests["library/m", "1b"]["layers"] if "template" in one["mediaType"]
    )
    at = path.format(layer=layer)
    models.faults.set(at, replace(fault, times=TRIES - 1))
    with closing(OllamaRegistry(models.url)) as asking:
        assert asking.parcel(PULLED).words.template == "{{ .Prompt }}"
    assert models.paths().count(at) == TRIES
    if "manifests" in path:
        models.asked.clear()
        models.faults.set(at, replace(fault, times=-1))
        with closing(OllamaRegistry(models.url)) as asking, pytest.raises((Busy, RegistryTrouble)):
            asking.listing(PULLED)
        assert models.paths().count(at) == BRIEF.tries


def test_a_registry_that_asks_for_too_long_is_told_at_once(models: ModelRegistry) -> None:
    """Nobody waits for an hour before an empty screen."""
    at = "/v2/library/m/manifests/1b"
    models.faults.set(at, Fault(status=429, headers=(("retry-after", "61"),)))
    with closing(OllamaRegistry(models.url)) as asking, pytest.raises(Busy, match="try again in 61 s"):
        asking.parcel(PULLED)
    assert models.paths().count(at) == 1


def test_a_stop_ends_the_waiting_for_a_registry(models: ModelRegistry) -> None:
    """Within a moment, with its reason, though the registry asked for a minute (case H9)."""
    at = "/v2/library/m/manifests/1b"
    models.faults.set(at, Fault(status=503, headers=(("retry-after", "60"),)))
    with closing(OllamaRegistry(models.url)) as asking, ThreadPoolExecutor(1) as pool:
        asked = pool.submit(asking.parcel, PULLED)
        while at not in models.paths():
            assert not asked.done()
        asking.stop(Busy("stopped", 1))
        with pytest.raises(Busy, match="stopped"):
            asked.result(10)


@pytest.mark.parametrize("kind", ["model", "template", "license"])
def test_j6_no_layer_has_a_path_for_a_digest(models: ModelRegistry, kind: str) -> None:
    """Not even one whose bytes would only be read."""
    spoilt = models.publish("library/m", "1b", LAYERS)
    (row,) = [one for one in spoilt["layers"] if one["mediaType"] == KIND + kind]
    row["digest"] = "sha256:../../../../tmp/x"
    with closing(OllamaRegistry(models.url)) as asking, pytest.raises(RegistryGarbled, match="by no digest"):
        asking.parcel(PULLED)
    assert not any("tmp" in path for path in [*models.paths(), *models.network.paths()])


def test_there_is_nothing_to_search(ollama: OllamaRegistry) -> None:
    """Its web pages have one, programs have none."""
    with pytest.raises(Unserved, match="look for 'qwen' on its web pages"):
        ollama.search("qwen", 5)


def test_b18_a_manifest_that_is_written_otherwise_is_the_same(models: ModelRegistry) -> None:
    """Spaces, line breaks and the order of its keys tell no version apart: layers do."""
    written = models.publish("library/m", "1b", LAYERS)
    with closing(OllamaRegistry(models.url)) as asking:
        before = asking.parcel(PULLED)
        turned = json.dumps(dict(reversed(written.items())), indent=7).encode()
        models.given["/v2/library/m/manifests/1b"] = Answer(b"\n \t" + turned + b"\n")
        assert asking.parcel(PULLED) == before


def test_a_manifest_is_small(ollama: OllamaRegistry, registry: Registry) -> None:
    """One of a mebibyte is none: nobody has that many layers."""
    registry.given[f"{ROOT}/manifests/8b"] = Answer(manifest(5_000) | {"layers": [{"a": "b" * 100}] * 12_000})
    with pytest.raises(RegistryGarbled, match="more than 1 MiB"):
        ollama.parcel(REF)
