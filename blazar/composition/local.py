"""The data folder without a daemon: its catalog, its engine builds, its configuration, as the verbs use them.

Every part is imported and opened when a verb first needs it, and closed at the end.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import blazar
from blazar.adapters.cli.root import Changed, Engines, Models, Settings
from blazar.adapters.files.folders import Folders
from blazar.domain.errors import BadConfig, BlazarError

if TYPE_CHECKING:
    from blazar.adapters.engines.builds import ArchiveBuilds
    from blazar.adapters.engines.devices import EngineDevices
    from blazar.adapters.engines.probe import HelpProbe
    from blazar.adapters.files.modeldir import DiskWeightFiles
    from blazar.adapters.store.catalog import SqliteEngineCatalog, SqliteModelCatalog
    from blazar.adapters.store.database import Database
    from blazar.adapters.telemetry.clock import MonotonicClock
    from blazar.application.config.change import Change
    from blazar.application.config.layers import Loaded
    from blazar.application.config.rules import World
    from blazar.application.engines.enrol_engines import EnrolEngines
    from blazar.application.models.import_model import Imported
    from blazar.application.ports.processes import Processes
    from blazar.application.ports.upstream import Upstream
    from blazar.domain.records import Engine, Model

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
    def catalog(self) -> "SqliteModelCatalog":
        from blazar.adapters.store.catalog import SqliteModelCatalog

        return SqliteModelCatalog(self.database)

    @cached_property
    def engine_rows(self) -> "SqliteEngineCatalog":
        from blazar.adapters.store.catalog import SqliteEngineCatalog

        return SqliteEngineCatalog(self.database)

    @cached_property
    def weights(self) -> "DiskWeightFiles":
        from blazar.adapters.files.modeldir import DiskWeightFiles

        return DiskWeightFiles(self.folders.models)

    @cached_property
    def clock(self) -> "MonotonicClock":
        from blazar.adapters.telemetry.clock import MonotonicClock

        return MonotonicClock()

    @cached_property
    def processes(self) -> "Processes":
        from blazar.adapters.hardware.processes import SystemProcesses

        return SystemProcesses()

    def models(self) -> "LocalModels":
        """The model verbs' side of it."""
        return LocalModels(self)

    def engines(self) -> "LocalEngines":
        """The engine verbs' side of it."""
        return LocalEngines(self)

    def settings(self) -> "FileSettings":
        """The config verbs' side of it."""
        return FileSettings(self.folders, self.env)

    def diagnose(self) -> dict[str, Any]:
        """What doctor finds while no daemon runs."""
        import asyncio

        from blazar.adapters.hardware.census import SystemCensus
        from blazar.adapters.hardware.disk import SystemDisk
        from blazar.application.ops.diagnose import Diagnose, Installation

        problems = self._config_problems()
        engines = self.engines()
        trouble = engines.enrol(prune=False)
        installation = Installation(
            blazar.__version__,
            str(self.folders.data),
            str(self.folders.config_file),
            problems=problems,
            overridden=() if problems else tuple(self.settings().loaded.config.model_overrides),
            config_found=self.folders.config_file.is_file(),
            engine_trouble=str(trouble or ""),
        )
        census, disk = SystemCensus(), SystemDisk()
        parts = (self.engine_rows, self.catalog, self.weights, disk)
        return asyncio.run(Diagnose(installation, census, *parts, lister=engines.lister)())

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
        self.settings().plain()
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

    def add(self, path: str, name: str | None) -> "Imported":
        from blazar.application.models.import_model import ImportModel

        return ImportModel(self._local.catalog, self._local.weights, self._local.clock)(path, name)

    def show(self, name: str, *, verbose: bool) -> dict[str, Any]:
        from blazar.application.models.show_model import ShowModel

        shown = ShowModel(self._local.catalog, self._local.weights)(name)
        facts: dict[str, Any] = {
            "name": shown.model.name,
            "architecture": shown.model.arch,
            "parameters": shown.model.parameters,
            "quantization": shown.model.quant,
            "size": shown.model.size,
            "context_length": shown.model.ctx_train,
            "embedding_length": shown.model.embedding_length,
            "capabilities": ["embedding"] if shown.model.embeds else ["completion"],
            "chat_template": shown.model.template,
            "hardlinked": shown.model.owned,
            "digest": shown.model.digest,
            "files": list(shown.model.files),
        }
        return {**facts, "metadata": shown.metadata} if verbose else facts

    def remove(self, name: str) -> str:
        import asyncio

        from blazar.application.models.remove_model import RemoveModel

        return asyncio.run(RemoveModel(self._local.catalog, self._local.weights, None)(name)).name

    def copy(self, source: str, target: str) -> "Model":
        from blazar.application.models.copy_model import CopyModel

        return CopyModel(self._local.catalog, self._local.weights, self._local.clock)(source, target)


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
        from blazar.application.config.render import find_value, toml_value

        value = find_value(self.loaded.config, key)
        return value, toml_value(value)

    def rows(self) -> Sequence[tuple[str, str, str]]:
        from blazar.application.config.render import listing

        return [(row.key, row.toml, " ".join(part for part in row.origin if part)) for row in listing(self.loaded)]

    def plain(self) -> dict[str, Any]:
        from blazar.application.config.render import redacted

        return redacted(self.loaded.config)

    def warnings(self) -> Sequence[str]:
        return self.loaded.warnings

    def defaults(self) -> str:
        from blazar.application.config.render import defaults_toml

        return defaults_toml()

    def keys(self) -> Sequence[str]:
        from blazar.application.config.schema import key_names

        return key_names()

    def schema(self) -> dict[str, Any]:
        from blazar.application.config.schema import config_schema

        return config_schema()

    def change(self, key: str, words: Sequence[str]) -> Changed:
        from blazar.application.config.change import set_key

        return self._changed(lambda text, path, world: set_key(text, path, key, words, world))

    def unset(self, key: str) -> Changed:
        from blazar.application.config.change import unset_key

        self._folders.check_config()
        return self._changed(lambda text, path, world: unset_key(text, path, key, world))

    def _changed(self, act: "Callable[[str, str, World], Change]") -> Changed:
        from blazar.adapters.files.configfile import WORLD, change_config
        from blazar.application.config.live import RESTART_KEYS
        from blazar.application.config.render import toml_value

        file = self._folders.config_file
        done: list[Change] = []

        def edit(text: str) -> str:
            done.append(act(text, str(file), WORLD))
            return done[-1].text

        change_config(file, edit)
        key, now, was = done[-1].key, done[-1].now, done[-1].was
        restart = done[-1].changed and key in RESTART_KEYS
        return Changed(key, now, was, toml_value(now), toml_value(was), done[-1].changed, self._shadow(key), restart)

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


