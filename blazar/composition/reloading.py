"""Where the configuration comes from, the first time and again, and who is told when it has changed."""

import logging
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from blazar.adapters.files.configfile import read_config, stamp_of

if TYPE_CHECKING:
    from blazar.adapters.files.folders import Folders
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
        self.seen: tuple[int, ...] | None = None
        """The stamp of what `first` read."""

    def first(self) -> "Loaded":
        """Raises `BadConfig`. The stamp is taken before: what is written meanwhile is found by the first look."""
        self.seen = self.stamp()
        return self.read()

    def read(self) -> "Loaded":
        """Raises `BadConfig`, also for a file that was named and is gone; one that nobody named means the defaults."""
        self._folders.check_config()
        return read_config(self._folders.config_file, self._env, self._overrides)

    def stamp(self) -> tuple[int, ...] | None:
        """What tells that the file has changed."""
        return stamp_of(self._folders.config_file)


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
