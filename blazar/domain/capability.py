"""Forks for what mainstream lacks: what the registry's list says, which lanes serve an architecture, when one has to go.

Trusts nothing of the list: a lane that names a branch, a foreign scheme or an unknown recipe is left out, and said to be.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from blazar.domain import teaching
from blazar.domain.addresses import is_inside
from blazar.domain.errors import Malformed
from blazar.domain.harmless import harmless
from blazar.domain.kinds import EngineKind, Provenance
from blazar.domain.records import Engine

LARGEST = 1 << 20
"""Bytes of a list, as the documents bound it; a lane has about 400."""
SCHEMA = 1
MOST_LANES = 1000
RECIPES = ("cmake",)
"""Ways to build a source archive that there is code for."""
DAY_SECS = 86400.0

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,38}[a-z0-9])?")
_REPO = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})/[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_ARCH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_URL = re.compile(r"https://(?P<host>[A-Za-z0-9][A-Za-z0-9.-]{0,252})(?::\d{1,5})?/[^\s\x00-\x20\x7f\\@]{1,2000}")
_HERE = re.compile(r"http://(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?/[^\s\x00-\x20\x7f\\@]{1,2000}")
LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""Hosts that are this very machine."""


class LaneAsset(NamedTuple):
    """A build that the fork's project publishes for one system (`linux`, `darwin`, `windows`) and machine (`x86_64`, `arm64`)."""

    system: str
    machine: str
    url: str
    sha256: str


class ForkLane(NamedTuple):
    """One entry of the list. It has a `build` recipe for its source, or `assets`, or both.

    `source_sha256` is the digest of the source archive at `commit`, where the list gives it.
    """

    name: str
    kind: EngineKind
    repo: str
    commit: str
    architectures: tuple[str, ...]
    license: str
    build: str = ""
    assets: tuple[LaneAsset, ...] = ()
    source_sha256: str = ""

    @property
    def source(self) -> str:
        """What of a build's row says where it is from."""
        return f"{self.repo}@{self.commit}"

    @property
    def tag(self) -> str:
        """What a build of it is called: another commit is another build."""
        return f"{self.name}-{self.commit[:8]}"


class LaneList(NamedTuple):
    """The list, and a sentence for every lane that was left out."""

    lanes: tuple[ForkLane, ...] = ()
    troubles: tuple[str, ...] = ()

    def serving(self, arch: str) -> tuple[str, ...]:
        """Names of the lanes that serve an architecture."""
        return tuple(lane.name for lane in self.lanes if arch in lane.architectures)


class Fork(NamedTuple):
    """A repository at one commit, as a person names it: `OWNER/NAME@SHA`."""

    repo: str
    commit: str


def read_list(found: object, *, host: str = "") -> LaneList:
    """The lanes of a decoded list. Raises `Malformed` for what is no list at all; fields that nobody knows are passed over.

    `host` is who served the list in the end ("": nobody knows). Only this machine's own may name files on this machine, which need
    no https, and only one of this network such in it.
    """
    if not isinstance(found, dict) or not isinstance(found.get("lanes"), list):
        raise Malformed(teaching.registry_no_list())
    if type(found.get("version")) is not int or found["version"] != SCHEMA:
        raise Malformed(teaching.registry_version(harmless(str(found.get("version")))[:20], SCHEMA))
    if len(found["lanes"]) > MOST_LANES:
        raise Malformed(teaching.registry_too_long(MOST_LANES))
    lanes: dict[str, ForkLane] = {}
    troubles = []
    for number, entry in enumerate(found["lanes"], 1):
        try:
            lane = _lane(entry, lanes, host)
            lanes[lane.name] = lane
        except _Wrong as wrong:
            troubles.append(teaching.registry_lane_left_out(_called(entry, number), wrong.field, wrong.want))
    return LaneList(tuple(lanes.values()), tuple(troubles))


def parse_fork(text: str) -> Fork:
    """A fork by its immutable commit. Raises `Malformed`: a branch or a short name may be another thing tomorrow."""
    repo, _, commit = text.partition("@")
    repo = repo.removesuffix(".git")
    if not _REPO.fullmatch(repo) or ".." in repo:
        raise Malformed(teaching.fork_unreadable(harmless(text)[:200]), "fork")
    if not _COMMIT.fullmatch(commit.lower()):
        raise Malformed(teaching.fork_not_pinned(repo, harmless(commit)[:60]), "fork")
    return Fork(repo, commit.lower())


def fork_tag(fork: Fork) -> str:
    """What a build of a person's own fork is called."""
    owner, name = fork.repo.split("/")
    return f"{owner}-{name}"[:48].strip("-._") + f"-{fork.commit[:8]}"


def checked_architectures(names: Sequence[str]) -> tuple[str, ...]:
    """What a person says a fork is for. Raises `Malformed`."""
    if not names:
        raise Malformed(teaching.fork_without_arch(), "arch")
    for name in names:
        if not _ARCH.fullmatch(name):
            raise Malformed(teaching.fork_bad_arch(harmless(name)[:80]), "arch")
    return tuple(dict.fromkeys(names))


def asset_for(lane: ForkLane, system: str, machine: str) -> LaneAsset | None:
    """The published build that runs on this system."""
    return next((one for one in lane.assets if (one.system, one.machine) == (system, machine)), None)


def is_curated(engine: Engine) -> bool:
    """Whether a build came from the registry: only those retire. `release` of such a row is the lane's name, of others empty."""
    return engine.provenance is Provenance.FORK and bool(engine.release)


