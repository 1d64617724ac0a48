"""What every registry over HTTP does alike: files of it are asked for, read and let go. Knows no registry's API."""

from collections.abc import Callable
from typing import Self

from blazar.adapters.net.patience import BRIEF
from blazar.adapters.net.ranges import RangedFile
from blazar.adapters.net.web import Web
from blazar.application.ports.downloads import Wanted
from blazar.application.ports.remote import Found, RemoteFile, RemoteModels
from blazar.domain import teaching
from blazar.domain.addresses import Ours
from blazar.domain.errors import BlazarError, Unserved


class AskedByWeb(RemoteModels):
    """A registry behind one `Web`. It has no search and gives its files to anybody; those that do otherwise say so."""

    def __init__(self, web: Web) -> None:
        self._web = web
        web.patience = BRIEF  # a pull has more of it

    def knowing(self, ours: Ours) -> Self:
        """The same, which may be asked inside this network where a person named it."""
        self._web.ours = ours
        return self

    def wanted(self, file: RemoteFile, path: str) -> Wanted:
        return Wanted(file.at, path, file.name, file.size, file.sha256)

    def search(self, word: str, limit: int) -> tuple[Found, ...]:  # noqa: ARG002 - there is nothing to bound
        raise Unserved(teaching.remote_no_search(self._web.host, word[:80]))

    def open(self, file: RemoteFile) -> RangedFile:
        return RangedFile(self._web, file.at, file.name, file.size)

    def tells(self, waits: Callable[[str], None]) -> None:
        self._web.waits = waits

    def stop(self, why: BlazarError) -> None:
        self._web.stop(why)

    def close(self) -> None:
        self._web.close()
