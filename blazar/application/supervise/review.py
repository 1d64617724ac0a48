"""Whether a running child would be told something else by another configuration, or by other files. Starts and stops nothing.

Both configurations are planned anew and under the same circumstances, those that the child was planned under: what else runs now,
how much memory is free and which build is active must not look like a change of the configuration.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any, Final, TypeVar

from blazar.application.ports.hardware import HardwareCensus
from blazar.application.supervise.charges import NOBODY, Usage
from blazar.application.supervise.launch_plan import LaunchPlanner
from blazar.application.supervise.sizing import Sizing
from blazar.application.supervise.surroundings import Launch
from blazar.domain import teaching
from blazar.domain.errors import BlazarError, Refusal
from blazar.domain.fit.machine import Machine as Placement
from blazar.domain.records import Engine, Machine, Model
from blazar.domain.told_paths import told_paths

Settings = Mapping[str, Any]
Refused = TypeVar("Refused", bound=Refusal)

_WHILE_IT_RUNS: Final = frozenset({"-lcd", "--lookup-cache-dynamic", "--video-ffmpeg-dir"})
"""What children write, or look into all the time: that it changes makes none of them outdated."""


def plan_once(
    planner: LaunchPlanner, model: Model, key: str, ctx: int = 0, usage: Usage = NOBODY, *, vision: bool = False
) -> Launch:
    """A launch of one configuration, remembered with it: a reload in the middle of planning would otherwise mix two."""
    settings = planner.settings_for(model.name)
    fixed = _fixed(planner, model.name, settings)
    try:
        launch = fixed.plan(model, key, ctx, usage, vision=vision)
        return launch._replace(settings=settings, read=_read(planner, launch))
    except Refusal as refusal:
        raise by_former(planner, refusal) from None


def by_former(planner: LaunchPlanner, refusal: Refused) -> Refused:
    """The same refusal; while the file as it is now cannot be used, it says that a former one decided: else who mends the file wonders."""
    if planner.refused():  # what is wrong with it is for who manages this daemon: a caller may be anybody
        refusal.args = (teaching.by_former_configuration(str(refusal)),)
    return refusal


def reread(planner: LaunchPlanner, launch: Launch) -> bool:
    """Whether one of the files that the child read is another one by now: an adapter that was pulled anew keeps its path."""
    return bool(launch.read) and _read(planner, launch) != launch.read


def _read(planner: LaunchPlanner, launch: Launch) -> tuple[tuple[str, str], ...]:
    """What is no whole path counts from where children run."""
    driver, folder = planner.drivers.get(launch.plan.kind), planner.places.socket
    told = told_paths(driver.paths, launch.plan.decisions) if driver is not None else ()
    paths = dict.fromkeys(str(PurePath(folder, one.path)) for one in told if one.flag not in _WHILE_IT_RUNS)
    return tuple((path, planner.sizing.files.stamp(path)) for path in paths)


def outdated(planner: LaunchPlanner, launch: Launch, settings: Settings) -> bool:
    """Whether `settings` mean another child than the one that `launch` became. Blocking, as planning is."""
    if reread(planner, launch):
        return True
    if settings == launch.settings:
        return False
    still = _Still(planner.hardware.read())
    then = launch.sized.machine if launch.sized is not None else None
    sizing = _AsThen(planner.sizing.files, still, then=then)
    there = replace(planner, hardware=still, sizing=sizing)
    return _told(there, launch, launch.settings) != _told(there, launch, settings)


def _fixed(planner: LaunchPlanner, name: str, settings: Settings) -> LaunchPlanner:
    return replace(planner, settings_for=lambda asked: settings if asked == name else planner.settings_for(asked))


def _told(planner: LaunchPlanner, launch: Launch, settings: Settings) -> object:
    """What a child would be told; the sentence where it would be refused: that is news as well."""
    try:
        fixed = _fixed(planner, launch.model.name, settings)
        plan = fixed.plan(launch.model, launch.plan.key, launch.wish, vision=launch.vision).plan
    except BlazarError as refusal:
        return str(refusal)
    return plan.tag, plan.words, plan.env, plan.socket, plan.auth


class _Still(HardwareCensus):
    """One reading, however often it is asked for."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def read(self) -> Machine:
        return self._machine

    def invalidate(self) -> None:
        """It stays."""


@dataclass(frozen=True, slots=True)
class _AsThen(Sizing):
    """Places as they were; as the census has them where nothing was placed."""

    then: Placement | None = None

    def machine(self, engine: Engine, usage: Usage = NOBODY, workers: str = "") -> Placement:
        return self.then if self.then is not None else Sizing.machine(self, engine, usage, workers)
