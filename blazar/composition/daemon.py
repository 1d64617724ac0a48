"""Everything `blazar serve` is made of, in the order it is built. Choosing happens here and nowhere else.

Importing this module loads Quart, SQLModel and the rest; `serve` does it in a thread while the socket answers already.
"""

from dataclasses import replace
from functools import partial
from typing import Any

from dependency_injector import containers, providers

import blazar
from blazar.adapters.engines.builds import ArchiveBuilds
from blazar.adapters.engines.children import SubprocessChildren
from blazar.adapters.engines.devices import EngineDevices
from blazar.adapters.engines.drivers import SCRUBBED, SPECS
from blazar.adapters.engines.finder import SystemEngineFinder
from blazar.adapters.engines.manifests import ManifestStore
from blazar.adapters.engines.pool import ChildPool
from blazar.adapters.engines.probe import HelpProbe
from blazar.adapters.engines.workshop import DiskWorkshop
from blazar.adapters.files.blobs import DiskBlobs
from blazar.adapters.files.folders import Folders
from blazar.adapters.files.modeldir import DiskWeightFiles
from blazar.adapters.files.overlays import DiskOverlays
from blazar.adapters.hardware.census import CachedCensus, SystemCensus
from blazar.adapters.hardware.device_use import SystemDeviceUse
from blazar.adapters.hardware.disk import SystemDisk
from blazar.adapters.http.anthropic.batches import message_batches_blueprint
from blazar.adapters.http.app import create_app
from blazar.adapters.http.lane.asgi import Hot
from blazar.adapters.http.lane.core import Lane
from blazar.adapters.http.lane.fetching import Fetching
from blazar.adapters.http.lane.keeping import Keeper
from blazar.adapters.http.lane.runs import Runs
from blazar.adapters.http.manage.children import Children as ChildrenPages
from blazar.adapters.http.manage.children import children_blueprint
from blazar.adapters.http.manage.config import ConfigPages, config_blueprint
from blazar.adapters.http.manage.events import EventPages, events_blueprint
from blazar.adapters.http.manage.fit import Fit, fit_blueprint
from blazar.adapters.http.manage.meta import Meta, meta_blueprint
from blazar.adapters.http.manage.reports import Reports, reports_blueprint
from blazar.adapters.http.ollama.blobs import blob_uploads
from blazar.adapters.http.ollama.library import Library, library_blueprint
from blazar.adapters.http.openai.batches import batches_blueprint
from blazar.adapters.http.openai.completions import completions_blueprint
from blazar.adapters.http.openai.files import files_blueprint
from blazar.adapters.http.openai.models import models_blueprint
from blazar.adapters.http.openai.responses import Responses, responses_blueprint
from blazar.adapters.http.openai.uploads import file_uploads
from blazar.adapters.http.schemas import JsonSchemas
from blazar.adapters.net.pictures import PublicPictures
from blazar.adapters.net.rpc_workers import RpcWorkers
from blazar.adapters.store.database import Database
from blazar.adapters.store.ledger import SqliteLedger
from blazar.adapters.store.saved import SqliteSaved
from blazar.adapters.store.swift import SwiftEngineCatalog, SwiftModelCatalog
from blazar.application.access.record_usage import RecordUsage
from blazar.application.config.live import LiveConfig
from blazar.application.config.model import Config
from blazar.application.config.table_rules import local_scopes
from blazar.application.engines.enrol_engines import EnrolEngines
from blazar.application.engines.list_engines import ListEngines
from blazar.application.engines.mine_architectures import MineArchitectures
from blazar.application.engines.removal import Unused
from blazar.application.engines.retire_lanes import RetireLanes
from blazar.application.engines.watch_lanes import WatchLanes
from blazar.application.kept.completions import Completions
from blazar.application.kept.keep_answer import KeepAnswer
from blazar.application.kept.recall_response import RecallResponse
from blazar.application.models.find import get_model
from blazar.application.models.laid_adapters import adapters_of
from blazar.application.models.list_models import ListModels
from blazar.application.models.remove_model import RemoveModel
from blazar.application.models.show_model import ShowModel
from blazar.application.ops.diagnose import Diagnose, Installation
from blazar.application.ops.explain import Explain
from blazar.application.ops.preview_fit import PreviewFit
from blazar.application.ops.reload_config import ReloadConfig
from blazar.application.ops.show_config import ShowConfig
from blazar.application.ops.watch_config import WatchConfig
from blazar.application.ops.worker_report import worker_rows
from blazar.application.supervise.launch_plan import LaunchPlanner
from blazar.application.supervise.reaper import Reaper
from blazar.application.supervise.sizing import Sizing
from blazar.application.supervise.supervisor import Supervisor
from blazar.application.supervise.surroundings import Limits
from blazar.composition.answering import lane_limits, reconfigure, remembering
from blazar.composition.batching import Batching, read_files_in
from blazar.composition.cautions import embeddings_said, open_door
from blazar.composition.changing import copying, creating, loop_turns
from blazar.composition.currency import CurrencyTask, live_currency
from blazar.composition.exporting import scrubbing
from blazar.composition.forks import (
    ServedHere,
    architecture_source,
    curated_by,
    engines_named,
    fork_days,
    live_fork_rows,
    registry_of,
)
from blazar.composition.foundation import Foundation
from blazar.composition.joined_pulls import Serving, joined_pulls
from blazar.composition.keys import key_pages
from blazar.composition.lifespan import Closing
from blazar.composition.preview import Beside, PreviewBeside, open_registry
from blazar.composition.pulling import Shelf, left_in, unlisted_in
from blazar.composition.raw_lanes import raw_lane
from blazar.composition.registries import asked_hub
from blazar.composition.reloading import Applier, ApplyAll, Source
from blazar.composition.samplers import SamplerDefaults
from blazar.composition.securing import certificate_row
from blazar.composition.starting import EnrolAtStart, WatchChildren, preload_models
from blazar.composition.surveying import SurveyBeside
from blazar.composition.tasks import BackgroundTask, guarded
from blazar.composition.telling import MeantNames, hint_task, speaking, standing_troubles, why_pages
from blazar.domain.launch import Places
from blazar.domain.paces import Paces
from blazar.domain.routing import Rules
from blazar.domain.wire.stamps import to_the_second


