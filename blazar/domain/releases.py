"""Releases of engines: which one a channel means, and what its build is called here. Reads no network and knows no machine.

llama.cpp marks every build (`bNNNN`) as a prerelease and stamps some of them later: a release `vX.Y.Z`, which is none, has no
archives of its own and names the build that it stamps, as a link in its text and in a file `nightly-tag.txt`. The other projects
mark prereleases in the plain way.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.kinds import EngineKind
from blazar.domain.versions import Rank, tag_key

LATEST, STABLE = "latest", "stable"

REPOSITORIES: dict[EngineKind, str] = {
    EngineKind.LLAMACPP: "ggml-org/llama.cpp",
    EngineKind.MISTRALRS: "EricLBuehler/mistral.rs",
    EngineKind.SDCPP: "leejet/stable-diffusion.cpp",
}
"""Kinds that are released as archives; the others are Python packages."""

MARKER = "nightly-tag.txt"
"""The file of a stable llama.cpp release that holds the tag of the build it stamps."""
ARCHIVES = (".tar.gz", ".tgz", ".zip", ".tar.xz")

_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}")
_TAG = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,99}")
_STAMPED = re.compile(r"\[(b\d{3,})\]\([^()\s]*/releases/tag/\1\)")
_BUILD = re.compile(r"b\d{3,}")


class Asset(NamedTuple):
    """One file of a release. `sha256` is empty where its host tells none; `size` 0 where it tells no size."""

    name: str
    url: str
    size: int = 0
    sha256: str = ""


class Release(NamedTuple):
    """One release. `published` sorts as text (RFC 3339); `stamps` is the build that a stable release stands for, if it says so."""

    tag: str
    prerelease: bool = False
    published: str = ""
    assets: tuple[Asset, ...] = ()
    stamps: str = ""

    @property
    def has_archives(self) -> bool:
        """Whether there is anything to install in it."""
        return any(asset.name.endswith(ARCHIVES) for asset in self.assets)

    def asset(self, name: str) -> Asset | None:
        """The file of that name."""
        return next((asset for asset in self.assets if asset.name == name), None)


def stamped_in(text: str) -> str:
    """The build that the text of a stable release links to; "" where it names none."""
    match = _STAMPED.search(text)
    return match[1] if match else ""


def stamped_by(text: str) -> str:
    """The build that a marker file names; "" where it holds something else."""
    found = text.strip()
    return found if _BUILD.fullmatch(found) else ""


def checked_repository(text: str, variable: str) -> str:
    """`OWNER/NAME`; raises `Malformed`, for it becomes part of an address."""
    if not _REPOSITORY.fullmatch(text) or ".." in text:
        raise Malformed(teaching.bad_repository(text, variable), variable)
    return text


def checked_sha256(text: str) -> str:
    """A digest in plain hexadecimal; raises `Malformed` for what no file can have."""
    digest = text.strip().lower().removeprefix("sha256:")
    if len(digest) != 64 or set(digest) - set("0123456789abcdef"):
        raise Malformed(teaching.sha256_malformed(text.strip()), "sha256")
    return digest


def checked_release(tag: str) -> str:
    """A tag as it is asked for at its host; raises `Malformed`."""
    if not _TAG.fullmatch(tag) or ".." in tag:
        raise Malformed(teaching.bad_release_tag(tag), "tag")
    return tag


def newest(releases: Iterable[Release], channel: str = LATEST) -> Release | None:
    """The newest release with archives; of the stable channel none that is a prerelease.

    By the day of its publication first: tags of several schemes (`b11434`, `master-1244-cad0903`) do not compare.
    """
    fitting = [one for one in releases if one.has_archives and (channel == LATEST or not one.prerelease)]
    return max(fitting, key=_age, default=None)


def _age(release: Release) -> tuple[str, Rank]:
    return release.published, tag_key(release.tag)


def is_newer(release: str, than: str) -> bool:
    """Whether one upstream tag is newer than another, as far as tags tell; "" is older than any."""
    return not than or tag_key(release) > tag_key(than)


def stable_names(releases: Iterable[Release]) -> dict[str, str]:
    """Build to the stable release that stamps it: `b11429` is `v0.6.0`."""
    return {one.stamps: one.tag for one in releases if one.stamps and not one.prerelease}


def build_tag(release: str, flavor: str) -> str:
    """What a build is called here: `b11434`, `b11434-cuda-12.8`, `master-1244-cad0903-vulkan` (contract: `bNNNN-cuda`)."""
    return f"{release}-{flavor}" if flavor else release
