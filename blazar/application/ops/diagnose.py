"""`doctor`: what this installation is made of, what is wrong with it, and what to do. Changes nothing.

A part that cannot be asked is a row that says so, never the end of the report. Works without a daemon (`supervising` None).
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from blazar.application.ports.catalog import ModelCatalog
from blazar.application.ports.disk import DiskSpace
from blazar.application.ports.engines import EngineCatalog
from blazar.application.ports.hardware import DeviceLister, HardwareCensus, ListedDevice
from blazar.application.ports.weights import WeightFiles
from blazar.application.supervise.views import InstanceView, Supervising
from blazar.domain import teaching
from blazar.domain.errors import BlazarError
from blazar.domain.instance.machine import State
from blazar.domain.keys import scopes_in_vain
from blazar.domain.kinds import EngineKind, Provenance
from blazar.domain.records import Engine, Gpu, Machine, Model
from blazar.domain.row_names import meant
from blazar.domain.weight_names import came_along

OK: Final = "ok"
WARN: Final = "warn"
FAIL: Final = "fail"

LOW_MEMORY: Final = 2**30
"""Available bytes below which hardly any model can be loaded (half its size plus 512 MiB)."""
LOW_DISK: Final = 2 * 2**30
"""Free bytes below which an engine archive or a log may not fit any more."""

MOST_STRAYS: Final = 10
"""Rows of weight files that belong to no model; the others are counted."""

CACHE: Final = "semantic cache"

OF_THE_SYSTEM: Final = frozenset({"memory", "processors"})
"""Probes that have nothing to do with accelerators."""
OWN_BACKEND: Final = frozenset({"nvidia", "apple"})
"""Makers whose cards engines use through CUDA or Metal; for the others Vulkan is the way."""


class Row(NamedTuple):
    """One finding; `remedy` is empty where nothing needs doing."""

    check: str
    status: str
    detail: str
    remedy: str = ""


class Installation(NamedTuple):
    """What the report is about. `problems` are the configuration's, `overridden` the names under [model_overrides].

    `config_found` is whether there is a file; `engine_trouble` says why the engine of BLAZAR_ENGINE_PATH cannot be used. Of a
    daemon: `refused_since` when the file that it cannot use came (`problems`), `restart_needed` keys that only a restart changes.
    `warnings`: what of the configuration is accepted and should be known. `scopes`: models that keys are limited to. `pins`: engines that overrides name, for which models.
    """

    version: str
    data: str
    config_file: str
    url: str = ""
    problems: tuple[str, ...] = ()
    overridden: tuple[str, ...] = ()
    config_found: bool = True
    engine_trouble: str = ""
    refused_since: str = ""
    restart_needed: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    pins: Mapping[str, Sequence[str]] = MappingProxyType({})
    scopes: Mapping[str, Sequence[str]] = MappingProxyType({})
    certificate: Row | None = None  # what HTTPS is spoken with
    embeddings: Mapping[str, bool] | None = None  # what overrides say of models, where the semantic cache is on


def _no_registry() -> Iterator[Row]:
    yield Row("capability registry", OK, teaching.doctor_registry_off())


def _not_looked_up() -> Iterator[Row]:
    yield Row("engine updates", OK, teaching.doctor_updates_unchecked())


def _nothing_begun() -> Mapping[str, int]:
    return {}


def _none_unlisted(_: Collection[str]) -> Iterable[tuple[str, int]]:
    return ()


def _none_left() -> Iterable[tuple[str, Sequence[str], int]]:
    return ()


def _nothing_laid(_: str) -> Iterable[str]:
    return ()


def _unseen(_: Engine) -> str:
    return ""


async def _no_workers(_: Sequence[InstanceView]) -> Sequence[Row]:
    return ()


@dataclass(frozen=True, slots=True)
class Diagnose:
    """Ask every part in turn."""

    installation: Installation
    hardware: HardwareCensus
    engines: EngineCatalog
    models: ModelCatalog
    weights: WeightFiles
    disk: DiskSpace
    supervising: Supervising | None = None
    lister: DeviceLister | None = None
    updates: Callable[[], Iterable[Row]] = _not_looked_up
    forks: Callable[[], Iterable[Row]] = _no_registry
    begun: Callable[[], Mapping[str, int]] = _nothing_begun
    workers: Callable[[Sequence[InstanceView]], Awaitable[Sequence[Row]]] = _no_workers
    flaw: Callable[[Engine], str] = _unseen
    unlisted: Callable[[Collection[str]], Iterable[tuple[str, int]]] = _none_unlisted
    laid: Callable[[str], Iterable[str]] = _nothing_laid
    left: Callable[[], Iterable[tuple[str, Sequence[str], int]]] = _none_left

    async def __call__(self) -> dict[str, Any]:
        """`{"sections": [{"name", "rows": [{"check", "status", "detail", "remedy"}]}]}`."""
        views = self.supervising.views() if self.supervising is not None else []
        # What asks other machines takes its time, and so may what asks this one.
        workers, (machine, disk, seen, begun) = await asyncio.gather(self.workers(views), self._look())
        sections: dict[str, Callable[[], Iterator[Row]]] = {
            "SYSTEM": lambda: self._system(machine, disk),
            "GPU": lambda: chain(_gpu_rows(machine), seen, workers),
            "ENGINES": lambda: chain(self._engines(), _begun_rows(begun)),
            "MODELS": self._models,
            "CHANNELS": self._channels,
            "RUNTIME": self._runtime,
        }
        return {
            "sections": [
                {"name": name, "rows": [row._asdict() for row in _guarded(name, rows)]}
                for name, rows in sections.items()
            ]
        }

    async def _look(self) -> tuple[Machine, Row, list[Row], Mapping[str, int]]:
        """Drivers and network file systems may take their time: off the loop. Catalogs are a fraction of a millisecond."""
        machine = await asyncio.to_thread(self.hardware.read)
        disk = await asyncio.to_thread(self._disk)
        seen = await asyncio.to_thread(self._seen_by_engine, machine)
        return machine, disk, seen, await asyncio.to_thread(self.begun)

    def _system(self, machine: Machine, disk: Row) -> Iterator[Row]:
        low = machine.ram_available < LOW_MEMORY
        told = teaching.doctor_memory(machine.ram_available, machine.ram_total)
        if machine.ram_total:
            yield Row("memory", WARN if low else OK, told, teaching.doctor_memory_low() if low else "")
        yield Row("processor", OK, teaching.doctor_cores(machine.cores))
        yield from _probe_rows(machine, OF_THE_SYSTEM)
        yield disk
        about = self.installation
        # What waits for a restart, or should be known, is not in order yet.
        if about.problems or not (about.restart_needed or about.warnings):
            problems = [*about.problems]
            if problems and about.refused_since:
                problems[0] = teaching.config_refused_since(problems[0], about.refused_since)
            yield from config_rows("configuration", about.config_file, problems, found=about.config_found)
        if about.restart_needed:
            told = teaching.doctor_restart_pending(about.restart_needed)
            yield Row("configuration", WARN, told, teaching.doctor_restart_remedy())
        for warning in about.warnings:
            yield Row("configuration", WARN, warning, teaching.doctor_warning_remedy(about.config_file))

    def _seen_by_engine(self, machine: Machine) -> list[Row]:
        """What the active builds would compute on: asked only where there is a GPU to be seen."""
        if self.lister is None or not any(gpu.driver for gpu in machine.gpus):
            return []
        try:
            active = [engine for engine in self.engines.list_engines() if engine.active]
        except BlazarError:
            return []  # the section of the engines tells it
        listed = [(engine.tag, self.lister.list_devices(engine)) for engine in active]
        return [_seen_row(tag, devices) for tag, devices in listed if devices is not None]

    def _disk(self) -> Row:
        path = self.installation.data
        try:
            free = self.disk.free(path)
        except OSError as error:
            why = teaching.doctor_disk_unknown(path, error.strerror or str(error))
            return Row("disk", WARN, why, teaching.doctor_disk_remedy())
        low = free < LOW_DISK
        return Row(
            "disk", WARN if low else OK, teaching.doctor_disk(free, path), teaching.doctor_disk_low() if low else ""
        )

    def _engines(self) -> Iterator[Row]:
        engines = self.engines.list_engines()
        if self.installation.engine_trouble:
            yield engine_path_row(self.installation.engine_trouble)
        if not engines:
            yield Row("engines", FAIL, teaching.no_engine(EngineKind.LLAMACPP, ()), teaching.doctor_engine_remedy())
        for engine in engines:
            if self._is_gone(engine):
                told = teaching.doctor_engine_gone(engine.tag, engine.server_path)
                yield Row(engine.tag, FAIL, told, teaching.doctor_engine_gone_remedy(engine.tag))
            elif flaw := self.flaw(engine):
                remedy = teaching.engine_again(engine.tag, engine.kind)
                yield Row(engine.tag, FAIL, teaching.doctor_engine_broken(engine.tag, flaw), remedy)
            elif not engine.version.strip():
                remedy = teaching.doctor_engine_unversioned_remedy(engine.tag)
                yield Row(engine.tag, WARN, teaching.engine_unversioned(engine.tag), remedy)
            else:
                told = teaching.doctor_engine(engine.kind, engine.version, engine.provenance, engine.active)
                yield Row(engine.tag, OK, told)
        yield from self._pins(engines)

    def _pins(self, engines: Sequence[Engine]) -> Iterator[Row]:
        """Overrides that name what is not there. Those of models that are not there either have a row of their own."""
        there = {engine.tag for engine in engines} | {str(engine.kind) for engine in engines}
        names = {model.name for model in self.models.list_models()}
        for pin, models in self.installation.pins.items():
            if pin not in there and (held := [model for model in models if model in names]):
                yield Row(pin, FAIL, teaching.doctor_pin_gone(pin, held), teaching.doctor_pin_remedy(held))

    def _is_gone(self, engine: Engine) -> bool:
        """An embedded wheel is started as a module: it has no file of its own to miss."""
        return engine.provenance is not Provenance.EMBEDDED and self.weights.missing((engine.server_path,)) is not None

    def _models(self) -> Iterator[Row]:
        models = self.models.list_models()
        if models:
            yield Row("catalog", OK, teaching.doctor_models(len(models), sum(model.size for model in models)))
        else:
            yield Row("catalog", WARN, teaching.doctor_no_models(), teaching.doctor_import_remedy())
        for model in models:
            if gone := self.weights.missing(model.files):
                told = teaching.model_file_gone(model.name, gone)
                yield Row(model.name, FAIL, told, teaching.doctor_model_remedy(model.name))
        yield from self._strays(models)
        yield from self._left()
        yield from self._cache(models)
        for name in sorted(set(self.installation.overridden) - {model.name for model in models}):
            yield Row(name, WARN, teaching.doctor_override_without_model(name), teaching.doctor_override_remedy())
        names = [model.name for model in models]
        for key, name in scopes_in_vain(self.installation.scopes, names, lambda name: meant(name, models)):
            yield Row(name, WARN, teaching.key_model_missing(key, name), teaching.doctor_override_remedy())

    def _cache(self, models: Sequence[Model]) -> Iterator[Row]:
        """The semantic cache finds what is alike by an embedding model that serves; it loads none."""
        said = self.installation.embeddings
        if said is None:
            return
        able = {model.name for model in models if said.get(model.name, model.embeds and not model.ranks)}
        if not able:
            yield Row(CACHE, WARN, teaching.doctor_cache_no_embedder(), teaching.doctor_cache_import())
            return
        views = self.supervising.views() if self.supervising is not None else None
        if views is not None and not any(view.model in able and view.state == State.SERVING for view in views):
            yield Row(CACHE, WARN, teaching.doctor_cache_none_serves(), teaching.doctor_cache_pin(min(able)))

    def _strays(self, models: Sequence[Model]) -> Iterator[Row]:
        """Weights in the models folder that take room and serve nobody."""
        named = {file for model in models for file in (*model.files, model.draft, *self.laid(model.name)) if file}
        strays = list(self.unlisted(named))
        for path, size in strays[:MOST_STRAYS]:
            adapter = came_along(path)  # no model by itself
            remedy = teaching.doctor_adapter_left_remedy() if adapter else teaching.doctor_unlisted_remedy(path)
            yield Row("models folder", WARN, teaching.doctor_unlisted(path, size), remedy)
        if more := strays[MOST_STRAYS:]:
            yield Row("models folder", WARN, teaching.doctor_unlisted_more(len(more), sum(size for _, size in more)))

    def _left(self) -> Iterator[Row]:
        """Pulls that were stopped, and what they have brought so far."""
        left = list(self.left())
        for folder, files, size in left[:MOST_STRAYS]:
            told = teaching.doctor_download_left(folder, files, size)
            yield Row("downloads", WARN, told, teaching.doctor_download_left_remedy())
        if more := left[MOST_STRAYS:]:
            yield Row("downloads", WARN, teaching.doctor_downloads_left_more(len(more), sum(row[2] for row in more)))

    def _channels(self) -> Iterator[Row]:
        yield from self.updates()
        yield from self.forks()

    def _runtime(self) -> Iterator[Row]:
        if self.supervising is None:
            yield Row("daemon", WARN, teaching.daemon_not_running(), teaching.doctor_daemon_remedy())
            return
        yield Row("daemon", OK, teaching.doctor_daemon(self.installation.url, self.installation.version))
        if self.installation.certificate is not None:
            yield self.installation.certificate
        views = self.supervising.views()
        yield from (_child_row(view) for view in views)
        if not views:
            yield Row("children", OK, teaching.doctor_no_children())


def config_rows(check: str, path: str, problems: Iterable[str], *, found: bool) -> Iterator[Row]:
    """One row for each problem of a configuration file, or one that says that it is in order."""
    bad = [Row(check, FAIL, problem, teaching.doctor_config_remedy(path)) for problem in problems]
    yield from bad or [Row(check, OK, teaching.doctor_config(path) if found else teaching.config_absent(path))]


def engine_path_row(trouble: str) -> Row:
    """The engine that the user named cannot be used."""
    return Row("BLAZAR_ENGINE_PATH", FAIL, trouble, teaching.doctor_engine_path_remedy())


def _begun_rows(begun: Mapping[str, int]) -> Iterator[Row]:
    for tag, taken in begun.items():
        if not taken:
            continue
        yield Row(
            "build folder", WARN, teaching.doctor_build_begun(tag, taken), teaching.doctor_build_begun_remedy(tag)
        )


def _guarded(name: str, rows: Callable[[], Iterator[Row]]) -> list[Row]:
    """The rows of a section; what it found before a part failed, and then the failure."""
    found: list[Row] = []
    try:
        for row in rows():
            found.append(row)  # noqa: PERF402 - what came before a failure is kept
    except BlazarError as error:
        found.append(Row(name.lower(), FAIL, str(error), teaching.doctor_catalog_remedy()))
    return found


def _gpu_rows(machine: Machine) -> Iterator[Row]:
    probes = list(_probe_rows(machine))
    if not machine.gpus and not probes:
        yield Row("gpu", OK, teaching.doctor_no_gpu())
    for gpu in machine.gpus:
        yield _gpu_row(gpu, machine)
    yield from probes
    if machine.vulkan:
        yield Row("vulkan", OK, teaching.doctor_vulkan(machine.vulkan))
    elif any(gpu.driver and gpu.vendor not in OWN_BACKEND for gpu in machine.gpus):
        yield Row("vulkan", WARN, teaching.doctor_no_vulkan(), teaching.doctor_vulkan_remedy())


def _probe_rows(machine: Machine, only: frozenset[str] | None = None) -> Iterator[Row]:
    """Probes that gave no answer: those named, or those that are about accelerators."""
    for trouble in machine.troubles:
        if trouble.probe in only if only is not None else trouble.probe not in OF_THE_SYSTEM:
            told = teaching.doctor_probe(trouble.probe, trouble.why)
            yield Row(f"probe {trouble.probe}", WARN, told, teaching.doctor_probe_remedy(trouble.probe))


def _gpu_row(gpu: Gpu, machine: Machine) -> Row:
    check = f"gpu {gpu.ordinal}"
    if not gpu.driver:
        remedy = teaching.doctor_driver_remedy(gpu.vendor)
        return Row(check, WARN, teaching.doctor_gpu_without_driver(gpu.name), remedy)
    if gpu.total:
        told = teaching.doctor_gpu(gpu.name, gpu.free, gpu.total, gpu.driver)
        if gpu.shared:
            told = teaching.doctor_gpu_of_host(told)
        cuda = machine.cuda_version if gpu.vendor == "nvidia" else ""
        return Row(check, OK, teaching.doctor_gpu_cuda(told, gpu.compute_capability, cuda))
    if gpu.vendor == "nvidia" and gpu.driver == "nvidia":
        # The bus names the kernel module; the driver's own report would have named its version.
        return Row(check, WARN, teaching.doctor_gpu_silent(gpu.name), teaching.doctor_nvidia_library_remedy())
    return Row(check, OK, teaching.doctor_gpu_shared(gpu.name, gpu.driver))


def _seen_row(tag: str, devices: Sequence[ListedDevice]) -> Row:
    if not devices:
        remedy = teaching.doctor_engine_on_processor_remedy()
        return Row("engine devices", WARN, teaching.doctor_engine_on_processor(tag), remedy)
    names = [f"{device.name} ({device.label})" for device in devices]
    return Row("engine devices", OK, teaching.doctor_engine_devices(tag, names))


def _child_row(view: InstanceView) -> Row:
    if view.last_error:
        told = teaching.doctor_child_trouble(view.engine, view.state, view.last_error)
        return Row(view.key, WARN, told, teaching.doctor_child_remedy(view.model))
    told = teaching.doctor_child(view.engine, view.state, view.rss, view.in_flight)
    return Row(view.key, OK, teaching.doctor_child_outdated(told) if view.outdated else told)
