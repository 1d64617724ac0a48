"""Keys of engine builds and downloads: which, how fast, how long they stay. Root-only (D26)."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, Strict

from blazar.application.config.knob import Keys, Knob, Positive, Whole, shaped

Url = Annotated[str, shaped(r"https?://[^\s\x00-\x1f\x7f/?#][^\s\x00-\x1f\x7f]*", "http_url")]

_REGISTRY = r"([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?"
Registries = Annotated[
    tuple[Annotated[str, Field(min_length=1), shaped(_REGISTRY, "registry")], ...], Strict(strict=False)
]


class EngineKeys(Keys):
    """Builds of engines, and everything that is downloaded."""

    title: ClassVar[str] = "Engines and downloads"
    daemon: ClassVar[bool] = True

    engine_asset: Annotated[str, Field(min_length=1), shaped(r"[A-Za-z0-9][A-Za-z0-9._-]*", "flavor")] = "auto"
    """Which flavor of a release is installed, such as cpu or vulkan; auto: the one that suits this machine."""
    update_channel: Literal["latest", "stable"] = "latest"
    """Which releases updates are taken from: latest has those that are not marked stable yet, too."""
    engine_check_secs: Whole = 86400
    """Seconds between two looks for newer builds; nothing is installed by them. 0: never."""
    keep_tags: Positive = 2
    """Newest builds of a kind that stay after an install, the active one among them; from 2 on also the one to roll back to. Voices alike."""
    fork_retire_days: Whole = 7
    """Days after which a curated fork build is deleted when the official one can do all that it could. 0: never."""
    # More connections than this are taken for an attack by some hosts.
    download_connections: Annotated[int, Field(ge=1, le=64)] = 8
    """Most connections by which one file of 32 MiB or more is fetched; smaller ones, and those of a host that sends no parts, come by one."""
    download_speed_limit_mb: Annotated[Whole, Knob(env=("BLAZAR_DOWNLOAD_SPEED_LIMIT_MB",))] = 0
    """Most megabytes a second of all downloads together. 0: no limit."""
    # Whoever writes a name here lets `pull HOST/…` send what it asks for there; nothing else of a host is trusted.
    model_registries: Registries = ()
    """Hosts (with port, where it is not 443) beside ollama's that speak its protocol: `pull HOST/NAMESPACE/MODEL:TAG` asks them over https."""
    capability_registry_url: Annotated[Url | None, Knob(env=("BLAZAR_CAPABILITY_REGISTRY",), empty=True)] = None
    """Address (https) of the list of builds for special models; unset: the one of this program, which has none; `""`: none is asked."""
