"""Which registry a reference opens, and with what."""

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from blazar.application.config.model import Config
from blazar.composition.registries import open_registry, registry_hosts
from blazar.domain.errors import Malformed, RegistryTrouble
from blazar.domain.references import RemoteRef, pull_reference
from tests.support.registry import Answer, Blob, Registry, hub_rows


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    server = Registry()
    yield server
    server.close()


def test_base_and_token_belong_to_hugging_face(registry: Registry) -> None:
    """Ours before those of its own tools."""
    registry.given["/api/models/me/m/tree/main"] = Answer(hub_rows(("m-Q4_0.gguf", 5)))
    ref = pull_reference("me/m")
    env = {"HF_ENDPOINT": "http://127.0.0.1:1", "BLAZAR_REGISTRY_BASE": registry.url, "HF_TOKEN": "a"}
    for more, token in (({}, "a"), ({"BLAZAR_REGISTRY_TOKEN": "b"}, "b"), ({"BLAZAR_REGISTRY_TOKEN": ""}, "a")):
        hub: Any = open_registry(env | more, ref)
        hub.listing(ref)
        assert registry.asked[-1].headers["authorization"] == f"Bearer {token}"
        hub.close()
    with pytest.raises(RegistryTrouble, match="HF_ENDPOINT is 'nonsense', which is no address"):
        open_registry({"HF_ENDPOINT": "nonsense"}, ref)


@pytest.mark.parametrize("name", ["HF_ENDPOINT", "BLAZAR_REGISTRY_BASE"])
def test_a_hub_elsewhere_is_asked_by_https(name: str) -> None:
    """What is on the way could read the token and change the files."""
    with pytest.raises(RegistryTrouble, match=f"{name} is 'http://hub.example': models are fetched by https only"):
        open_registry({name: "http://hub.example"}, pull_reference("me/m"))


def test_a_configured_host_is_asked_as_ollamas_registry(registry: Registry) -> None:
    """In the clear on this machine, without any token of ours."""
    host = registry.url.removeprefix("http://")
    ref = pull_reference(f"{host}/m:1b", [host])
    layer = {"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:" + "a" * 64, "size": 5}
    registry.given["/v2/library/m/manifests/1b"] = Answer({"layers": [layer]})
    models: Any = open_registry({"BLAZAR_REGISTRY_TOKEN": "secret", "HF_TOKEN": "secret"}, ref, [host.upper()])
    assert models.listing(ref).asked.size == 5
    models.close()
    assert all("authorization" not in asked.headers for asked in registry.asked)


def test_a_host_that_is_not_configured_any_more_is_not_asked() -> None:
    """The catalog remembers where a model came from; that is no leave to ask there."""
    with pytest.raises(Malformed, match="add it to model_registries"):
        open_registry({}, RemoteRef("ollama", "library/m", "1b", host="registry.example"), ["other.example"])


def test_an_address_is_its_own_registry(registry: Registry) -> None:
    """Whatever tokens there are, none goes there."""
    registry.given["/files/tiny-Q4_0.gguf"] = Blob(b"x" * 50)
    ref = pull_reference(f"{registry.url}/files/tiny-Q4_0.gguf")
    models = open_registry({"HF_TOKEN": "secret"}, ref)
    assert models.listing(ref).offers[0].size == 50
    models.close()
    assert all("authorization" not in asked.headers for asked in registry.asked)


@pytest.mark.parametrize(
    ("host", "base"),
    [
        ("registry.example", "https://registry.example"),
        ("registry.example:5000", "https://registry.example:5000"),
        ("127.0.0.1:5000", "http://127.0.0.1:5000"),
        ("[::1]:5000", "http://[::1]:5000"),
        ("[2001:db8::1]", "https://[2001:db8::1]"),
        ("localhost", "http://localhost"),
    ],
)
def test_only_this_machine_is_asked_in_the_clear(host: str, base: str) -> None:
    """Everything else over https."""
    models: Any = open_registry({}, RemoteRef("ollama", "library/m", "1b", host=host), [host])
    assert models._web.base == base
    models.close()


def test_hosts_come_from_the_configuration() -> None:
    """None unless somebody names one."""
    assert registry_hosts(Config()) == ()
    assert registry_hosts(Config(model_registries=("a.example",))) == ("a.example",)


def test_no_client_is_imported_before_one_is_opened() -> None:
    """The daemon knows references before anybody pulls."""
    code = "import sys, blazar.composition.registries as r; assert 'httpx' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
