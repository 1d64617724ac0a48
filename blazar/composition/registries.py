"""Registries of models as references name them. Connects to nothing, and imports an HTTP client only when one is opened."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from blazar.adapters.net.places import ours_of
from blazar.domain import teaching
from blazar.domain.addresses import Ours, is_inside, is_loopback
from blazar.domain.errors import Malformed
from blazar.domain.references import HF, HUB, HUB_VARIABLES, URL, RemoteRef

if TYPE_CHECKING:
    from blazar.application.config.model import Config
    from blazar.application.ports.remote import RemoteModels

TOKENS = ("BLAZAR_REGISTRY_TOKEN", "HF_TOKEN")
"""Variables that name the token for a hub; of two that are set the first counts.

Hugging Face's own token is sent to no hub that only `BLAZAR_REGISTRY_BASE` names.
"""
_SETTING = "model_registries in config.toml"


def registry_hosts(config: "Config") -> tuple[str, ...]:
    """Hosts beside ollama's own that references may name."""
    return config.model_registries


def named_places(env: Mapping[str, str], hosts: Collection[str]) -> Ours:
    """What may resolve to an address inside: what `hosts` and the environment name."""
    return ours_of((own_hub(env),), _SETTING, hosts)


def open_registry(env: Mapping[str, str], ref: RemoteRef, given: Collection[str] | None = None) -> "RemoteModels":
    """The one that has `ref`. Raises `RegistryTrouble` for a hub that is no address, `Malformed` for a host that is not among `given`.

    `given` is None where the configuration is not asked: then no sentence names a setting of it.
    """
    hosts = given or ()
    ours = named_places(env, hosts)._replace(where="" if given is None else _SETTING)
    if ref.registry == HF:
        return _hub(env, ours)
    if ref.registry == URL:
        from blazar.adapters.net.direct import DirectFile

        _check_outside(ref.file, hosts)
        return DirectFile(ref.file).knowing(ours)
    from blazar.adapters.net.ollama_registry import OllamaRegistry

    return (OllamaRegistry(_base(ref.host, hosts)) if ref.host else OllamaRegistry()).knowing(ours)


def _check_outside(address: str, hosts: Collection[str]) -> None:
    """Whoever may pull could else try out which machines and ports of this network answer. This machine itself may be asked."""
    parts = urlsplit(address)
    host = parts.hostname or ""
    named = {parts.netloc.rpartition("@")[2].lower(), host.lower()}
    if is_inside(host) and not is_loopback(host) and not named & {known.lower() for known in hosts}:
        raise Malformed(teaching.pull_inside(host), "model")


def own_hub(env: Mapping[str, str]) -> str:
    """The hub that is asked in Hugging Face's place; "" where that is asked."""
    return env.get(next(filter(env.get, HUB_VARIABLES), ""), "")


def asked_hub(env: Mapping[str, str]) -> str:
    """Who is asked for repositories."""
    return own_hub(env) or HUB


def _hub(env: Mapping[str, str], ours: Ours) -> "RemoteModels":
    from blazar.adapters.net.huggingface import BASE, HuggingFace
    from blazar.adapters.net.web import secure_base

    named = next(filter(env.get, HUB_VARIABLES), "")
    base = secure_base(named, env[named]) if named else BASE
    theirs = (
        "HF_ENDPOINT",
        "",
    )  # Hugging Face's own token is for it, and for what its own tools take for it (case H13)
    known = {env.get(name, "").rstrip("/") for name in theirs} | {BASE}
    tokens = TOKENS if named in theirs or base.rstrip("/") in known else TOKENS[:1]
    variable = next(filter(env.get, tokens), tokens[-1])
    return HuggingFace(base, env.get(variable, ""), variable).knowing(ours)


def _base(host: str, hosts: Collection[str]) -> str:
    """Where it answers: over https, on this machine in the clear. A row of the catalog may name one that was configured once."""
    if host.lower() not in {known.lower() for known in hosts}:
        raise Malformed(teaching.registry_not_configured(host, tuple(hosts)), "model")
    bare = host.partition("]")[0].lstrip("[") if host.startswith("[") else host.partition(":")[0]
    return f"{'http' if is_loopback(bare) else 'https'}://{host}"
