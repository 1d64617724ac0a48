"""NVIDIA cards by the driver's own library (NVML). Loaded only when asked: its binding takes 3 MB.

A card in MIG mode is several devices and none itself: its slices stand for it, each with its own memory (NVIDIA's
Multi-Instance GPU User Guide; NVML's reference, "Multi Instance GPU Management").
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from blazar.adapters.hardware.probing import NotHere, ProbeFailed
from blazar.application.supervise.fit_machine import engine_names
from blazar.domain import teaching
from blazar.domain.records import Gpu, Trouble


class NvidiaReport(NamedTuple):
    """What NVIDIA's driver tells. Cards in PCI order; `cuda_version` is the newest CUDA that it runs ("12.4", "" unknown).

    `addresses` are all cards that answered, those without a row of their own (MIG mode, no slice cut) included.
    """

    gpus: tuple[Gpu, ...] = ()
    cuda_version: str = ""
    addresses: frozenset[str] = frozenset()
    troubles: tuple[Trouble, ...] = ()


class _Card(NamedTuple):
    """One physical card: what CUDA sees of it, each with its handle."""

    address: str
    units: list[tuple[Gpu, Any]]


def read_nvml() -> NvidiaReport:
    """All cards and slices; raises `NotHere` without driver or library, `ProbeFailed` where they do not work."""
    with _library() as nvml:
        troubles: list[Trouble] = []
        cards = _cards(nvml, troubles)
        gpus = [gpu for card in cards for gpu, _ in card.units]
        return NvidiaReport(
            tuple(gpu._replace(ordinal=ordinal) for ordinal, gpu in enumerate(gpus)),
            _cuda_version(nvml),
            frozenset(card.address for card in cards),
            tuple(troubles),
        )


def nvml_use(pids: Collection[int]) -> dict[int, dict[str, int]]:
    """Bytes by pid and device. The driver knows no figure under Windows' display driver model: such pids are absent."""
    with _library() as nvml:
        units = [unit for card in _cards(nvml, []) for unit in card.units]
        names = engine_names([gpu for gpu, _ in units])
        held: dict[int, dict[str, int]] = {}
        for name, (_, handle) in zip(names, units, strict=True):
            for pid, size in _processes(nvml, handle):
                if name and pid in pids:
                    devices = held.setdefault(pid, {})
                    devices[name] = devices.get(name, 0) + size
        return held


@contextmanager
def _library() -> Iterator[Any]:
    try:
        import pynvml as nvml
    except ImportError as error:
        raise NotHere(str(error)) from error
    try:
        nvml.nvmlInit()
    except (nvml.NVMLError_LibraryNotFound, nvml.NVMLError_DriverNotLoaded) as error:
        raise NotHere(str(error)) from error
    except (nvml.NVMLError, OSError) as error:
        raise ProbeFailed(str(error)) from error
    try:
        yield nvml
    except (nvml.NVMLError, OSError) as error:
        raise ProbeFailed(str(error)) from error
    finally:
        _shut_down(nvml)


def _cards(nvml: Any, troubles: list[Trouble]) -> list[_Card]:
    """In PCI order. One that has fallen off the bus takes no other with it."""
    driver = _text(nvml.nvmlSystemGetDriverVersion())
    cards = []
    for index in range(nvml.nvmlDeviceGetCount()):
        try:
            cards.append(_card(nvml, nvml.nvmlDeviceGetHandleByIndex(index), driver, troubles))
        except nvml.NVMLError as error:
            troubles.append(Trouble("nvml", teaching.card_does_not_answer(index, str(error))))
    return sorted(cards, key=lambda card: card.address)


def _card(nvml: Any, handle: Any, driver: str, troubles: list[Trouble]) -> _Card:
    address = _as_sysfs(_text(nvml.nvmlDeviceGetPciInfo(handle).busId))
    name = _text(nvml.nvmlDeviceGetName(handle))
    uuid = _text(nvml.nvmlDeviceGetUUID(handle))
    whole = Gpu(0, name, "nvidia", 0, 0, driver, "cuda", address, _capability(nvml, handle), uuid=uuid)
    if not _is_sliced(nvml, handle):
        return _Card(address, [(_with_memory(nvml, handle, whole), handle)])
    units = [
        (_with_memory(nvml, slice_, whole._replace(name=slice_name, uuid=slice_uuid, parent=uuid)), slice_)
        for slice_, slice_name, slice_uuid in _slices(nvml, handle)
    ]
    if not units:
        troubles.append(Trouble("mig", teaching.mig_without_slices(name)))
    return _Card(address, units)


def _with_memory(nvml: Any, handle: Any, gpu: Gpu) -> Gpu:
    try:
        memory = nvml.nvmlDeviceGetMemoryInfo(handle)
    except nvml.NVMLError_NotSupported:
        return gpu._replace(shared=True)  # boards that share the machine's memory have none of their own to report
    return gpu._replace(total=int(memory.total), free=int(memory.free))


def _capability(nvml: Any, handle: Any) -> str:
    try:
        major, minor = nvml.nvmlDeviceGetCudaComputeCapability(handle)
    except nvml.NVMLError:
        return ""
    return f"{major}.{minor}"


def _cuda_version(nvml: Any) -> str:
    """NVML writes 12.4 as 12040."""
    try:
        number = int(nvml.nvmlSystemGetCudaDriverVersion())
    except nvml.NVMLError:
        return ""
    return f"{number // 1000}.{number % 1000 // 10}"


def _is_sliced(nvml: Any, handle: Any) -> bool:
    try:
        current, _pending = nvml.nvmlDeviceGetMigMode(handle)
    except nvml.NVMLError:
        return False  # no card of this kind can be cut
    return bool(current == nvml.NVML_DEVICE_MIG_ENABLE)


def _slices(nvml: Any, card: Any) -> Iterator[tuple[Any, str, str]]:
    """(handle, name, UUID) of each slice. Compute instances of one GPU instance share its memory: the first stands for all."""
    seen: set[int] = set()
    for index in range(nvml.nvmlDeviceGetMaxMigDeviceCount(card)):
        try:
            handle = nvml.nvmlDeviceGetMigDeviceHandleByIndex(card, index)
        except nvml.NVMLError_NotFound:
            continue
        instance = int(nvml.nvmlDeviceGetGpuInstanceId(handle))
        if instance not in seen:
            seen.add(instance)
            yield handle, _text(nvml.nvmlDeviceGetName(handle)), _text(nvml.nvmlDeviceGetUUID(handle))


def _processes(nvml: Any, handle: Any) -> list[tuple[int, int]]:
    try:
        rows = nvml.nvmlDeviceGetComputeRunningProcesses(handle)
    except nvml.NVMLError:
        return []
    return [(int(row.pid), int(row.usedGpuMemory)) for row in rows if row.usedGpuMemory is not None]


def _as_sysfs(address: str) -> str:
    """NVML writes the PCI domain with eight digits, sysfs with four."""
    domain, mark, rest = address.lower().partition(":")
    return f"{domain[-4:]}{mark}{rest}"


def _text(word: Any) -> str:
    """Older releases of the binding answer bytes."""
    return word.decode(errors="replace") if isinstance(word, bytes) else str(word)


def _shut_down(nvml: Any) -> None:
    try:
        nvml.nvmlShutdown()
    except nvml.NVMLError:
        return
