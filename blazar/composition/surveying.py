"""`list` with verdicts and lanes, by a verb and in the daemon. Loads neither ORM nor HTTP client, and the configuration only where it may matter."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from blazar.application.models.survey_models import Surveyed, SurveyModels
from blazar.application.ports.catalog import ModelCatalog
from blazar.application.ports.engines import EngineCatalog
from blazar.application.supervise.charges import Tenant
from blazar.application.supervise.fit_machine import fit_machine
from blazar.application.supervise.sizing import Sizing
from blazar.composition.preview import rules_here
from blazar.domain.errors import BadConfig
from blazar.domain.fit.machine import Machine
from blazar.domain.kinds import Weights
from blazar.domain.records import Model
from blazar.domain.routing import Rules

if TYPE_CHECKING:
    from blazar.composition.local import Local

PIN = "engine"


def survey_here(local: "Local") -> SurveyModels:
    """No engine is asked what it sees: that starts a process. A configuration that cannot be used is as good as none here."""
    from blazar.adapters.hardware.census import SystemCensus

    rules = Rules()
    pin: Callable[[str], str] = _none
    with suppress(BadConfig):
        rules = rules_here(local)
        if local.may_say(PIN):
            pin = partial(_pin, local.settings().loaded.settings_for)
    return SurveyModels(
        local.catalog, local.engine_rows, lambda _: fit_machine(SystemCensus().read()), lambda: rules, pin
    )


def unserved_here(local: "Local", model: Model) -> str:
    """Why no engine serves it, and what to do; "" where one does."""
    survey = survey_here(local)
    if survey.unserved(model) and model.weights is Weights.GGUF:
        local.engines().list()  # the wheel, and the server that somebody named, are entered by whoever looks first
    return survey.unserved(model)


def _none(_: str) -> str:
    return ""


def _pin(settings_for: Callable[[str], Mapping[str, Any]], name: str) -> str:
    return str(settings_for(name)[PIN])


@dataclass(frozen=True, slots=True)
class SurveyBeside:
    """The same in the daemon, whose own children use what is there: they are taken for gone, so that a model that runs fits."""

    catalog: ModelCatalog
    engines: EngineCatalog
    sizing: Sizing
    settings_for: Callable[[str], Mapping[str, Any]]
    rules: Callable[[], Rules]
    tenants: Callable[[], Sequence[Tenant]]

    def _machine(self, tenants: Sequence[Tenant]) -> Machine:
        usage = self.sizing.usage(tenants, gone=[one.key for one in tenants])
        return usage.left_of(fit_machine(self.sizing.hardware.read(), usage.running))

    async def __call__(self) -> list[Surveyed]:
        """In a thread: drivers are asked what is in use."""
        pin = partial(_pin, self.settings_for)
        survey = SurveyModels(self.catalog, self.engines, self._machine, self.rules, pin)
        return await asyncio.to_thread(survey, self.tenants())
