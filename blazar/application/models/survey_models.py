"""What the catalog holds, each model with whether it fits here, about, and what would serve it. Opens no file and starts nothing.

A hundred rows take milliseconds: the verdict is by size alone, and `fit` knows better.
"""

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from blazar.application.ports.catalog import ModelCatalog
from blazar.application.ports.engines import EngineCatalog
from blazar.application.supervise.charges import Tenant
from blazar.domain.errors import Unserved
from blazar.domain.fit.about import about
from blazar.domain.fit.machine import Machine
from blazar.domain.kinds import EngineKind
from blazar.domain.records import Engine, Model
from blazar.domain.routing import Route, Rules, Subject, lane_for


class Surveyed(NamedTuple):
    """`fit` is a word of `domain.fit.about`, `lane` a kind of engine; "" where nobody can say, or nothing here serves it."""

    model: Model
    fit: str = ""
    lane: str = ""


@dataclass(frozen=True, slots=True)
class SurveyModels:
    """`machine` is what there is once its tenants have left: a model that runs fits. `pin` is the engine that configuration names."""

    catalog: ModelCatalog
    engines: EngineCatalog
    machine: Callable[[Sequence[Tenant]], Machine]
    rules: Callable[[], Rules] = Rules
    pin: Callable[[str], str] = lambda _: ""
    driven: Collection[EngineKind] = frozenset(EngineKind)

    def __call__(self, tenants: Sequence[Tenant] = ()) -> list[Surveyed]:
        """By name. Blocking, as drivers are asked what is in use."""
        models = self.catalog.list_models()
        if not models:
            return []
        machine, engines, rules = self.machine(tenants), self.engines.list_engines(), self.rules()
        return [Surveyed(one, about(one.size, machine), self._lane(one, engines, rules)) for one in models]

    def unserved(self, model: Model) -> str:
        """Why none of the engines serves it, and what to do; "" where one does."""
        try:
            self._route(model, self.engines.list_engines(), self.rules())
        except Unserved as why:
            return str(why)
        return ""

    def _lane(self, model: Model, engines: Sequence[Engine], rules: Rules) -> str:
        with suppress(Unserved):
            return self._route(model, engines, rules).engine.kind.value
        return ""

    def _route(self, model: Model, engines: Sequence[Engine], rules: Rules) -> Route:
        subject = Subject(model.weights, model.arch, self.pin(model.name))
        return lane_for(subject, engines, self.driven, rules)
