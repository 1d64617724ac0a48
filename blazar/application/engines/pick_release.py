"""Which release of an engine, and which file of it, an install or an update means. Asks the feed; downloads and installs nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from blazar.application.ports.hardware import HardwareCensus
from blazar.application.ports.releases import ReleaseFeed
from blazar.domain import teaching
from blazar.domain.assets import AUTO, Choice, choose, host_of
from blazar.domain.errors import BlazarError, NotFound, Unserved
from blazar.domain.kinds import EngineKind
from blazar.domain.releases import (
    LATEST,
    REPOSITORIES,
    STABLE,
    Release,
    build_tag,
    checked_repository,
    newest,
    stable_names,
)

REPOSITORY_VARIABLE = "BLAZAR_REPO"


class Sources(NamedTuple):
    """What is configured: the channel, the flavor of files, repositories in place of the usual ones."""

    channel: str = LATEST
    asset: str = AUTO
    repositories: Mapping[EngineKind, str] = {}


class Picked(NamedTuple):
    """A release, its file for this machine, and what the build will be called here.

    `stable` is the release that stamps it as stable, where one does.
    """

    kind: EngineKind
    release: Release
    choice: Choice
    tag: str
    stable: str = ""

    @property
    def size(self) -> int:
        """Bytes of everything that is downloaded for it."""
        return self.choice.asset.size + sum(asset.size for asset in self.choice.companions)


class Target(NamedTuple):
    """What a channel means right now, before anything of it is chosen."""

    release: Release
    stable: str = ""


@dataclass(frozen=True, slots=True)
class PickRelease:
    """`system` and `processor` as Python's `platform` names them."""

    feed: ReleaseFeed
    hardware: HardwareCensus
    system: str
    processor: str
    sources: Sources = field(default_factory=Sources)

    def __call__(self, kind: EngineKind, tag: str | None = None, asset: str | None = None) -> Picked:
        """The release of that tag, else what the channel means; raises `NotFound`, `Unserved` and what the feed raises."""
        return self.choose(kind, self.named(kind, tag) if tag else self.target(kind), asset)

    def choose(self, kind: EngineKind, target: Target, asset: str | None = None) -> Picked:
        """The file of it for this machine; raises `Unserved` where there is none."""
        host = host_of(self.hardware.read(), self.system, self.processor)
        wanted = asset or self.sources.asset
        choice = choose(kind, target.release.tag, target.release.assets, host, wanted)
        return Picked(kind, target.release, choice, build_tag(target.release.tag, choice.flavor), target.stable)

    def named(self, kind: EngineKind, tag: str) -> Target:
        """A release by its tag: `v0.6.0` of llama.cpp means the build that it stamps."""
        repository = self.repository(kind)
        found = self.feed.tagged(repository, tag)
        if found.stamps and not found.has_archives:
            return Target(self.feed.tagged(repository, found.stamps), found.tag)
        return Target(found)

    def target(self, kind: EngineKind) -> Target:
        """ODD: the stable channel is a pin and no floor: it means that very release, also where a newer build is installed."""
        repository, channel = self.repository(kind), self.sources.channel
        if channel == STABLE:
            return self._stable(repository)
        listed = self.feed.listing(repository)
        found = newest(listed)
        if found is None:
            raise NotFound(teaching.no_release(repository, channel))
        return Target(found, stable_names(listed).get(found.tag, ""))

    def _stable(self, repository: str) -> Target:
        found = self.feed.stable(repository)
        if found.has_archives:
            return Target(found)
        if found.stamps:
            return Target(self.feed.tagged(repository, found.stamps), found.tag)
        older = newest(self.feed.listing(repository), STABLE)
        if older is None:
            raise NotFound(teaching.no_release(repository, STABLE))
        return Target(older)

    def stable_of(self, kind: EngineKind) -> Target | None:
        """What upstream calls stable now, whichever channel is configured; None where it marks nothing."""
        try:
            return self._stable(self.repository(kind))
        except NotFound:
            return None

    def verifiable(self, kind: EngineKind, but: str) -> str:
        """The newest listed release other than `but` whose file for this machine has a digest; "" where there is none, or no answer."""
        try:
            listed = [one for one in self.feed.listing(self.repository(kind)) if one.tag != but and one.has_archives]
            while (found := newest(listed)) is not None:
                choice = self.choose(kind, Target(found)).choice
                if all(asset.sha256 for asset in (choice.asset, *choice.companions)):
                    return found.tag
                listed.remove(found)
        except BlazarError:
            return ""
        return ""

    def repository(self, kind: EngineKind) -> str:
        """Raises `Unserved` for kinds that are no archives, `Malformed` for a configured one that is none."""
        if kind not in REPOSITORIES:
            raise Unserved(teaching.no_release_kind(kind))
        return checked_repository(self.sources.repositories.get(kind, REPOSITORIES[kind]), REPOSITORY_VARIABLE)
