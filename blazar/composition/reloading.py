"""Where the configuration comes from, the first time and again, and who is told when it has changed."""

import logging
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from blazar.adapters.files.configfile import read_config, stamp_of
from blazar.composition.securing import until
from blazar.domain import teaching
from blazar.domain.errors import Malformed

if TYPE_CHECKING:
    from blazar.adapters.files.folders import Folders
    from blazar.adapters.http.server.certificates import Certificates
    from blazar.application.config.layers import Loaded
    from blazar.application.config.model import Config

logger = logging.getLogger("blazar.config")

Applier = Callable[["Config", "Config"], Awaitable[None]]


class Source:
    """The file, this process's environment and the command line: the same precedence at every reading."""

    def __init__(
        self, folders: "Folders", env: Mapping[str, str] = os.environ, overrides: Mapping[str, Any] | None = None
    ) -> None:
        self._folders, self._env, self._overrides = folders, env, overrides
        self.seen: object = None
        """The stamp of what `first` read."""
        self.tls: Certificates | None = None
        """Looked at and read again along with the file: who renews a certificate need not tell us."""

    def first(self) -> "Loaded":
        """Raises `BadConfig`. The stamp is taken before: what is written meanwhile is found by the first look."""
        self.seen = self.stamp()
        return self.read()

    def read(self) -> "Loaded":
        """Raises `BadConfig`, also for a file that was named and is gone; one that nobody named means the defaults."""
        self._folders.check_config()
        self._renew()
        return read_config(self._folders.config_file, self._env, self._overrides)

    def stamp(self) -> object:
        """What tells that the file has changed, or the certificate."""
        file = stamp_of(self._folders.config_file)
        return file if self.tls is None else (file, self.tls.stamp())

    def serve_with(self, tls: "Certificates | None") -> "Certificates | None":
        """From now on the certificate belongs to what is watched."""
        if tls is not None:
            self.tls, self.seen = tls, (self.seen, tls.stamp())
        return tls

    def _renew(self) -> None:
        """One that cannot be used is told, and changes nothing."""
        if self.tls is None:
            return
        try:
            if self.tls.renew():
                logger.info("%s", teaching.tls_renewed(str(self.tls.cert), until(self.tls.validity)))
        except Malformed as unusable:
            logger.warning("%s", teaching.tls_not_renewed(str(unusable)))


class ApplyAll:
    """Every part that keeps something of the configuration, in order."""

    def __init__(self, *appliers: Applier) -> None:
        self._appliers = appliers

    async def __call__(self, old: "Config", new: "Config") -> None:
        if logger.isEnabledFor(logging.DEBUG):
            for line in difference(old, new):
                logger.debug("%s", line)
        for apply in self._appliers:
            await apply(old, new)


def difference(old: "Config", new: "Config") -> Iterator[str]:
    """What every changed key says now and said before; secrets as marks, which tell that one has changed and not which."""
    from blazar.application.config.live import changed_keys
    from blazar.application.config.lookup import holds
    from blazar.application.config.render import toml_value

    for key in changed_keys(old, new):
        now, before = (toml_value(holds(config, key)) or "unset" for config in (new, old))
        yield f"{key} = {now} (before: {before})"


def configured(loaded: "Loaded") -> Iterator[str]:
    """Every key that somebody set, what it says and who said it, without a secret."""
    from blazar.application.config.render import listing

    for row in listing(loaded):
        if row.origin.layer != "default":
            yield f"{row.key} = {row.toml or 'unset'} ({' '.join(filter(None, row.origin))})"