def connect(at: int | str, key: str, model: str) -> ChildPool:
    """A door to a child on a port of loopback, or on a socket file."""
    if isinstance(at, str):
        return ChildPool("localhost", 0, key, model, at)
    return ChildPool("127.0.0.1", at, key, model)


def places_in(folders: Folders) -> Places:
    """Folders that children are told of."""
    return Places(sessions=str(folders.sessions), lookup_cache=str(folders.speccache), socket=str(folders.run))


def supervision_limits(config: Config) -> Limits:
    """The numbers that the supervisor decides by."""
    return Limits(
        max_loaded_models=config.max_loaded_models,
        idle_timeout_secs=config.idle_timeout_secs,
        model_load_timeout_secs=config.model_load_timeout_secs,
        spawn_mem_guard=config.spawn_mem_guard,
        adaptive_slots=config.adaptive_slots,
        pinned=frozenset(name for name, override in config.model_overrides.items() if override.pin),
    )


def routing_rules(live: LiveConfig) -> Rules:
    """`[engine_routing]` as it is now: who asks after a reload gets the new one."""
    table = live.config.engine_routing
    return Rules(table.mode, table.policy)


def installation_of(foundation: Foundation) -> Installation:
    """What the doctor's report is about, as it is now."""
    live = foundation.live
    return Installation(
        version=blazar.__version__,
        data=str(foundation.folders.data),
        config_file=str(foundation.folders.config_file),
        url=foundation.url,
        overridden=tuple(foundation.config.model_overrides),
        pins=foundation.config.engines_named,
        scopes=local_scopes(foundation.config),
        config_found=foundation.folders.config_file.is_file(),
        problems=live.refused.problems if live.refused is not None else (),
        refused_since=to_the_second(live.refused.since) if live.refused is not None else "",
        restart_needed=live.pending,
        warnings=(*live.loaded.warnings, *open_door(foundation.config, foundation.url)),
        certificate=certificate_row(foundation.tls, foundation.clock.wall()),
        embeddings=embeddings_said(foundation.config),
    )


def workers_named(live: LiveConfig) -> dict[str, list[str]]:
    """As the configuration is now."""
    return live.config.workers_named


