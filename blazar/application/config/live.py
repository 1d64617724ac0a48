"""The configuration that holds now. Who keeps this object instead of a `Config` sees a reload; decides nothing about one."""

from collections.abc import Mapping
from typing import Any

from blazar.application.config.layers import Loaded
from blazar.application.config.model import Config


class LiveConfig:
    """One for the whole daemon; `replace` is the only way it changes."""

    def __init__(self, loaded: Loaded) -> None:
        self.loaded = loaded

    @property
    def config(self) -> Config:
        """All keys."""
        return self.loaded.config

    def settings_for(self, model: str) -> dict[str, Any]:
        """What holds for one model, flat."""
        return self.loaded.config.settings_for(model)

    def origins_for(self, model: str) -> Mapping[str, str]:
        """Who set those settings, as people read it; a default has no entry."""
        return self.loaded.origins_for(model)

    def replace(self, loaded: Loaded) -> None:
        """From now on this one holds."""
        self.loaded = loaded
