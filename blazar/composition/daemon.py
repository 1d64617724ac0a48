"""Everything `blazar serve` is made of, in the order it is built. Choosing happens here and nowhere else.

Importing this module loads Quart, SQLModel and the rest; `serve` does it in a thread while the socket answers already.
"""

from functools import partial

from dependency_injector import containers, providers

import blazar
from blazar.adapters.engines.builds import ArchiveBuilds
from blazar.adapters.engines.children import SubprocessChildren
from blazar.adapters.engines.devices import EngineDevices
from blazar.adapters.engines.finder import SystemEngineFinder
from blazar.adapters.engines.llamacpp.spec import LLAMACPP
from blazar.adapters.engines.pool import ChildPool
from blazar.adapters.engines.probe import HelpProbe
from blazar.adapters.files.modeldir import DiskWeightFiles
from blazar.adapters.hardware.census import CachedCensus, SystemCensus
from blazar.adapters.hardware.device_use import SystemDeviceUse
from blazar.adapters.hardware.disk import SystemDisk
from blazar.adapters.http.app import create_app
from blazar.adapters.http.lane.asgi import Hot
from blazar.adapters.http.lane.core import Lane
from blazar.adapters.http.lane.relay import Limits as LaneLimits
from blazar.adapters.http.manage.children import Children as ChildrenPages
from blazar.adapters.http.manage.children import children_blueprint
from blazar.adapters.http.manage.fit import Fit, fit_blueprint
from blazar.adapters.http.manage.meta import Meta, meta_blueprint
from blazar.adapters.http.manage.reports import Reports, reports_blueprint
from blazar.adapters.http.ollama.library import Library, library_blueprint
from blazar.adapters.http.openai.models import models_blueprint
from blazar.adapters.http.schemas import JsonSchemas
from blazar.adapters.store.catalog import SqliteEngineCatalog, SqliteModelCatalog
from blazar.adapters.store.database import Database
from blazar.application.config.model import Config
from blazar.application.engines.enrol_engines import EnrolEngines
from blazar.application.engines.list_engines import ListEngines
from blazar.application.models.copy_model import CopyModel
from blazar.application.models.find import get_model
from blazar.application.models.list_models import ListModels
from blazar.application.models.remove_model import RemoveModel
from blazar.application.models.show_model import ShowModel
from blazar.application.ops.diagnose import Diagnose, Installation
from blazar.application.ops.explain import Explain
from blazar.application.ops.preview_fit import PreviewFit
from blazar.application.supervise.launch_plan import LaunchPlanner
from blazar.application.supervise.reaper import Reaper
from blazar.application.supervise.sizing import Sizing
from blazar.application.supervise.supervisor import Supervisor
from blazar.application.supervise.surroundings import Limits
from blazar.composition.foundation import Foundation
from blazar.composition.lifespan import Closing
from blazar.composition.preview import Beside, PreviewBeside, open_registry
from blazar.composition.starting import EnrolAtStart, WatchChildren, preload_models
from blazar.composition.tasks import BackgroundTask


def connect(port: int, key: str, model: str) -> ChildPool:
    """A door to a child on loopback."""
    return ChildPool("127.0.0.1", port, key, model)


def supervision_limits(config: Config) -> Limits:
    """The numbers that the supervisor decides by."""
    return Limits(
        max_loaded_models=config.max_loaded_models,
        idle_timeout_secs=config.idle_timeout_secs,
        model_load_timeout_secs=config.model_load_timeout_secs,
        spawn_mem_guard=config.spawn_mem_guard,
        pinned=frozenset(name for name, override in config.model_overrides.items() if override.pin),
    )


def lane_limits(config: Config) -> LaneLimits:
    """The times that the lane watches. Our keep-alive comments follow the engine's switch (case D5)."""
    limits, pings = LaneLimits(header_timeout=config.child_header_timeout_secs), config.sse_ping_interval
    return limits if pings is None else limits._replace(heartbeat=float(max(0, pings)))


def installation_of(foundation: Foundation) -> Installation:
    """What the doctor's report is about."""
    return Installation(
        version=blazar.__version__,
        data=str(foundation.folders.data),
        config_file=str(foundation.folders.config_file),
        url=foundation.url,
        overridden=tuple(foundation.config.model_overrides),
        config_found=foundation.folders.config_file.is_file(),
    )


