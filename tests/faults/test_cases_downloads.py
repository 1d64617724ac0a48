"""Cases of downloads that take a registry and a transfer together: what one of them promises, the other must hold to."""

import random
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from blazar.adapters.net.direct import DirectFile
from blazar.adapters.net.downloads import HttpDownloads
from blazar.adapters.net.huggingface import HuggingFace
from blazar.adapters.net.ollama_registry import OllamaRegistry
from blazar.adapters.net.throttle import Throttle
from blazar.application.ports.remote import Parcel, RemoteModels
from blazar.domain.errors import BlazarError, Busy, Forbidden, NotFound, RegistryTrouble
from blazar.domain.references import RemoteRef
from tests.fakes.disk import FakeDisk
from tests.support.model_registry import Auth, ModelRegistry, digest_of
from tests.support.proxies import forget_proxies
from tests.support.registry import Answer, Registry
from tests.support.registry_faults import Fault, Stored

DATA = random.Random(8).randbytes(1 << 16) * 16  # 1 MiB, the same in every worker
DIGEST = digest_of(DATA)
HUB, OLLAMA = RemoteRef("hf", "me/m"), RemoteRef("ollama", "library/m", "1b")


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_proxies(monkeypatch)


@pytest.fixture
def registry() -> Iterator[ModelRegistry]:
    """The same bytes under both protocols."""
    server = ModelRegistry()
    server.publish_hub("me/m", {"m.gguf": DATA})
    server.publish("library/m", "1b", [("model", DATA)])
    yield server
    server.close()


@pytest.fixture
def elsewhere() -> Iterator[Registry]:
    server = Registry()
    yield server
    server.close()


def hub(registry: ModelRegistry, token: str = "") -> tuple[RemoteModels, RemoteRef]:
    return HuggingFace(registry.url, token), HUB


def ollama(registry: ModelRegistry) -> tuple[RemoteModels, RemoteRef]:
    return OllamaRegistry(registry.url), OLLAMA


def address(registry: ModelRegistry) -> tuple[RemoteModels, RemoteRef]:
    url = registry.file_url("me/m", "m.gguf")
    return DirectFile(url), RemoteRef("url", "m", file=url)


Opened = Callable[[ModelRegistry], tuple[RemoteModels, RemoteRef]]
EVERY = pytest.mark.parametrize("opened", [hub, ollama, address])


def downloads(connections: int = 4) -> HttpDownloads:
    throttle = Throttle(lambda: 0, lambda: 0.0)
    return HttpDownloads(FakeDisk(), throttle, lambda: connections, read_secs=5.0, parallel_from=1 << 18)


def pulled(opened: tuple[RemoteModels, RemoteRef], folder: Path) -> Parcel:
    """Every file of the parcel, below a folder."""
    models, ref = opened
    with closing(models):
        parcel = models.parcel(ref)
        for number, part in enumerate(parcel.parts):
            downloads().fetch(models.wanted(part.file, str(folder / f"{number}")), lambda _done, _total: None)
    return parcel


def refusal(opened: tuple[RemoteModels, RemoteRef], folder: Path) -> BlazarError:
    with pytest.raises(BlazarError) as refused:
        pulled(opened, folder)
    assert not (folder / "0").exists()
    return refused.value


@EVERY
def test_every_protocol_brings_the_bytes_that_it_promises(
    registry: ModelRegistry, tmp_path: Path, opened: Opened
) -> None:
    """By several ranges, from the second server; with the digest that the registry knows."""
    parcel = pulled(opened(registry), tmp_path)
    assert (tmp_path / "0").read_bytes() == DATA
    assert parcel.parts[0].file.sha256 == DIGEST
    assert sum("range" in asked.headers for asked in registry.network.asked) > 1


