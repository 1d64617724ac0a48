"""The configuration that holds now. Who keeps this object instead of a `Config` sees a reload; decides nothing about one."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from blazar.application.config.layers import Loaded
from blazar.application.config.model import Config, Override

RESTART_KEYS: Final = frozenset(
    {
        "host",
        "port",
        *(name for name in Config.model_fields if name.startswith("tls_")),
    }  # what the bound socket is made of
)
"""Keys that are read once, when the daemon starts."""


class Refused(NamedTuple):
    """The file as it is now cannot be used: since when (Unix time), and everything that is wrong with it."""

    since: float
    problems: tuple[str, ...]


class LiveConfig:
    """One for the whole daemon; `replace` is the only way it changes.

    `pending` are keys that the file says otherwise and only a restart can change; `refused` is about the file, not about this.
    """

    def __init__(self, loaded: Loaded) -> None:
        self.loaded, self._rooted = loaded, loaded.rooted()
        self.pending: tuple[str, ...] = ()
        self.refused: Refused | None = None
        self.engine_env = EngineEnv(self)

    @property
    def config(self) -> Config:
        """All keys, every path from the root on. Who shows what was written takes `loaded`."""
        return self._rooted

    def settings_for(self, model: str) -> dict[str, Any]:
        """What holds for one model, flat."""
        return self.loaded.settings_for(model)

    def origins_for(self, model: str) -> Mapping[str, str]:
        """Who set those settings, as people read it; a default has no entry."""
        return self.loaded.origins_for(model)

    def problems(self) -> tuple[str, ...]:
        """What is wrong with the file as it is now; empty where this configuration is the file's."""
        return self.refused.problems if self.refused is not None else ()

    def replace(self, loaded: Loaded, pending: tuple[str, ...] = ()) -> None:
        """From now on this one holds; the file is good."""
        self.loaded, self.pending, self.refused = loaded, pending, None
        self._rooted = loaded.rooted()


class EngineEnv(Mapping[str, str]):
    """`engine_env` as it is now, for whoever runs a build to ask it something."""

    def __init__(self, live: LiveConfig) -> None:
        self._live = live

    def __getitem__(self, name: str) -> str:
        return self._live.config.engine_env[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._live.config.engine_env)

    def __len__(self) -> int:
        return len(self._live.config.engine_env)


def changed_keys(old: Config, new: Config) -> tuple[str, ...]:
    """Names of what differs, sorted; never a value, for it may be a secret. Overrides as `model_overrides.NAME.KEY`."""
    names = [
        name for name in Config.model_fields if name != "model_overrides" and getattr(old, name) != getattr(new, name)
    ]
    none = Override()
    for model in old.model_overrides.keys() | new.model_overrides.keys():
        before, after = (config.model_overrides.get(model, none) for config in (old, new))
        names += [
            f"model_overrides.{model}.{key}"
            for key in Override.model_fields
            if getattr(before, key) != getattr(after, key)
        ]
    return tuple(sorted(names))


def keeping(running: Loaded, wanted: Loaded) -> Loaded:
    """`wanted`, but for the keys that only a restart can change."""
    kept = {name: getattr(running.config, name) for name in RESTART_KEYS}
    origins = {name: running.origins[name] for name in RESTART_KEYS}
    return Loaded(wanted.config.model_copy(update=kept), wanted.origins | origins, wanted.warnings, wanted.folder)