class Daemon(containers.DeclarativeContainer):
    """Everything `blazar serve` is made of, in the order it is built."""

    foundation = providers.Dependency(instance_of=Foundation)
    env = providers.Dependency(instance_of=dict)
    config = foundation.provided.config
    folders = foundation.provided.folders
    clock = foundation.provided.clock
    meter = foundation.provided.meter
    events = foundation.provided.events
    processes = foundation.provided.processes

    database = providers.Singleton(Database, folders.database)
    catalog = providers.Singleton(SqliteModelCatalog, database)
    engines = providers.Singleton(SqliteEngineCatalog, database)
    weights = providers.Singleton(DiskWeightFiles, folders.models)
    builds = providers.Singleton(ArchiveBuilds, folders.engines, processes)
    system = providers.Singleton(SystemCensus)
    hardware = providers.Singleton(CachedCensus, system, system.provided.ram, clock.provided.now)
    device_use = providers.Singleton(SystemDeviceUse)
    probe = providers.Singleton(HelpProbe, LLAMACPP.scrubbed, config.engine_env)
    lister = providers.Singleton(EngineDevices, probe, LLAMACPP.scrubbed, config.engine_env)
    specs = providers.Dict({LLAMACPP.kind: providers.Object(LLAMACPP)})
    children = providers.Singleton(
        SubprocessChildren,
        folders.run,
        clock,
        foundation.provided.entropy,
        providers.Object(connect),
        specs,
        processes=processes,
        use=device_use,
    )

    sizing = providers.Singleton(Sizing, weights, hardware, lister, device_use)
    planner = providers.Singleton(LaunchPlanner, engines, specs, probe, hardware, config.settings_for, sizing)
    limits = providers.Singleton(supervision_limits, config)
    supervisor = providers.Singleton(
        Supervisor, catalog, weights, planner, children, clock, hardware, meter, events, limits
    )
    reaper = providers.Singleton(Reaper, children, events)

    list_models = providers.Singleton(ListModels, catalog)
    show_model = providers.Singleton(ShowModel, catalog, weights)
    copy_model = providers.Singleton(CopyModel, catalog, weights, clock)
    remove_model = providers.Singleton(RemoveModel, catalog, weights, supervisor)
    list_engines = providers.Singleton(ListEngines, engines)
    explain = providers.Singleton(Explain, catalog, planner, hardware)
    preview = providers.Singleton(
        PreviewFit,
        providers.Callable(partial, get_model, catalog, weights=weights),
        weights,
        providers.Callable(partial, open_registry, env),
        providers.Singleton(Beside, sizing, engines, hardware),
        config.settings_for,
    )
    disk = providers.Singleton(SystemDisk)
    installation = providers.Singleton(installation_of, foundation)
    diagnose = providers.Singleton(
        Diagnose, installation, hardware, engines, catalog, weights, disk, supervisor, lister
    )

    finder = providers.Singleton(SystemEngineFinder, env)
    enrol_engines = providers.Singleton(EnrolEngines, engines, finder, probe, clock)
    enrolment = providers.Singleton(EnrolAtStart, enrol_engines, builds, engines, probe)

    schemas = providers.Singleton(JsonSchemas)
    lane = providers.Singleton(Lane, supervisor, supervisor, clock, schemas, providers.Singleton(lane_limits, config))
    fit = providers.Singleton(Fit, providers.Singleton(PreviewBeside, preview), supervisor.provided.tenants)
    blueprints = providers.List(
        providers.Singleton(meta_blueprint, providers.Singleton(Meta, clock, meter, blazar.__version__)),
        providers.Singleton(children_blueprint, providers.Singleton(ChildrenPages, supervisor, list_models, clock)),
        providers.Singleton(
            reports_blueprint,
            providers.Singleton(Reports, explain, diagnose, list_engines, supervisor.provided.tenants),
        ),
        providers.Singleton(fit_blueprint, fit),
        providers.Singleton(models_blueprint, list_models),
        providers.Singleton(
            library_blueprint, providers.Singleton(Library, list_models, show_model, remove_model, copy_model)
        ),
    )
    app = providers.Singleton(Hot, providers.Singleton(create_app, blueprints), lane)

    preload = providers.Singleton(
        BackgroundTask, "preload", providers.Callable(partial, preload_models, supervisor, config.wanted_at_start)
    )
    # What has a life, in the order in which it starts; stopping runs it backwards (D2).
    parts = providers.List(
        providers.Singleton(Closing, database.provided.close),
        providers.Singleton(Closing, children.provided.close),
        reaper,
        enrolment,
        supervisor,
        providers.Singleton(WatchChildren, foundation.provided.series, supervisor),
        preload,
        providers.Singleton(Closing, fit.provided.aside.close),
    )
