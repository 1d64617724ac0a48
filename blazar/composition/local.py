"""The data folder without a daemon: its catalog, its engine builds, its configuration, as the verbs use them.

Every part is imported and opened when a verb first needs it, and closed at the end.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import blazar
from blazar.adapters.cli.root import Changed, Models, Settings
from blazar.adapters.files.folders import Folders
from blazar.domain import teaching
from blazar.domain.errors import BadConfig, BlazarError

if TYPE_CHECKING:
    from blazar.adapters.files.modeldir import DiskWeightFiles
    from blazar.adapters.files.overlays import DiskOverlays
    from blazar.adapters.net.throttle import Throttle
    from blazar.adapters.store.database import Database
    from blazar.adapters.store.swift import SwiftEngineCatalog, SwiftModelCatalog
    from blazar.adapters.telemetry.clock import MonotonicClock
    from blazar.application.config.change import Change, Wish
    from blazar.application.config.layers import Loaded
    from blazar.application.config.model import Config
    from blazar.application.config.render import Row
    from blazar.application.config.rules import World
    from blazar.application.models.import_model import Imported
    from blazar.application.models.pulling import Pulled
    from blazar.application.models.pulling import Told as PullTold
    from blazar.application.models.survey_models import Surveyed
    from blazar.application.ops.diagnose import Row as DoctorRow
    from blazar.application.ports.processes import Processes
    from blazar.composition.local_engines import LocalEngines
    from blazar.domain.overlay import Overlay
    from blazar.domain.records import Model

ServedBy = Callable[[str], Sequence[str]]
"""The models that an engine build serves right now."""


class Local:
    """The parts, one of each."""

    def __init__(self, folders: Folders, env: Mapping[str, str], served_by: ServedBy) -> None:
        self.folders, self.env, self.served_by = folders, env, served_by

    @cached_property
    def database(self) -> "Database":
        from blazar.adapters.store.database import Database

        return Database(self.folders.ensure().database)

    @cached_property
    def catalog(self) -> "SwiftModelCatalog":
        from blazar.adapters.store.swift import SwiftModelCatalog

        return SwiftModelCatalog(self.folders.database, lambda: self.database)

    @cached_property
    def engine_rows(self) -> "SwiftEngineCatalog":
        from blazar.adapters.store.swift import SwiftEngineCatalog

        return SwiftEngineCatalog(self.folders.database, lambda: self.database)

    @cached_property
    def weights(self) -> "DiskWeightFiles":
        from blazar.adapters.files.modeldir import DiskWeightFiles

        return DiskWeightFiles(self.folders.models)

    @cached_property
    def overlays(self) -> "DiskOverlays":
        from blazar.adapters.files.overlays import DiskOverlays

        return DiskOverlays(self.folders.overlays, self.folders.config_file)

    @cached_property
    def clock(self) -> "MonotonicClock":
        from blazar.adapters.telemetry.clock import MonotonicClock

        return MonotonicClock()

    @cached_property
    def throttle(self) -> "Throttle":
        """One for all that a verb downloads, models, engines and sources; a daemon has its own."""
        from blazar.adapters.net.throttle import Throttle

        limit = self.settings().loaded.config.download_speed_limit_mb
        return Throttle(lambda: limit, self.clock.now)

    @cached_property
    def processes(self) -> "Processes":
        from blazar.adapters.hardware.processes import SystemProcesses

        return SystemProcesses()

    def may_say(self, word: str) -> bool:
        """Whether the configuration file could hold a value; where it cannot, its declaration, a quarter of a second, is not imported."""
        from blazar.adapters.files.configsource import source_of

        try:
            source = source_of(self.folders.config_file)
        except BadConfig:
            return False
        return word.encode() in source or b"\\u" in source.lower()

    def models(self) -> "LocalModels":
        """The model verbs' side of it."""
        return LocalModels(self)

    def engines(self) -> "LocalEngines":
        """The engine verbs' side of it."""
        from blazar.composition.local_engines import LocalEngines

        return LocalEngines(self)

    def settings(self) -> "FileSettings":
        """The config verbs' side of it."""
        return FileSettings(self.folders, self.env)

    def diagnose(self) -> dict[str, Any]:
        """What doctor finds while no daemon runs."""
        import asyncio

        from blazar.adapters.hardware.census import SystemCensus
        from blazar.adapters.hardware.disk import SystemDisk
        from blazar.adapters.net.rpc_workers import RpcWorkers
        from blazar.application.config.table_rules import local_scopes
        from blazar.application.ops.diagnose import Diagnose, Installation
        from blazar.application.ops.worker_report import worker_rows
        from blazar.composition.cautions import embeddings_said, open_door
        from blazar.composition.pulling import strays_in

        problems = self._config_problems()
        loaded = None if problems else self.settings().loaded
        engines = self.engines()
        trouble = engines.enrol(prune=False)
        installation = Installation(
            blazar.__version__,
            str(self.folders.data),
            str(self.folders.config_file),
            problems=problems,
            overridden=() if loaded is None else tuple(loaded.config.model_overrides),
            pins={} if loaded is None else loaded.config.engines_named,
            scopes={} if loaded is None else local_scopes(loaded.config),
            warnings=() if loaded is None else (*loaded.warnings, *open_door(loaded.config)),
            config_found=self.folders.config_file.is_file(),
            embeddings=None if loaded is None else embeddings_said(loaded.config),
            engine_trouble=str(trouble or ""),
        )
        census, disk = SystemCensus(), SystemDisk()
        parts = (self.engine_rows, self.catalog, self.weights, disk)
        diagnose = Diagnose(installation, census, *parts, lister=engines.lister, begun=engines.workshop.begun)
        diagnose = replace(diagnose, flaw=engines.flaw, **strays_in(self.folders, self.overlays))
        if loaded is not None:
            diagnose = replace(
                diagnose,
                updates=partial(self._update_rows, loaded.config.engine_check_secs),
                forks=partial(self._fork_rows, loaded.config),
                workers=partial(worker_rows, RpcWorkers(), lambda: loaded.config.workers_named),
            )
        return asyncio.run(diagnose())

    def _update_rows(self, every: int) -> "Iterator[DoctorRow]":
        from blazar.adapters.files.lookups import kept_in
        from blazar.application.engines.check_currency import still_true
        from blazar.application.ops.channel_rows import update_rows

        return update_rows(every, still_true(kept_in(self.folders.data).read(), self.engine_rows.list_engines()))

    def _fork_rows(self, config: "Config") -> "Iterator[DoctorRow]":
        from blazar.application.ops.fork_report import fork_rows
        from blazar.composition.forks import open_capabilities

        registry = open_capabilities(lambda: config.capability_registry_url, self.folders.data)
        return fork_rows(registry, self.engine_rows, self.clock, config.fork_retire_days)

    def remarks(self) -> dict[str, list[dict[str, Any]]]:
        """What doctor adds to a daemon's report, by section: the file and the engine that were named here and not there."""
        from blazar.application.ops.diagnose import config_rows, engine_path_row

        found: dict[str, list[dict[str, Any]]] = {}
        if self.folders.named:
            rows = config_rows("--config", str(self.folders.config_file), self._config_problems(), found=True)
            found["SYSTEM"] = [row._asdict() for row in rows]
        try:
            self.engines().enrol.check()
        except BlazarError as trouble:
            found["ENGINES"] = [engine_path_row(str(trouble))._asdict()]
        return found

    def check_start(self) -> None:
        """Raise what would keep a daemon from starting here, before anything is stopped for it."""
        from blazar.composition.securing import certificates_of

        settings = self.settings()
        settings.plain()
        certificates_of(settings.loaded.rooted())
        self.engines().enrol.check()

    def _config_problems(self) -> tuple[str, ...]:
        try:
            self.settings().plain()
        except BadConfig as wrong:
            return wrong.problems
        return ()

    def close(self) -> None:
        """Only what was opened."""
        if "database" in self.__dict__:
            self.database.close()


