"""A supervisor over fakes, driven by a clock that only the test moves."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from blazar.adapters.engines.llamacpp.spec import LLAMACPP
from blazar.application.config.model import Config, Override
from blazar.application.ports.drivers import Driver, FlagProbe
from blazar.application.supervise.launch_plan import LaunchPlanner
from blazar.application.supervise.leasing import Ask
from blazar.application.supervise.sizing import Sizing
from blazar.application.supervise.supervisor import Supervisor
from blazar.application.supervise.surroundings import Limits
from blazar.domain.admission.work import Work
from blazar.domain.argv import Flag, always, switch
from blazar.domain.fit.shape import ModelShape, Projector
from blazar.domain.kinds import EngineKind
from blazar.domain.manifest import Manifest
from blazar.domain.records import Model
from tests.fakes.catalog import MemoryModelCatalog, a_model
from tests.fakes.children import FakeChildren
from tests.fakes.clock import FakeClock
from tests.fakes.engines import MemoryEngineCatalog, an_engine
from tests.fakes.hardware import FakeCensus
from tests.fakes.telemetry import MemoryEvents, MemoryMeter
from tests.fakes.weights import MemoryWeightFiles, some_facts, some_shape
from tests.fakes.workers import FakeWorkers


class PlainDriver(Driver):
    """llama.cpp's kind with the few flags that planning is about."""

    kind = EngineKind.LLAMACPP
    host_flag = "--host"
    port_flag = "--port"
    key_file_flag = "--api-key-file"
    reserved = frozenset({"--host", "-m"})
    because: Mapping[str, str] = {"--host": "door", "-m": "model"}
    repeats = LLAMACPP.repeats
    joins = False
    server = "llama-server"
    load_cap_secs = 180.0
    extra_keys = ("extra_args",)
    workers_flag = LLAMACPP.workers_flag
    paths = LLAMACPP.paths
    manners = LLAMACPP.manners
    resolve = staticmethod(LLAMACPP.resolve)
    drafts = staticmethod(LLAMACPP.drafts)
    guesses = staticmethod(LLAMACPP.guesses)
    flags = (
        Flag("--model", "model_path", always),
        Flag("--alias", "alias", always),
        Flag("--ctx-size", "ctx_size", always),
        Flag("--parallel", "slots", always),
        Flag("--threads", "threads"),
        Flag("--embeddings", "embeddings", switch),
        Flag("--pooling", "pooling"),
        Flag("--fancy", "swa_full", switch),
        Flag("--rpc", "rpc_servers"),
        Flag("--mmproj", "projector"),
    )


