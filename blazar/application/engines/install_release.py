"""Install a build from a release: pick it, download it verified, hand it to the installer. Activates nothing by itself."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from blazar.application.engines.install_engine import InstallEngine, Origin
from blazar.application.engines.pick_release import Picked, PickRelease
from blazar.application.ports.disk import DiskSpace
from blazar.application.ports.downloads import Downloads, Wanted
from blazar.application.ports.engines import Archive
from blazar.domain import teaching
from blazar.domain.errors import Conflict, Malformed, StoreTrouble
from blazar.domain.kinds import EngineKind
from blazar.domain.records import Engine
from blazar.domain.releases import Asset, checked_sha256

UNPACKED = 4
"""Times the bytes of an archive that an install takes: builds of llama.cpp and sd-server are 2.6 times as large as theirs, which
stays until they are in place."""

Told = Callable[[str, int, int], None]
"""A file's name, the bytes of it that are there, and all of them."""


class Installed(NamedTuple):
    """A build, where it came from, and whether it was there before."""

    engine: Engine
    picked: Picked
    already: bool


@dataclass(frozen=True, slots=True)
class InstallRelease:
    """`folder` is where downloads lie until they are installed; what is incomplete stays there for the next time.

    `forget` deletes a download that is installed.
    """

    pick: PickRelease
    downloads: Downloads
    install: InstallEngine
    disk: DiskSpace
    folder: str
    forget: Callable[[str], None]

    def __call__(
        self, kind: EngineKind, tag: str | None, asset: str | None, sha256: str | None, told: Told
    ) -> Installed:
        """Raises what picking, downloading and installing raise."""
        return self.take(self.pick(kind, tag, asset), told, sha256)

    def take(self, picked: Picked, told: Told, sha256: str | None = None) -> Installed:
        """The build of a release that was picked; nothing is fetched where it is installed already."""
        there = self.install.engines.find_engine(picked.tag)
        if there is not None:
            _check_digest(there, sha256)
            for one in (picked.choice.asset._replace(sha256=there.digest), *picked.choice.companions):
                self.forget(self._path(one))  # a crash right after its row left them
            return Installed(there, picked, already=True)
        archives = [self._verified(picked, picked.choice.asset, sha256)]
        archives += [self._verified(picked, one, None) for one in picked.choice.companions]
        self._check_room(picked)
        paths = [self._fetch(one, told) for one in archives]
        release = picked.release.tag
        engine = self.install(
            paths[0],
            archives[0].sha256,
            picked.tag,
            kind=picked.kind,
            origin=Origin(release=release, source=archives[0].url),
            beside=tuple(Archive(path, one.sha256) for path, one in zip(paths[1:], archives[1:], strict=True)),
        )
        for path in paths:
            self.forget(path)
        return Installed(engine, picked, already=False)

    def _check_room(self, picked: Picked) -> None:
        """Before anything is fetched: for the archives and for what they become."""
        needed, free = picked.size * UNPACKED, self.disk.free(self.folder)
        if needed > free:
            raise StoreTrouble(teaching.download_no_room(self.folder, needed, free))

    def _verified(self, picked: Picked, asset: Asset, sha256: str | None) -> Asset:
        """With the digest that it must have: the feed's, or the user's, who may have it from elsewhere and is believed."""
        if not (told := (sha256 or asset.sha256).strip()):
            older = self.pick.verifiable(picked.kind, picked.release.tag)
            raise Malformed(teaching.asset_without_digest(asset.name, picked.kind, picked.release.tag, older), "sha256")
        return asset._replace(sha256=checked_sha256(told))

    def _path(self, asset: Asset) -> str:
        """Files of two releases may have one name (`cudart-llama-bin-win-cuda-12.4-x64.zip`): their digest tells them apart."""
        return f"{self.folder}/{asset.sha256[:12]}-{asset.name}"

    def _fetch(self, asset: Asset, told: Told) -> str:
        path = self._path(asset)
        wanted = Wanted(asset.url, path, asset.name, asset.size, asset.sha256)
        self.downloads.fetch(wanted, lambda done, total: told(asset.name, done, total))
        return path


def _check_digest(there: Engine, sha256: str | None) -> None:
    """Of what is installed: a promise that it does not keep is no success. Rows of folders and environments have no digest."""
    if sha256 and (wanted := checked_sha256(sha256)) != there.digest and there.digest:
        raise Conflict(teaching.install_other_digest(there.tag, wanted, there.digest))