def is_covered(fork: Engine, engines: Iterable[Engine]) -> bool:
    """Whether the active mainstream build of the kind serves all that the fork is there for. What is unknown covers nothing."""
    theirs = {
        arch
        for one in engines
        if one.active and one.kind is fork.kind and one.provenance is not Provenance.FORK
        for arch in one.architectures
    }
    return bool(fork.architectures) and theirs.issuperset(fork.architectures)


def stamped(fork: Engine, engines: Sequence[Engine], now: float) -> float:
    """When mainstream was first seen to cover it; 0 while it does not, so that a rollback of mainstream starts the days anew."""
    if not is_covered(fork, engines):
        return 0.0
    return fork.superseded_at or now


def is_due(fork: Engine, days: int, now: float) -> bool:
    """Whether a superseded lane has stayed long enough. 0 days: none ever has; a pinned one stays, whoever pinned it."""
    if not days or fork.pinned or not is_curated(fork) or not fork.superseded_at:
        return False
    return now - fork.superseded_at >= days * DAY_SECS


class _Wrong(Exception):
    """A field that cannot be used."""

    def __init__(self, field: str, want: str) -> None:
        self.field, self.want = field, want


def _lane(entry: object, others: Mapping[str, ForkLane], host: str) -> ForkLane:
    if not isinstance(entry, dict):
        raise _Wrong("lanes", "objects")
    kind = _text(entry, "kind", None, f"one of {', '.join(EngineKind)}")
    if kind not in set(EngineKind):
        raise _Wrong("kind", f"one of {', '.join(EngineKind)}")
    lane = ForkLane(
        name=_text(entry, "name", _NAME, "lower-case letters, digits, '.', '_' and '-'"),
        kind=EngineKind(kind),
        repo=_text(entry, "repo", _REPO, "OWNER/NAME"),
        commit=_text(entry, "commit", _COMMIT, "the 40 hexadecimal digits of a commit, never a branch or a tag"),
        architectures=_architectures(entry.get("architectures")),
        license=_license(entry.get("license")),
        build=_recipe(entry.get("build", "")),
        assets=_assets(entry.get("assets", []), host),
        source_sha256=_text(entry, "source_sha256", _SHA256, "64 hexadecimal digits")
        if "source_sha256" in entry
        else "",
    )
    if lane.name in others:
        raise _Wrong("name", "one that no other lane has")
    if ".." in lane.repo:
        raise _Wrong("repo", "OWNER/NAME")
    if not lane.build and not lane.assets:
        raise _Wrong("build", "there, or assets in its place")
    return lane


def _text(entry: Mapping[str, Any], field: str, shape: re.Pattern[str] | None, want: str) -> str:
    found = entry.get(field)
    if not isinstance(found, str) or (shape is not None and not shape.fullmatch(found)):
        raise _Wrong(field, want)
    return found


MOST_ARCHITECTURES = 200
"""Of one lane: llama.cpp as a whole has about 130."""


def _architectures(found: object) -> tuple[str, ...]:
    names = found if isinstance(found, list) and len(found) <= MOST_ARCHITECTURES else []
    if not names or not all(isinstance(one, str) and _ARCH.fullmatch(one) for one in names):
        raise _Wrong("architectures", "a list of names as GGUF headers spell them")
    return tuple(dict.fromkeys(names))


def _license(found: object) -> str:
    """Shown to whoever installs it: a fork without one may not be used."""
    if not isinstance(found, str) or not found.strip() or len(found) > 100 or not found.isprintable():
        raise _Wrong("license", "a short text")
    return found.strip()


def _recipe(found: object) -> str:
    if not isinstance(found, str) or (found and found not in RECIPES):
        raise _Wrong("build", f"one of {', '.join(RECIPES)}")
    return found


def _assets(found: object, host: str) -> tuple[LaneAsset, ...]:
    if not isinstance(found, list) or len(found) > 50:
        raise _Wrong("assets", "a list")
    assets = []
    for one in found:
        if not isinstance(one, dict):
            raise _Wrong("assets", "a list of objects")
        if not isinstance(one.get("sha256"), str) or not _SHA256.fullmatch(one["sha256"]):
            raise _Wrong("assets", "given with a sha256 each")
        url = one.get("url")
        if not isinstance(url, str) or not _may_name(host, url):
            raise _Wrong("assets", "at https addresses out in public")
        system, machine = one.get("system"), one.get("machine")
        if system not in ("linux", "darwin", "windows") or machine not in ("x86_64", "arm64"):
            raise _Wrong("assets", "for a system (linux, darwin, windows) and a machine (x86_64, arm64)")
        assets.append(LaneAsset(system, machine, url, one["sha256"]))
    return tuple(assets)


def _may_name(host: str, url: str) -> bool:
    if host in LOOPBACK and _HERE.fullmatch(url):
        return True
    match = _URL.fullmatch(url)
    if match is None or not is_inside(match["host"]):
        return match is not None
    return host in LOOPBACK or (bool(host) and is_inside(host) and not _is_loopback(match["host"]))


def _is_loopback(name: str) -> bool:
    """Also as resolvers understand it: a name of this machine, or 127 and whatever."""
    name = name.lower().removesuffix(".")
    return name == "localhost" or name.endswith(".localhost") or "." not in name or name.startswith(("127.", "0"))


def _called(entry: object, number: int) -> str:
    name = entry.get("name") if isinstance(entry, dict) else None
    return f"'{harmless(name)[:60]}'" if isinstance(name, str) and name else f"number {number}"
