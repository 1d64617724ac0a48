"""A feed of releases in memory, and downloads without a network."""

from collections.abc import Mapping, Sequence

from blazar.application.ports.downloads import Downloads, Told, Wanted
from blazar.application.ports.releases import ReleaseFeed
from blazar.domain import teaching
from blazar.domain.errors import BlazarError, NotFound
from blazar.domain.releases import Asset, Release


class MemoryReleases(ReleaseFeed):
    """`by_repository` as the host lists them; `trouble` is raised by everything. `asked` says what was asked for."""

    def __init__(self, by_repository: Mapping[str, Sequence[Release]] | None = None) -> None:
        self.by_repository = {name: list(found) for name, found in (by_repository or {}).items()}
        self.texts: dict[str, str] = {}
        self.trouble: BlazarError | None = None
        self.asked: list[str] = []
        self.closed = 0

    def _of(self, repository: str, what: str) -> list[Release]:
        self.asked.append(f"{repository} {what}")
        if self.trouble is not None:
            raise self.trouble
        if repository not in self.by_repository:
            raise NotFound(teaching.remote_not_found(repository, "host", None))
        return self.by_repository[repository]

    def listing(self, repository: str) -> tuple[Release, ...]:
        return tuple(self._of(repository, "listing"))

    def stable(self, repository: str) -> Release:
        found = [one for one in self._of(repository, "stable") if not one.prerelease]
        if not found:
            raise NotFound(teaching.no_release(repository, "stable"))
        return max(found, key=lambda one: one.published)

    def tagged(self, repository: str, tag: str) -> Release:
        found = next((one for one in self._of(repository, tag) if one.tag == tag), None)
        if found is None:
            raise NotFound(teaching.no_release_tag(repository, tag))
        return found

    def text(self, asset: Asset) -> str:
        return self.texts[asset.name]

    def stop(self, why: BlazarError) -> None:
        self.trouble = why

    def close(self) -> None:
        self.closed += 1


class MemoryDownloads(Downloads):
    """Every file arrives at once, unless `trouble` says otherwise; `fetched` are the paths."""

    def __init__(self) -> None:
        self.wanted: list[Wanted] = []
        self.trouble: BlazarError | None = None

    def fetch(self, wanted: Wanted, told: Told) -> None:
        if self.trouble is not None:
            raise self.trouble
        self.wanted.append(wanted)
        told(wanted.size, wanted.size)

    def stop(self, why: BlazarError) -> None:
        self.trouble = why
