"""What `sampler_defaults` says of a model, by the configuration as it is now. Asked by every request: nothing is looked up twice."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from blazar.application.models.find import get_model
from blazar.domain.errors import BlazarError

if TYPE_CHECKING:
    from blazar.application.config.live import LiveConfig
    from blazar.application.config.model import Config
    from blazar.application.ports.catalog import ModelCatalog

NONE: Final[Mapping[str, Any]] = MappingProxyType({})


class SamplerDefaults:
    """By the name that a caller uses. A configuration without any costs a comparison."""

    def __init__(self, live: "LiveConfig", catalog: "ModelCatalog") -> None:
        self._live, self._catalog = live, catalog
        self._of: Config | None = None
        self._held: Mapping[str, Mapping[str, Any]] = NONE

    def __call__(self, name: str) -> Mapping[str, Any]:
        config = self._live.config
        if config is not self._of:
            self._of, self._held = config, held_in(config)
        if not self._held:
            return NONE
        try:
            return self._held.get(name) or self._held.get(get_model(self._catalog, name).name, NONE)
        except BlazarError:
            return NONE  # what is wrong with the name, its place in line tells


def held_in(config: "Config") -> dict[str, Mapping[str, Any]]:
    """Of the models that have some."""
    said = config.model_overrides.items()
    return {name: override.sampler_defaults for name, override in said if override.sampler_defaults}