class LocalModels(Models):
    """The model use cases."""

    def __init__(self, local: Local) -> None:
        self._local = local

    def list(self) -> "list[Model]":
        from blazar.application.models.list_models import ListModels

        return ListModels(self._local.catalog)()

    def survey(self) -> "Sequence[Surveyed]":
        from blazar.composition.surveying import survey_here

        return survey_here(self._local)()

    def add(self, path: str, name: str | None, parts: Sequence[tuple[str, str]] = ()) -> "Imported":
        from blazar.composition.changing import importer

        return importer(self._local)(path, name, parts)

    def show(self, name: str, *, verbose: bool) -> dict[str, Any]:
        from blazar.composition.showing import shown_here

        return shown_here(self._local, name, verbose=verbose)

    def projector(self, model: "Model") -> str:
        # What cannot be used is the load's to complain about: the model serves text without it.
        with suppress(BlazarError):
            return self._local.weights.projector_file(model.files)
        return ""

    def unserved(self, model: "Model") -> str:
        from blazar.composition.surveying import unserved_here

        return unserved_here(self._local, model)

    def remove(self, name: str) -> str:
        import asyncio

        from blazar.composition.changing import remover

        return asyncio.run(remover(self._local)(name)).name

    def copy(self, source: str, target: str) -> "Model":
        from blazar.composition.changing import copier

        return copier(self._local)(source, target)

    def pull(
        self, reference: str, name: str, parts: Sequence[tuple[str, str]], draft: str, *, told: "PullTold"
    ) -> "Pulled":
        from blazar.application.models.judged_pull import JudgedPull
        from blazar.application.models.pulling import Wish
        from blazar.application.ops.preview_fit import Wanted
        from blazar.composition.preview import machine_here
        from blazar.composition.pulling import pull_here

        one = pull_here(self._local)
        one.unserved = self.unserved
        pull = JudgedPull(one, lambda: machine_here(self._local, (), Wanted()), self.unserved)
        return pull(Wish(reference, name, tuple(parts), draft), told)

    def create(self, name: str, overlay: "Overlay", *, fresh: bool) -> None:
        import asyncio

        from blazar.application.models.create_model import Wish
        from blazar.composition.changing import creator

        asyncio.run(creator(self._local)(Wish(name, overlay, fresh=fresh)))