async def diagnose_now(diagnose: Diagnose, foundation: Foundation) -> dict[str, Any]:
    """The report on this installation as it is now: its configuration may have changed since it was put together."""
    return await replace(diagnose, installation=installation_of(foundation))()


async def reload_guarded(reload: ReloadConfig, *, asked: bool = False) -> None:
    """One reload that goes wrong must not be the last one."""
    await guarded("configuration", partial(reload, asked=asked))


def apply_to(supervisor: Supervisor, lane: Lane, probe: HelpProbe, lister: EngineDevices) -> Applier:
    """A reload, for the parts that the daemon is built of."""

    async def apply(old: Config, config: Config) -> None:
        reconfigure(lane, config)
        if config.engine_env != old.engine_env:
            # What a build said in another environment need not hold: it may have found other libraries, and other cards.
            probe.forget()
            lister.forget()
        await supervisor.reconfigure(supervision_limits(config))

    return apply


class Daemon(containers.DeclarativeContainer):
    """Everything `blazar serve` is made of, in the order it is built."""

    foundation = providers.Dependency(instance_of=Foundation)
    env = providers.Dependency(instance_of=dict)
    source = providers.Dependency(instance_of=Source)
    watch = providers.Dependency(instance_of=WatchConfig)
    live = foundation.provided.live
    config = foundation.provided.config
    folders = foundation.provided.folders
    config_file = providers.Callable(str, folders.config_file)
    clock = foundation.provided.clock
    meter = foundation.provided.meter
    events = foundation.provided.events
    processes = foundation.provided.processes

    database = providers.Singleton(Database, folders.database)
    catalog = providers.Singleton(SwiftModelCatalog, folders.database, database.provider)
    engines = providers.Singleton(SwiftEngineCatalog, folders.database, database.provider)
    saved = providers.Singleton(SqliteSaved, folders.saved)
    usage = providers.Singleton(
        RecordUsage, foundation.provided.accounts, providers.Singleton(SqliteLedger, database), clock
    )
    weights = providers.Singleton(DiskWeightFiles, folders.models)
    builds = providers.Singleton(ArchiveBuilds, folders.engines, processes)
    system = providers.Singleton(SystemCensus)
    hardware = providers.Singleton(CachedCensus, system, system.provided.ram, clock.provided.now)
    device_use = providers.Singleton(SystemDeviceUse)
    manifests = providers.Singleton(ManifestStore, folders.manifests)
    probe = providers.Singleton(HelpProbe, SCRUBBED, live.engine_env, manifests)
    workers = providers.Singleton(RpcWorkers)
    lister = providers.Singleton(EngineDevices, probe, SCRUBBED, live.engine_env, reachable=workers.provided.serving)
    specs = providers.Object(SPECS)
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

    run = providers.Callable(str, folders.run)
    sizing = providers.Singleton(Sizing, weights, hardware, lister, device_use, run)
    places = providers.Singleton(places_in, folders)
    capabilities = providers.Singleton(registry_of, live, folders.data)
    rules = providers.Callable(partial, routing_rules, live)
    planner = providers.Singleton(
        LaunchPlanner,
        engines,
        specs,
        probe,
        hardware,
        live.settings_for,
        sizing,
        origins_for=live.origins_for,
        refused=live.problems,
        places=places,
        rules=rules,
        curated=providers.Callable(partial, curated_by, capabilities),
        flaw=builds.provided.flaw,
    )
    limits = providers.Singleton(supervision_limits, config)
    supervisor = providers.Singleton(
        Supervisor,
        catalog,
        weights,
        planner,
        children,
        clock,
        hardware,
        meter,
        events,
        limits,
        workers=workers,
    )
    reaper = providers.Singleton(Reaper, children, events)

    list_models = providers.Singleton(ListModels, catalog)
    disk = providers.Singleton(SystemDisk)
    overlays = providers.Singleton(DiskOverlays, folders.overlays, folders.config_file)
    blobs = providers.Singleton(
        DiskBlobs, folders.blobs, disk, foundation.provided.entropy, clock.provided.wall, overlays.provided.files
    )
    survey = providers.Singleton(
        SurveyBeside, catalog, engines, sizing, live.settings_for, rules, supervisor.provided.tenants
    )
    show_model = providers.Singleton(ShowModel, catalog, weights, planner.provided.projector, overlays)
    turns = providers.Singleton(loop_turns, folders, clock)
    remove_model = providers.Singleton(RemoveModel, catalog, weights, supervisor, overlays, turns)
    list_engines = providers.Singleton(ListEngines, engines)
    explain = providers.Singleton(Explain, catalog, planner, hardware, live.problems, watch.provided.behind)
    beside = providers.Singleton(Beside, sizing, engines, hardware, rules=rules)
    preview = providers.Singleton(
        PreviewFit,
        providers.Callable(partial, get_model, catalog, weights=weights),
        weights,
        providers.Callable(partial, open_registry, env),
        beside,
        live.settings_for,
        run,
    )
    installation = providers.Singleton(installation_of, foundation)
    currency = providers.Singleton(live_currency, live, env, engines, hardware, clock, data=folders.data)
    currency_task = providers.Singleton(CurrencyTask, currency, live, events, clock)
    diagnose = providers.Singleton(
        Diagnose,
        installation,
        hardware,
        engines,
        catalog,
        weights,
        disk,
        supervisor,
        lister,
        updates=currency_task.provided.rows,
        forks=providers.Callable(partial, live_fork_rows, live, capabilities, engines, clock),
        begun=providers.Singleton(DiskWorkshop, folders.engines, disk).provided.begun,
        workers=providers.Callable(partial, worker_rows, workers, providers.Callable(partial, workers_named, live)),
        flaw=builds.provided.flaw,
        unlisted=providers.Callable(partial, unlisted_in, folders.models),
        laid=providers.Callable(partial, adapters_of, overlays),
        left=providers.Callable(partial, left_in, folders),
    )

    finder = providers.Singleton(SystemEngineFinder, env)
    enrol_engines = providers.Singleton(EnrolEngines, engines, finder, probe, clock)
    enrolment = providers.Singleton(EnrolAtStart, enrol_engines, builds, engines, probe)

    served_here = providers.Singleton(ServedHere, supervisor)
    retire = providers.Singleton(
        RetireLanes,
        engines,
        builds,
        providers.Singleton(Unused, children, served_here),
        clock,
        providers.Callable(partial, engines_named, live),
    )
    watch_lanes = providers.Singleton(
        WatchLanes,
        capabilities,
        providers.Singleton(MineArchitectures, engines, providers.Singleton(architecture_source, env)),
        retire,
        clock,
        events,
        providers.Callable(partial, fork_days, live),
    )
    forks = providers.Singleton(BackgroundTask, "forks", watch_lanes.provided.run)

    schemas = providers.Singleton(JsonSchemas)
    keep_answer = providers.Singleton(KeepAnswer, saved, clock)
    runs = providers.Singleton(Runs, keep_answer, clock, meter.provided.on_served)
    recall = providers.Singleton(RecallResponse, saved, runs.provided.running)
    read_files = providers.Singleton(read_files_in, foundation, saved)
    fetching = providers.Singleton(Fetching, providers.Singleton(PublicPictures))
    paces = providers.Singleton(Paces)
    lane = providers.Singleton(
        Lane,
        supervisor,
        supervisor,
        clock,
        schemas,
        providers.Singleton(lane_limits, config),
        keeper=providers.Singleton(Keeper, keep_answer, recall, read_files, runs, clock),
    ).add_attributes(
        fetching=fetching,
        raw_lanes=providers.Callable(partial, raw_lane, live, catalog, planner),
        sampling=providers.Singleton(SamplerDefaults, live, catalog),
        names=providers.Singleton(MeantNames, catalog, clock),
        paces=paces,
        remembering=providers.Singleton(remembering, supervisor, clock, config),
    )
    batching = providers.Singleton(Batching, foundation, saved, lane)
    reload = providers.Singleton(
        ReloadConfig,
        live,
        source.provided.read,
        providers.Singleton(
            ApplyAll, foundation.provided.apply, providers.Singleton(apply_to, supervisor, lane, probe, lister)
        ),
        events,
        clock,
    )
    # Models that are created, copied and removed write their overrides, and the next request means them.
    catch_up = providers.Callable(partial, watch.provided.catch_up, providers.Callable(partial, reload_guarded, reload))
    shelf = providers.Singleton(Shelf, catalog, weights, overlays, clock)
    copy_model = providers.Singleton(copying, shelf, turns, supervisor)
    create_model = providers.Singleton(creating, shelf, turns, supervisor, blobs, catch_up)
    serving = providers.Singleton(Serving, supervisor.provided.look_at_files, planner.provided.route)
    pulls = providers.Singleton(joined_pulls, foundation, env, shelf, beside, catch_up, serving=serving)
    fit = providers.Singleton(Fit, providers.Singleton(PreviewBeside, preview), supervisor.provided.tenants)
    blueprints = providers.List(
        providers.Singleton(meta_blueprint, providers.Singleton(Meta, clock, meter, blazar.__version__, list_models)),
        providers.Singleton(
            children_blueprint,
            providers.Singleton(
                ChildrenPages, supervisor, list_models, clock, providers.Callable(speaking, paces, clock)
            ),
        ),
        providers.Singleton(why_pages, foundation),
        providers.Singleton(
            reports_blueprint,
            providers.Singleton(
                Reports,
                explain,
                providers.Callable(partial, diagnose_now, diagnose, foundation),
                list_engines,
                supervisor.provided.tenants,
                currency_task.provided.known,
            ),
        ),
        providers.Singleton(
            events_blueprint,
            providers.Singleton(
                EventPages,
                events,
                providers.Callable(partial, standing_troubles, live, clock),
                providers.Callable(partial, scrubbing, live),
            ),
        ),
        providers.Singleton(
            config_blueprint,
            providers.Singleton(ConfigPages, providers.Singleton(ShowConfig, live, config_file, watch.provided.behind)),
        ),
        providers.Singleton(key_pages, foundation, env, catch_up, usage),
        providers.Singleton(fit_blueprint, fit),
        providers.Singleton(responses_blueprint, providers.Singleton(Responses, recall, runs)),
        providers.Singleton(completions_blueprint, providers.Singleton(Completions, saved)),
        providers.Singleton(models_blueprint, list_models),
        providers.Singleton(files_blueprint, batching.provided.shelf),
        providers.Singleton(batches_blueprint, batching.provided.manage),
        providers.Singleton(message_batches_blueprint, batching.provided.manage),
        providers.Singleton(
            library_blueprint,
            providers.Singleton(
                Library,
                list_models,
                show_model,
                remove_model,
                copy_model,
                create_model,
                blobs.provided.has,
                pulls.provided.join,
                providers.Callable(asked_hub, env),
                planner.provided.takes_pictures,
                catch_up,
                planner.provided.words_tools,
                survey,
            ),
        ),
    )
    sent_blobs = providers.Singleton(blob_uploads, providers.Singleton(create_app, blueprints), blobs)
    uploads = providers.Singleton(file_uploads, sent_blobs, batching.provided.shelf)
    app = providers.Singleton(Hot, uploads, lane)

    preload = providers.Singleton(
        BackgroundTask, "preload", providers.Callable(partial, preload_models, supervisor, config.wanted_at_start)
    )
    watching = providers.Singleton(
        BackgroundTask,
        "configuration",
        providers.Callable(partial, watch.provided.run, providers.Callable(partial, reload_guarded, reload)),
    )
    currency_watch = providers.Singleton(BackgroundTask, "engine updates", currency_task.provided.run)
    # What has a life, in the order in which it starts; stopping runs it backwards (D2).
    parts = providers.List(
        providers.Singleton(Closing, database.provided.close),
        providers.Singleton(Closing, saved.provided.close),
        providers.Singleton(Closing, children.provided.close),
        events,  # before the supervisor, so that listeners hear the last child go
        usage,  # before whatever answers, so that the last answers are written down
        providers.Singleton(BackgroundTask, "usage", usage.provided.run),
        reaper,
        providers.Singleton(Closing, probe.provided.close),
        enrolment,
        supervisor,
        providers.Singleton(WatchChildren, foundation.provided.series, supervisor),
        runs,
        preload,
        watching,
        currency_watch,
        providers.Singleton(hint_task, supervisor, specs, clock),
        served_here,
        forks,
        batching,
        pulls,
        providers.Singleton(Closing, fit.provided.aside.close),
        providers.Singleton(Closing, fetching.provided.close),
    )
