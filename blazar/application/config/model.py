"""Everything config.toml may say: the groups joined, and the per-model overrides derived from them, never written twice."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import AfterValidator, Field, create_model
from pydantic_core import PydanticCustomError

from blazar.application.config.children import MemoryKeys, ProcessKeys, SlotKeys
from blazar.application.config.gateway import GatewayKeys
from blazar.application.config.knob import Keys, knob_of
from blazar.application.config.observability import ObservabilityKeys
from blazar.application.config.placement import PlacementKeys
from blazar.application.config.reasoning import ReasoningKeys
from blazar.application.config.resources import ResourceKeys
from blazar.application.config.tables import OverrideOnly, TableKeys
from blazar.application.config.yarn import YarnKeys
from blazar.domain import teaching
from blazar.domain.errors import BadName
from blazar.domain.names import check_name

SECTIONS: tuple[type[Keys], ...] = (
    GatewayKeys,
    ResourceKeys,
    MemoryKeys,
    SlotKeys,
    ProcessKeys,
    PlacementKeys,
    ReasoningKeys,
    YarnKeys,
    ObservabilityKeys,
    TableKeys,
)
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


def _known_name(name: str) -> str:
    try:
        return check_name(name)
    except BadName as error:
        raise PydanticCustomError("blazar", "{why}", {"why": teaching.config_wants("name")}) from error


class Config(
    GatewayKeys,
    ResourceKeys,
    MemoryKeys,
    SlotKeys,
    ProcessKeys,
    PlacementKeys,
    ReasoningKeys,
    YarnKeys,
    ObservabilityKeys,
    TableKeys,
):
    """Everything config.toml may say, flat."""

    title: ClassVar[str] = ""
    group: ClassVar[str] = ""

    model_overrides: dict[Annotated[str, AfterValidator(_known_name)], Override] = {}  # noqa: RUF012 - pydantic copies a default
    """Replacements for single models, one `[model_overrides.NAME]` table each."""

    @property
    def wanted_at_start(self) -> tuple[str, ...]:
        """Models to load when the daemon starts, each once."""
        return tuple(dict.fromkeys((*self.preload, *(self.models_autoload or ()))))

    def settings_for(self, model: str) -> dict[str, Any]:
        """What holds for `model` (a row's name): every key but the daemon's own, and the override-only ones by their names.

        `ctx` is None unless somebody chose a window: `default_ctx` is what is used then, and no promise.
        """
        override = self.model_overrides.get(model, Override())
        settings = {name: getattr(self, name) for name in type(self).model_fields if name not in DAEMON_KEYS}
        for name in type(override).model_fields:
            said = getattr(override, name)
            if said is not None or name not in settings:
                settings[name] = said
        settings["cache_type_k"], settings["cache_type_v"] = _cache_types(settings)
        # A model's empty list is none of its own (setup document).
        settings["rpc_servers"] = settings["rpc_servers"] or self.rpc_servers
        return settings


TABLES = frozenset({"keys", "model_overrides"})
"""Keys that are tables of their own."""

# A flag table reads settings by name, and an engine has a `cors_origins` too: the daemon's must never reach a child.
DAEMON_KEYS = (
    TABLES
    | {"host", "port", "cors_origins", "allowed_hosts", "preload", "models_autoload", "max_loaded_models"}
    | {"log_level", "audit_log"}
)
"""Keys that say nothing about one model."""


def _cache_types(settings: Mapping[str, Any]) -> tuple[str, str]:
    """The set side wins over cache_type; a lone side is mirrored where no other grade exists (setup document)."""
    both, key, value = settings["cache_type"], settings["cache_type_k"], settings["cache_type_v"]
    return key or both or value, value or both or key


def section_of(key: str) -> type[Keys] | None:
    """The group that declares `key`; None where there is no such key (model_overrides is nobody's)."""
    return next((section for section in SECTIONS if key in section.model_fields), None)