class FileSettings(Settings):
    """The configuration file, read once."""

    def __init__(self, folders: Folders, env: Mapping[str, str]) -> None:
        self._folders, self._env = folders, env

    @cached_property
    def loaded(self) -> "Loaded":
        """Raises `BadConfig`."""
        from blazar.adapters.files.configfile import read_config

        self._folders.check_config()
        return read_config(self._folders.config_file, self._env)

    def get(self, key: str) -> tuple[Any, str]:
        from blazar.application.config.lookup import look_up

        return look_up(self.loaded.config, key)

    def rows(self) -> Sequence[tuple[str, str, str]]:
        from blazar.application.config.render import listing
        from blazar.application.config.waiting import waits

        def who(row: "Row") -> str:
            said = " ".join(part for part in row.origin if part)
            return teaching.no_effect_yet(said) if waits(row.key) else said

        return [(row.key, row.toml, who(row)) for row in listing(self.loaded)]

    def plain(self) -> dict[str, Any]:
        from blazar.application.config.render import redacted

        return redacted(self.loaded.config)

    def warnings(self) -> Sequence[str]:
        return self._warnings_of(self.loaded)

    def _warnings_of(self, loaded: "Loaded") -> list[str]:
        from blazar.composition.cautions import cautions
        from blazar.composition.securing import tls_cautions

        return [
            *loaded.warnings,
            *tls_cautions(loaded.rooted()),
            *cautions(loaded.config, self._folders.database),
        ]

    def _warned(self) -> list[str]:
        """Warnings of the file as it is now, each key for itself; none of one that cannot be used."""
        from blazar.adapters.files.configfile import read_config
        from blazar.application.config.waiting import said_anyway, set_in_vain

        try:
            loaded = read_config(self._folders.config_file, self._env)
        except BadConfig:
            return []
        told = self._warnings_of(loaded)
        for sentence, found in (
            (teaching.keys_without_effect, tuple(set_in_vain(loaded.config))),
            (teaching.keys_say_default, said_anyway(loaded.config)),
        ):
            if found:
                told = [one for one in told if one != sentence(found)] + [sentence((key,)) for key in found]
        return told

    def defaults(self) -> str:
        from blazar.application.config.render import defaults_toml

        return defaults_toml()

    def keys(self) -> Sequence[str]:
        from blazar.application.config.schema import key_names

        return key_names()

    def schema(self) -> dict[str, Any]:
        from blazar.application.config.schema import config_schema

        return config_schema()

    def change(self, wishes: "Sequence[Wish]") -> Sequence[Changed]:
        from blazar.application.config.change import set_keys

        return self._changed(lambda text, path, world: set_keys(text, path, wishes, world))

    def unset(self, keys: Sequence[str]) -> Sequence[Changed]:
        from blazar.application.config.change import unset_keys

        self._folders.check_config()
        return self._changed(lambda text, path, world: unset_keys(text, path, keys, world))

    def _changed(self, act: "Callable[[str, str, World], list[Change]]") -> list[Changed]:
        from blazar.adapters.files.configfile import WORLD, change_config
        from blazar.application.config.live import RESTART_KEYS
        from blazar.application.config.render import toml_value

        file = self._folders.config_file
        done: list[Change] = []

        def edit(text: str) -> str:
            done[:] = act(text, str(file), WORLD)
            return done[-1].text

        before = self._warned()
        written = change_config(file, edit)
        shadows = {one.key: self._shadow(one.key) for one in done}
        before += [teaching.variable_over_file(name, key) for key, name in shadows.items()]  # said in words of its own
        news = [warning for warning in self._warned() if warning not in before] if written else []
        return [
            Changed(
                one.key,
                one.now,
                one.was,
                toml_value(one.now),
                toml_value(one.was),
                one.changed,
                shadows[one.key],
                one.changed and one.key in RESTART_KEYS,
                news if one is done[-1] else (),
            )
            for one in done
        ]

    def _shadow(self, key: str) -> str:
        """The variable of this shell that says what holds here, whatever the file says."""
        try:
            origin = self.loaded.origins.get(key)
        except BadConfig:  # the file is good: it is a variable that is not
            return ""
        return origin.where if origin is not None and origin.layer == "environment" else ""

    def migrate(self) -> Sequence[str] | None:
        from blazar.adapters.files.configfile import change_config
        from blazar.application.config.migrate import Migrated, migrate

        file = self._folders.config_file
        self._folders.check_config()
        done: list[Migrated] = []

        def edit(text: str) -> str:
            done.append(migrate(text, str(file)))
            return done[-1].text

        return done[-1].names if change_config(file, edit) else None

    def source(self) -> bytes:
        from blazar.adapters.files.configsource import source_of

        return source_of(self._folders.config_file)

    def check(self, data: bytes, path: str) -> None:
        from blazar.adapters.files.configfile import WORLD, text_of
        from blazar.application.config.layers import load_config

        load_config(text_of(data, path), path, world=WORLD)

    def replace(self, before: bytes, after: bytes) -> bool:
        from blazar.adapters.files.configfile import replace_config

        return replace_config(self._folders.config_file, before, after)
