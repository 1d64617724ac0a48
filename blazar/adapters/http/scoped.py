"""What a scoped key sees of the models: those that it may use. Pickers offer what a list says, and the rest would be refused.

Reads what `authenticate` has put in the scope; whether a model may be used is decided where it is leased.
"""

from collections.abc import Callable, Collection, Iterable
from typing import Any

from quart import request

from blazar.adapters.http.layers.authenticate import KEY_MODELS
from blazar.adapters.http.record import record_of
from blazar.domain import teaching
from blazar.domain.errors import Forbidden
from blazar.domain.names import resolve
from blazar.domain.records import Model
from blazar.domain.references import LONGEST
from blazar.domain.row_names import meant, not_one


def visible(models: Iterable[Model]) -> list[Model]:
    """Those of `models` that the caller of this request may use."""
    rows = list(models)
    names = seen(rows)
    return [model for model in rows if model.name in names]


def seen(models: Collection[Model], gone: Collection[str] = ()) -> Collection[str]:
    """Names of those; a key's owner may spell them as callers do. `gone` are names of models without a row."""
    names = {model.name for model in models} | set(gone)
    scope: Any = request.scope  # Quart's type knows no keys but the specification's
    spellings: Collection[str] | None = scope.get(KEY_MODELS)
    if spellings is None:
        return names
    return {resolve(meant(spelling, models), names) for spelling in spellings} & names


def limited_to(list_models: Callable[[], Collection[Model]]) -> Collection[str] | None:
    """Names that the caller may use, also of models that are not there any more or lie elsewhere; None where that is every one."""
    scope: Any = request.scope
    spellings: Collection[str] | None = scope.get(KEY_MODELS)
    return None if spellings is None else seen(list_models(), spellings)


def must_see(asked: str, models: Collection[Model]) -> None:
    """Raises what using that model would hear. Of one that is not there others tell, who know nothing of keys: not to a scoped one."""
    scope: Any = request.scope
    row, names = meant(asked, models), seen(models)
    if row in names or scope.get(KEY_MODELS) is None or len(asked) > LONGEST:
        return
    if row in {model.name for model in models}:
        raise Forbidden(teaching.key_not_for_model(record_of(scope).key, asked, scope[KEY_MODELS]))
    raise not_one(asked, models, names)
