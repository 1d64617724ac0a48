"""What `config validate` adds about this machine: a configuration that is in order and still not what was meant. Refuses nothing."""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from blazar.adapters.store.glance import build_of, models_in
from blazar.application.config.table_rules import local_scopes, of_a_remote
from blazar.application.config.waiting import said_anyway
from blazar.composition.listener import would_reach_others
from blazar.domain import teaching
from blazar.domain.keys import scopes_in_vain
from blazar.domain.kinds import EngineKind, Weights
from blazar.domain.launch import flags_of
from blazar.domain.names import parse_ref
from blazar.domain.records import Model
from blazar.domain.routing import route_format
from blazar.domain.row_names import meant, row_named

if TYPE_CHECKING:
    from blazar.application.config.model import Config


def cautions(config: "Config", database: Path) -> Iterator[str]:
    """Sentences, the most important first."""
    yield from open_door(config)
    if idle := said_anyway(config):
        yield teaching.keys_say_default(idle)
    rows = models_in(database)
    models = None if rows is None else {row.name: row.weights for row in rows}
    if rows is not None and models is not None:
        yield from _preloads(config, rows)
        missing = scopes_in_vain(local_scopes(config), models, lambda name: meant(name, rows))
        yield from (teaching.key_model_missing(key, name) for key, name in missing)
    for name, override in config.model_overrides.items():
        if models is not None and name not in models:
            yield teaching.doctor_override_without_model(name)
        if models and override.engine:
            yield from _pinned(name, override.engine, models.get(name), database)
        if flags := flags_of(override.extra_args):
            kind = _kind_of(override.engine, (models or {}).get(name, Weights.GGUF), database)
            taken = _reserved().get(kind, {}) if kind is not None else {}
            yield from (
                teaching.override_word_reserved(name, teaching.extra_arg_reserved(flag, taken[flag]))
                for flag in flags
                if flag in taken
            )


def _pinned(name: str, engine: str, weights: Weights | None, database: Path) -> Iterator[str]:
    """Why every request for a model would be refused over the engine that its override names."""
    kind = _kind_of(engine, Weights.GGUF, database)
    if kind is None:
        yield teaching.override_without_engine(name, engine)
    elif weights is not None and kind not in route_format(weights).kinds:
        yield teaching.override_engine_cannot(name, engine, kind, weights)
    elif engine == kind and build_of(database, kind) is None:
        yield teaching.override_kind_missing(name, kind)


def _preloads(config: "Config", rows: Collection[Model]) -> Iterator[str]:
    """Models to load at start that are not there. What a remote has is not ours to know."""
    for name in config.wanted_at_start:
        if row_named(parse_ref(name).model, rows) is None and not of_a_remote(config, name):
            yield teaching.preload_without_model(name)


def embeddings_said(config: "Config") -> dict[str, bool] | None:
    """What overrides say of models, whatever their weights say; None where the semantic cache, which needs one that embeds, is off."""
    if not config.semantic_cache.enabled:
        return None
    said = ((name, override.embeddings) for name, override in config.model_overrides.items())
    return {name: embeds for name, embeds in said if embeds is not None}


def open_door(config: "Config", url: str = "") -> Iterator[str]:
    """One sentence, where other machines may use this one without a key. `url`: where it is reached, if a name does not tell."""
    if not config.keys and (would_reach_others(config.host) or would_reach_others(urlsplit(url).hostname or "")):
        yield teaching.open_to_others(config.host)


def _kind_of(engine: str, weights: Weights, database: Path) -> EngineKind | None:
    """Which kind serves a model, as far as that is sure before it is loaded."""
    if not engine:
        return EngineKind.LLAMACPP if weights is Weights.GGUF else None
    return next((kind for kind in EngineKind if engine == kind or build_of(database, kind, engine) is not None), None)


def _reserved() -> Mapping[EngineKind, Mapping[str, str]]:
    from blazar.adapters.engines.llamacpp.reserved import BECAUSE as LLAMACPP
    from blazar.adapters.engines.mistralrs.reserved import BECAUSE as MISTRALRS
    from blazar.adapters.engines.mlx.reserved import BECAUSE as MLX
    from blazar.adapters.engines.sdcpp.reserved import BECAUSE as SDCPP
    from blazar.adapters.engines.sglang.reserved import BECAUSE as SGLANG

    kinds = (EngineKind.LLAMACPP, EngineKind.MISTRALRS, EngineKind.MLX, EngineKind.SDCPP, EngineKind.SGLANG)
    return dict(zip(kinds, (LLAMACPP, MISTRALRS, MLX, SDCPP, SGLANG), strict=True))