class LocalEngines(Engines):
    """The engine use cases. Builds that are not installed by us are looked for first.

    They are only ever added (`prune=False`): a shell without BLAZAR_ENGINE_PATH must not take that engine from a daemon.
    """

    def __init__(self, local: Local) -> None:
        self._local = local
        self.trouble = ""

    @property
    def _builds(self) -> "ArchiveBuilds":
        from blazar.adapters.engines.builds import ArchiveBuilds

        return ArchiveBuilds(self._local.folders.engines, self._local.processes)

    @property
    def _probe(self) -> "HelpProbe":
        from blazar.adapters.engines.llamacpp.spec import LLAMACPP
        from blazar.adapters.engines.manifests import ManifestStore
        from blazar.adapters.engines.probe import HelpProbe

        return HelpProbe(LLAMACPP.scrubbed, self._extra, ManifestStore(self._local.folders.manifests))

    @property
    def lister(self) -> "EngineDevices":
        """Asks builds which devices they see."""
        from blazar.adapters.engines.devices import EngineDevices
        from blazar.adapters.engines.llamacpp.spec import LLAMACPP

        return EngineDevices(self._probe, LLAMACPP.scrubbed, self._extra)

    @property
    def _extra(self) -> Mapping[str, str]:
        """What configuration adds to an engine's environment."""
        try:
            return self._local.settings().loaded.config.engine_env
        except BadConfig:
            return {}  # builds can be listed and installed all the same; `config validate` and the daemon tell

    @property
    def enrol(self) -> "EnrolEngines":
        """Enters the embedded wheel and the binary of BLAZAR_ENGINE_PATH."""
        from blazar.adapters.engines.finder import SystemEngineFinder
        from blazar.application.engines.enrol_engines import EnrolEngines

        finder = SystemEngineFinder(self._local.env)
        return EnrolEngines(self._local.engine_rows, finder, self._probe, self._local.clock)

    def list(self) -> "list[Engine]":
        from blazar.application.engines.list_engines import ListEngines

        self.trouble = str(self.enrol(prune=False) or "")
        return ListEngines(self._local.engine_rows)()

    def install(self, file: str, sha256: str | None, tag: str | None) -> "Engine":
        from blazar.application.engines.install_engine import InstallEngine

        install = InstallEngine(self._local.engine_rows, self._builds, self._probe, self._local.clock)
        return install(file, sha256 or "", tag)

    def use(self, tag: str) -> "Engine":
        from blazar.application.engines.enrol_engines import LOCAL
        from blazar.application.engines.use_engine import UseEngine

        if (trouble := self.enrol(prune=False)) and tag == LOCAL:
            raise trouble
        return UseEngine(self._local.engine_rows)(tag)

    def remove(self, tag: str) -> None:
        from blazar.adapters.engines.children import SubprocessChildren
        from blazar.adapters.telemetry.entropy import OsEntropy
        from blazar.application.engines.remove_engine import RemoveEngine

        local = self._local
        # Asked for orphans only: it starts nothing here.
        children = SubprocessChildren(
            local.folders.ensure().run, local.clock, OsEntropy(), _door, {}, processes=local.processes
        )
        RemoveEngine(local.engine_rows, self._builds, children, local.served_by)(tag)


def _door(at: int | str, key: str, model: str) -> "Upstream":
    from blazar.adapters.engines.pool import ChildPool

    uds = at if isinstance(at, str) else None
    return ChildPool("127.0.0.1", 0 if isinstance(at, str) else at, key, model, uds)
