"""Which registry a reference opens, and with what."""

import subprocess
import sys
from typing import Any

import pytest

from blazar.application.config.model import Config
from blazar.composition.registries import named_places, open_registry, registry_hosts
from blazar.domain.errors import Forbidden, Malformed, RegistryTrouble
from blazar.domain.references import RemoteRef, pull_reference
from tests.support.registry import Answer, Blob, Registry, hub_rows


def test_base_and_token_belong_to_hugging_face(registry: Registry) -> None:
    """Ours before those of its own tools, and those to their own hub only (case H13)."""
    registry.given["/api/models/me/m/tree/main"] = Answer(hub_rows(("m-Q4_0.gguf", 5)))
    ref = pull_reference("me/m")
    ours = {"HF_ENDPOINT": "http://127.0.0.1:1", "BLAZAR_REGISTRY_BASE": registry.url, "HF_TOKEN": "a"}
    theirs = {"HF_ENDPOINT": registry.url, "HF_TOKEN": "a"}
    both = ours | {"HF_ENDPOINT": registry.url + "/"}
    for env, token in (
        (ours, ""),
        (ours | {"BLAZAR_REGISTRY_TOKEN": "b"}, "Bearer b"),
        (ours | {"BLAZAR_REGISTRY_TOKEN": ""}, ""),
        (theirs, "Bearer a"),
        (theirs | {"BLAZAR_REGISTRY_TOKEN": "b"}, "Bearer b"),
        (both, "Bearer a"),
    ):
        hub: Any = open_registry(env, ref)
        hub.listing(ref)
        assert registry.asked[-1].headers.get("authorization", "") == token
        hub.close()
    with pytest.raises(RegistryTrouble, match="HF_ENDPOINT is 'nonsense', which is no address"):
        open_registry({"HF_ENDPOINT": "nonsense"}, ref)


@pytest.mark.parametrize(
    ("name", "variable"), [("HF_ENDPOINT", "HF_TOKEN"), ("BLAZAR_REGISTRY_BASE", "BLAZAR_REGISTRY_TOKEN")]
)
def test_a_hub_that_refuses_is_told_with_its_own_variable(registry: Registry, name: str, variable: str) -> None:
    """Nobody sets one that is not sent there."""
    registry.given["/api/models/me/m/tree/main"] = Answer({}, 403)
    hub: Any = open_registry({name: registry.url}, pull_reference("me/m"))
    with pytest.raises(Forbidden, match=variable):
        hub.listing(pull_reference("me/m"))
    hub.close()


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


def test_what_a_person_named_may_lie_inside() -> None:
    """Hosts of the configuration, and the hub that the environment names; each registry is told of them."""
    ours = named_places({"HF_ENDPOINT": "https://hub.example/x"}, ["a.example:5000"])
    assert (ours.hosts, ours.where) == (("a.example:5000", "hub.example"), "model_registries in config.toml")
    for word in ("me/m", "qwen3", "a.example:5000/team/m", "https://files.example/m.gguf"):
        ref = pull_reference(word, ["a.example:5000"])
        models: Any = open_registry({"HF_ENDPOINT": "https://hub.example/x"}, ref, ["a.example:5000"])
        assert models._web.ours == ours, word
        models.close()
    assert named_places({}, ()).hosts == ()
    models = open_registry({}, pull_reference("me/m"))
    assert models._web.ours == ((), "")  # `fit` and `search` have not read the configuration
    models.close()


def test_no_client_is_imported_before_one_is_opened() -> None:
    """The daemon knows references before anybody pulls."""
    code = "import sys, blazar.composition.registries as r; assert 'httpx' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize("known", [[], ["a.example", "b.example:5000"]])
def test_the_refusal_of_a_host_says_the_whole_list(known: list[str]) -> None:
    """Setting it replaces what is there."""
    words = " ".join([*known, "new.example"])
    for ask in (
        lambda: pull_reference("new.example/team/m", known),
        lambda: open_registry({}, RemoteRef("ollama", "team/m", "latest", host="new.example"), known),
    ):
        with pytest.raises(Malformed, match=rf"blazar config set model_registries {words}\)"):
            ask()


def test_a_token_that_does_not_open_it_is_named_by_the_variable_that_counts(registry: Registry) -> None:
    """Of two that are set the first: to set the other would change nothing."""
    registry.given["/api/models/me/m/tree/main"] = Answer({}, 403, (("x-error-code", "GatedRepo"),))
    ref = pull_reference("me/m")
    base = {"HF_ENDPOINT": registry.url}
    told = []
    for env in ({}, {"HF_TOKEN": "a"}, {"HF_TOKEN": "a", "BLAZAR_REGISTRY_TOKEN": "b"}):
        hub: Any = open_registry(base | env, ref)
        with pytest.raises(Forbidden) as refused:
            hub.listing(ref)
        hub.close()
        told.append(str(refused.value))
    assert "then set HF_TOKEN" in told[0]
    assert "that of the token in HF_TOKEN is none of them" in told[1]
    assert "the token in BLAZAR_REGISTRY_TOKEN is" in told[2]


@pytest.mark.parametrize("host", ["10.0.0.7", "169.254.169.254", "box.local", "intranet", "[fe80::1]", "0x0a.7"])
def test_plain_addresses_inside_the_network_are_not_asked(host: str) -> None:
    """Unless somebody named the host: whoever may pull could try out what answers there."""
    ref = RemoteRef("url", "m", file=f"https://{host}:8443/m.gguf")
    with pytest.raises(Malformed, match="inside this network"):
        open_registry({}, ref)
    for known in (f"{host}:8443", host.strip("[]").upper()):
        open_registry({}, ref, [known]).close()


def test_plain_addresses_of_this_machine_and_of_the_outside_are() -> None:
    """Who is here can ask this machine without us."""
    for address in ("http://127.0.0.1:9/m.gguf", "http://localhost:9/m.gguf", "https://files.example/m.gguf"):
        open_registry({}, RemoteRef("url", "m", file=address)).close()
