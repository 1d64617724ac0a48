"""Everything config.toml may say: the groups joined, and the per-model overrides derived from them, never written twice."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import AfterValidator, Field, create_model

from blazar.application.config.children import MemoryKeys, ProcessKeys, SlotKeys
from blazar.application.config.diffusion import DiffusionKeys
from blazar.application.config.engines import EngineKeys
from blazar.application.config.gateway import GatewayKeys
from blazar.application.config.knob import Keys, also, knob_of, model_name, table_in
from blazar.application.config.lifecycle import LifecycleKeys
from blazar.application.config.log import LogKeys
from blazar.application.config.media import MediaKeys
from blazar.application.config.observability import ObservabilityKeys
from blazar.application.config.override import OverrideOnly
from blazar.application.config.placement import PlacementKeys
from blazar.application.config.reasoning import ReasoningKeys
from blazar.application.config.requests import RequestKeys
from blazar.application.config.resources import ResourceKeys
from blazar.application.config.routing import RoutingKeys
from blazar.application.config.speculative import LookupKeys, SpeculativeKeys
from blazar.application.config.tables import TableKeys
from blazar.application.config.tools import ToolKeys
from blazar.application.config.tuning import TUNINGS, MistralrsKeys, tuning_settings
from blazar.application.config.vision import VisionKeys
from blazar.application.config.whisper import WhisperKeys
from blazar.application.config.yarn import YarnKeys
from blazar.domain.names import LONGEST_NAME, NAME


class Root(
    GatewayKeys,
    ResourceKeys,
    LifecycleKeys,
    RoutingKeys,
    MemoryKeys,
    SlotKeys,
    ProcessKeys,
    PlacementKeys,
    SpeculativeKeys,
    LookupKeys,
    ReasoningKeys,
    VisionKeys,
    MediaKeys,
    YarnKeys,
    RequestKeys,
    ToolKeys,
    EngineKeys,
    WhisperKeys,
    DiffusionKeys,
    MistralrsKeys,
    ObservabilityKeys,
    LogKeys,
    TableKeys,
):
    """Every key but the overrides, which are derived from these."""

    title: ClassVar[str] = ""
    group: ClassVar[str] = ""
    daemon: ClassVar[bool] = False


SECTIONS: tuple[type[Keys], ...] = Root.__bases__
"""The groups in the order in which people read them."""

GROUPS: dict[str, type[Keys]] = {section.group: section for section in SECTIONS if section.group}
"""Tables that keys may be written under, by name."""


def _derived() -> dict[str, Any]:
    """Every per-model key as an optional field with the bounds and the sentence of its declaration."""
    fields: dict[str, Any] = {}
    for section in SECTIONS:
        for name, field in section.model_fields.items():
            if knob_of(field).per_model:
                annotation: Any = Annotated[field.annotation, *field.metadata]
                fields[name] = (annotation | None, Field(default=None, description=field.description))
    return fields


if TYPE_CHECKING:
    Override = OverrideOnly
else:
    Override = create_model("Override", __base__=OverrideOnly, __doc__="One model's replacements.", **_derived())


class Config(Root):
    """Everything config.toml may say, flat."""

    model_overrides: Annotated[
        dict[Annotated[str, AfterValidator(model_name)], Override],
        also(propertyNames={"pattern": f"^{NAME}$", "maxLength": LONGEST_NAME}),
    ] = {}  # noqa: RUF012 - pydantic copies a default
    """Replacements for single models, one `[model_overrides.NAME]` table each."""

    @property
    def wanted_at_start(self) -> tuple[str, ...]:
        """Models to load when the daemon starts, each once."""
        return tuple(dict.fromkeys((*self.preload, *(self.models_autoload or ()))))

    @property
    def engines_named(self) -> dict[str, list[str]]:
        """What overrides name as their engine, builds and kinds alike, and for which models."""
        found: dict[str, list[str]] = {}
        for model, override in self.model_overrides.items():
            if override.engine:
                found.setdefault(override.engine, []).append(model)
        return found

    @property
    def workers_named(self) -> dict[str, list[str]]:
        """Workers on other machines, each `host:port`, with the keys that name them."""
        said = {"rpc_servers": self.rpc_servers.split(","), "sdcpp_rpc_servers": [*self.sdcpp_rpc_servers]}
        for model, override in self.model_overrides.items():
            said[f"model_overrides.{model}.rpc_servers"] = replaced(override).get("rpc_servers", "").split(",")
        found: dict[str, list[str]] = {}
        for key, endpoints in said.items():
            for endpoint in dict.fromkeys(filter(None, endpoints)):
                found.setdefault(endpoint, []).append(key)
        return found

    def settings_for(self, model: str) -> dict[str, Any]:
        """What holds for `model` (a row's name): every key but the daemon's own, and the override-only ones by their names.

        `ctx` is None unless somebody chose a window: `default_ctx` is what is used then, and no promise.
        """
        override = self.model_overrides.get(model) or _NOBODY
        settings = {name: getattr(self, name) for name in MODEL_KEYS}
        settings |= replaced(override)
        settings |= {name: getattr(override, name) for name in _ONLY_OVERRIDES}
        settings |= {side: settings[name] for side, name in cache_type_keys(settings).items()}
        roots, own = ({name: getattr(keys, name) for name in TUNINGS} for keys in (self, override))
        return settings | tuning_settings(roots, own)


TABLES = frozenset(
    {"model_overrides"}
    | {name for name, field in Config.model_fields.items() if table_in(field.annotation)} - TUNINGS.keys()
)
"""Keys that are tables of their own, but for the engines' tuning, which reaches children."""

# A flag table reads settings by name, and an engine has a `cors_origins` too: the daemon's must never reach a child.
DAEMON_KEYS = TABLES | {
    name
    for section in SECTIONS
    for name, field in section.model_fields.items()
    if (section.daemon or knob_of(field).daemon) and not knob_of(field).per_model
}
"""Keys that say nothing about one model."""

MODEL_KEYS = tuple(name for name in Config.model_fields if name not in DAEMON_KEYS and name not in TUNINGS)
"""Plain keys that hold for a model, or for the child that serves it."""

_REPLACING = tuple(name for name in Override.model_fields if name in Config.model_fields and name not in TUNINGS)
_ONLY_OVERRIDES = tuple(name for name in Override.model_fields if name not in Config.model_fields)
INHERITING = frozenset({"rpc_servers", "tensor_split"})
"""Lists that are no model's own where they are empty (setup document)."""
_NOBODY = Override.model_construct()  # builds no schema: Config has its own


def replaced(override: Override) -> dict[str, Any]:
    """The root's keys that an override replaces."""
    said = {name: getattr(override, name) for name in _REPLACING}
    return {
        name: value for name, value in said.items() if value is not None and (value != "" or name not in INHERITING)
    }


def cache_type_keys(settings: Mapping[str, Any]) -> dict[str, str]:
    """Which key says the number format of either side of the cache.

    The set side wins over cache_type; a lone side is mirrored where no other grade exists (setup document).
    """
    key = "cache_type_k" if settings["cache_type_k"] else ""
    value = "cache_type_v" if settings["cache_type_v"] else ""
    both = "cache_type" if settings["cache_type"] else ""
    return {
        "cache_type_k": key or both or value or "cache_type_k",
        "cache_type_v": value or both or key or "cache_type_v",
    }


def cache_type_sources(config: Config, model: str) -> dict[str, str]:
    """The same for one model."""
    own = replaced(config.model_overrides.get(model) or _NOBODY)
    return cache_type_keys(
        {name: own.get(name, getattr(config, name)) for name in ("cache_type", "cache_type_k", "cache_type_v")}
    )


def section_of(key: str) -> type[Keys] | None:
    """The group that declares `key`; None where there is no such key (model_overrides is nobody's)."""
    return next((section for section in SECTIONS if key in section.model_fields), None)