class KnowsAll(FlagProbe):
    """`known` empty: nothing is filtered."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        self.known = Manifest.spelled(known)

    def manifest(self, engine: Any) -> Manifest:
        return self.known


def a_config(settings: dict[str, dict[str, Any]]) -> Config:
    """What a file would say: per-model keys as overrides of their model, all others for every model."""
    everywhere: dict[str, Any] = {"default_ctx": 4096}
    overrides: dict[str, dict[str, Any]] = {}
    for model, said in settings.items():
        overrides[model] = {key: value for key, value in said.items() if key in Override.model_fields}
        everywhere |= {key: value for key, value in said.items() if key not in Override.model_fields}
    return Config.model_validate({**everywhere, "model_overrides": overrides})


class AnyWeightFiles(MemoryWeightFiles):
    """Every path holds the same small model, trained for so many tokens."""

    def __init__(self, trained: int = 8192) -> None:
        super().__init__({})
        self.every = replace(some_shape(), trained_ctx=trained)

    def missing(self, files: tuple[str, ...]) -> str | None:
        return None

    def shape(self, files: tuple[str, ...]) -> ModelShape:
        return self.every


def a_planner(
    census: FakeCensus,
    settings: dict[str, dict[str, Any]],
    files: MemoryWeightFiles | None = None,
    **changes: Any,
) -> LaunchPlanner:
    """A planner with one active llama.cpp build, on the configuration that `settings` make."""
    parts: dict[str, Any] = {
        "engines": MemoryEngineCatalog([an_engine()]),
        "drivers": {EngineKind.LLAMACPP: PlainDriver()},
        "probe": KnowsAll(),
        "hardware": census,
        "settings_for": a_config(settings).settings_for,
        "sizing": Sizing(files or AnyWeightFiles(), census),
    }
    return LaunchPlanner(**{**parts, **changes})


async def at_once(work: Callable[[], Any]) -> Any:
    """In the place of a thread: the fake clock knows when tasks are done, of threads it knows nothing."""
    return work()


class World:
    """Everything around one supervisor. Use inside `run`, which ends it and looks for leftovers.

    Its models have one slot each where a test says nothing else: most are about turns, not about what the planner chooses.
    """

    def __init__(self, models: Iterable[Model] = (), limits: Limits | None = None, **settings: dict[str, Any]) -> None:
        self.clock = FakeClock()
        self.children = FakeChildren(self.clock)
        self.catalog = MemoryModelCatalog(models or [a_model("a", ctx_train=8192), a_model("b"), a_model("c")])
        rows = self.catalog.list_models()
        self.files = MemoryWeightFiles({row.files[0]: some_facts(*row.files) for row in rows})
        self.census = FakeCensus()
        self.meter, self.events = MemoryMeter(), MemoryEvents()
        self.workers = FakeWorkers()
        self.files.shapes = {row.files[0]: replace(some_shape(), trained_ctx=row.ctx_train) for row in rows}
        self.config = self._config(settings)
        self.planner = a_planner(self.census, {}, self.files, settings_for=self._settings_for)
        self.supervisor = Supervisor(
            catalog=self.catalog,
            files=self.files,
            planner=self.planner,
            children=self.children,
            clock=self.clock,
            hardware=self.census,
            meter=self.meter,
            events=self.events,
            limits=limits or Limits(),
            blocking=at_once,
            workers=self.workers,
        )

    def _settings_for(self, model: str) -> dict[str, Any]:
        return self.config.settings_for(model)

    def _config(self, settings: dict[str, dict[str, Any]]) -> Config:
        for row in self.catalog.list_models():
            settings.setdefault(row.name, {}).setdefault("slots", 1)
        return a_config(settings)

    async def configure(self, limits: Limits | None = None, **settings: dict[str, Any]) -> None:
        """Another configuration from now on, as a reload applies one, and all that follows at once."""
        await self.reconfigure(limits, **settings)
        await self.clock.settle()

    async def reconfigure(self, limits: Limits | None = None, **settings: dict[str, Any]) -> None:
        """Another configuration from now on."""
        self.config = self._config(settings)
        await self.supervisor.reconfigure(limits or self.supervisor.limits)

    def ask(self, model: str = "a", **more: Any) -> "asyncio.Task[Any]":
        """A request for a lease, under way; what a queue must know of it (`wait`, `priority`, …) by name."""
        work = Work(**{name: more.pop(name) for name in Work._fields if name in more})
        return asyncio.create_task(self.supervisor.lease(Ask(model, work=work, **more)))

    async def lease(self, model: str = "a", **more: Any) -> Any:
        """A lease, with as much time as a load needs."""
        task = self.ask(model, **more)
        for _ in range(100):
            await self.clock.advance(0.05)
            if task.done():
                break
        return await task

    def view(self, key: str = "a") -> Any:
        """The row of `ps`, or None."""
        return next((view for view in self.supervisor.views() if view.key == key), None)

    def state(self, key: str = "a") -> str | None:
        """The state that `ps` shows."""
        view = self.view(key)
        return view and view.state

    def give_projector(self, *names: str) -> None:
        """Beside these models lies a projector each."""
        for name in names:
            file = next(row.files[0] for row in self.catalog.list_models() if row.name == name)
            self.files.beside[file] = f"/models/{name}-mmproj.gguf"
            self.files.content |= {self.files.beside[file]: name}
            self.files.projectors |= dict.fromkeys((file, self.files.beside[file]), Projector("clip", 7, 0))

    def told(self, kind: str) -> list[dict[str, Any]]:
        """Facts of every event of that kind."""
        return [facts for name, facts in self.events.emitted if name == kind]

    async def end(self) -> None:
        """Shut down, and prove that nothing is left."""
        closing = asyncio.create_task(self.supervisor.aclose())
        for _ in range(100):
            await self.clock.advance(1.0)
            if closing.done():
                break
        assert closing.done(), "aclose does not end"
        await closing
        assert self.supervisor.views() == []
        assert not [child.pid for child in self.children.alive if child.script.killable]
        assert all(child.closed == 1 for child in self.children.spawned if not child.alive)
        assert self.clock.pending == 0, "timers left behind"
        others = asyncio.all_tasks() - {asyncio.current_task()}
        assert not [task for task in others if not task.done() and "instance" in task.get_name()]


def run(world_of: Callable[[], World], scenario: Callable[[World], Awaitable[None]]) -> None:
    """One scenario in a loop of its own."""

    async def main() -> None:
        world = world_of()
        await world.supervisor.start()
        await scenario(world)
        await world.end()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        assert not others, f"tasks left behind: {others}"

    asyncio.run(main())


def story(**kwargs: Any) -> Callable[[Callable[[World], Awaitable[None]]], Callable[[], None]]:
    """Run the decorated scenario in a World made of `kwargs`."""

    def wrap(scenario: Callable[[World], Awaitable[None]]) -> Callable[[], None]:
        def test() -> None:
            run(lambda: World(**kwargs), scenario)

        test.__doc__ = scenario.__doc__
        return test

    return wrap