@EVERY
def test_h1_one_spoilt_byte_is_noticed_under_every_protocol(
    registry: ModelRegistry, tmp_path: Path, opened: Opened
) -> None:
    """And mended; one that is spoilt every time is an error, and nothing is visible."""
    registry.spoil(DIGEST, Fault(flip=len(DATA) // 2, times=1))
    pulled(opened(registry), tmp_path)
    assert (tmp_path / "0").read_bytes() == DATA
    (tmp_path / "0").unlink()
    registry.spoil(DIGEST, Fault(flip=len(DATA) // 2))
    assert DIGEST in str(refusal(opened(registry), tmp_path))


@pytest.mark.parametrize("etags", ["linked", "etag", "none"])
def test_h17_every_way_to_tell_a_version(registry: ModelRegistry, tmp_path: Path, etags: str) -> None:
    """`X-Linked-Etag`, `ETag`, or none at all, on Hugging Face and at a plain address."""
    registry.publish_hub("me/m", {"m.gguf": DATA}, etags=etags)
    for number, opened in enumerate((hub, address)):
        (tmp_path / str(number)).mkdir()
        pulled(opened(registry), tmp_path / str(number))
        assert (tmp_path / str(number) / "0").read_bytes() == DATA


@pytest.mark.parametrize("direct", [True, False])
def test_a_token_that_everybody_gets_reaches_the_registry_alone(
    registry: ModelRegistry, tmp_path: Path, direct: bool
) -> None:
    """Every range asks with it, also where it has run out meanwhile; the content network sees none."""
    registry.auth = Auth()
    registry.blobs_elsewhere = not direct
    pulled(ollama(registry), tmp_path)
    assert (tmp_path / "0").read_bytes() == DATA
    blobs = [asked for asked in registry.asked if "/blobs/" in asked.path]
    assert any(asked.headers.get("authorization") == "Bearer anonymous-token" for asked in blobs)
    assert all("authorization" not in asked.headers for asked in registry.network.asked)


def test_h12_a_realm_elsewhere_is_refused_in_the_middle_of_a_pull(
    registry: ModelRegistry, elsewhere: Registry, tmp_path: Path
) -> None:
    """The manifest was free, the file asks for a token from somewhere else: nothing is sent there."""
    told = f'Bearer realm="{elsewhere.url}/token",service="x"'
    fault = Fault(status=401, headers=(("www-authenticate", told),))
    registry.faults.set(f"/v2/library/m/blobs/sha256:{DIGEST}", fault)
    assert "which is not its own address" in str(refusal(ollama(registry), tmp_path))
    assert elsewhere.asked == []


def test_h13_a_redirect_takes_no_credential_along(registry: ModelRegistry, elsewhere: Registry, tmp_path: Path) -> None:
    """Neither the hub's token nor anything else that tells who asks, to another port of the same host."""
    registry.publish_hub("me/m", {"m.gguf": DATA}, token="hf_secret")
    elsewhere.given["/stolen"] = Stored(DATA)
    registry.faults.set("/me/m/resolve/main/m.gguf", Fault(redirect=elsewhere.url + "/stolen"))
    pulled(hub(registry, "hf_secret"), tmp_path)
    assert (tmp_path / "0").read_bytes() == DATA
    assert elsewhere.asked
    for asked in elsewhere.asked:
        assert not {"authorization", "cookie", "x-api-key", "proxy-authorization"} & set(asked.headers)
        assert "hf_secret" not in str(asked)
    at_home = [asked for asked in registry.asked if "/resolve/" in asked.path]
    assert {asked.headers.get("authorization") for asked in at_home} == {"Bearer hf_secret"}


@EVERY
@pytest.mark.parametrize(
    "to", ["file:///etc/passwd", "http://cdn.example/m.gguf", "ftp://cdn.example/m", "gopher://x/"]
)
def test_h13_a_file_is_not_followed_out_of_https(
    registry: ModelRegistry, tmp_path: Path, opened: Opened, to: str
) -> None:
    """Whatever the address, nothing is fetched from it."""
    for path in ("/me/m/resolve/main/m.gguf", f"/v2/library/m/blobs/sha256:{DIGEST}"):
        registry.faults.set(path, Fault(redirect=to))
    assert "is not followed" in str(refusal(opened(registry), tmp_path))


@EVERY
@pytest.mark.parametrize("hops", [5, 6])
def test_h13_five_redirects_and_no_sixth(
    registry: ModelRegistry, elsewhere: Registry, tmp_path: Path, opened: Opened, hops: int
) -> None:
    """Counted over all hosts."""
    for path in ("/me/m/resolve/main/m.gguf", f"/v2/library/m/blobs/sha256:{DIGEST}"):
        registry.faults.set(path, Fault(redirect=elsewhere.url + "/1"))
    for hop in range(1, hops):
        elsewhere.given[f"/{hop}"] = Answer(status=302, headers=(("location", f"/{hop + 1}"),))
    elsewhere.given[f"/{hops}"] = Stored(DATA)
    if hops == 5:
        pulled(opened(registry), tmp_path)
        assert (tmp_path / "0").read_bytes() == DATA
    else:
        assert "redirects" in str(refusal(opened(registry), tmp_path))


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        (Fault(status=401, headers=(("x-error-code", "GatedRepo"),)), Forbidden, "accept its terms"),
        (Fault(status=403), Forbidden, "HF_TOKEN"),
        (Fault(status=404), NotFound, "m.gguf"),
        (Fault(status=429, headers=(("retry-after", "0"),)), Busy, "try again in"),
    ],
)
def test_a_file_that_is_refused_says_what_to_do(
    registry: ModelRegistry, tmp_path: Path, fault: Fault, kind: type[BlazarError], words: str
) -> None:
    """Though the listing was open to everybody."""
    registry.faults.set("/me/m/resolve/main/m.gguf", fault)
    refused = refusal(hub(registry), tmp_path)
    assert isinstance(refused, kind)
    assert words in str(refused)


@pytest.mark.parametrize(
    "name",
    [
        "../m.gguf",
        "../../../../tmp/m.gguf",
        "/tmp/m.gguf",
        "m\0.gguf",
        "m" * 300 + ".gguf",
        "sub/../../m.gguf",
        "..\\m.gguf",
    ],
)
def test_j6_a_hostile_name_is_no_path(registry: ModelRegistry, tmp_path: Path, name: str) -> None:
    """It is as if the repository had no such file: of the others that one is taken that is a model."""
    repo = registry.publish_hub("me/m", {"m.gguf": DATA})
    repo.files[name] = repo.files.pop("m.gguf")
    assert isinstance(refusal(hub(registry), tmp_path), NotFound)
    repo.files["good.gguf"] = repo.files[name]
    parcel = pulled(hub(registry), tmp_path)
    assert [part.file.name for part in parcel.parts] == ["good.gguf"]


@pytest.mark.parametrize("digest", ["sha256:../../../../tmp/x", f"sha256:{DIGEST.upper()}", "sha256:abc", "sha256:"])
def test_j6_a_hostile_digest_is_refused_under_either_protocol(
    registry: ModelRegistry, tmp_path: Path, digest: str
) -> None:
    """Nothing of it reaches an address or the disk."""
    registry.manifests["library/m", "1b"]["layers"][0]["digest"] = digest
    assert isinstance(refusal(ollama(registry), tmp_path), RegistryTrouble)
    file = registry.hub["me/m"].files["m.gguf"]
    registry.hub["me/m"].files["m.gguf"] = file._replace(digest=digest.removeprefix("sha256:"))
    assert isinstance(refusal(hub(registry), tmp_path), RegistryTrouble)
    assert list(tmp_path.iterdir()) == []
    assert registry.network.asked == []
    assert not any("tmp" in path for path in registry.paths())


@EVERY
def test_a_file_of_another_length_is_refused(registry: ModelRegistry, tmp_path: Path, opened: Opened) -> None:
    """Before a byte of it is kept."""
    short = Stored(DATA[:-1], None)
    for path in (f"/lfs/{DIGEST}", f"/blobs/sha256:{DIGEST}"):
        registry.network.given[path] = short
    assert isinstance(refusal(opened(registry), tmp_path), RegistryTrouble)


@EVERY
def test_a_proxy_of_the_environment_is_for_the_outside(
    registry: ModelRegistry, elsewhere: Registry, tmp_path: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Registry and content network on this machine are asked directly; an address outside goes through it."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, elsewhere.url)
    pulled(opened(registry), tmp_path)
    assert (elsewhere.asked, elsewhere.tunnels) == ([], [])
    (tmp_path / "0").unlink()
    for path in ("/me/m/resolve/main/m.gguf", f"/v2/library/m/blobs/sha256:{DIGEST}"):
        registry.faults.set(path, Fault(redirect="https://cdn.example/m.gguf"))
    assert isinstance(refusal(opened(registry), tmp_path), RegistryTrouble)
    assert set(elsewhere.tunnels) == {"cdn.example:443"}
    assert elsewhere.asked == []
