"""NVIDIA cards by the driver's own library. Every failure means "no card here": a broken driver must not stop the daemon."""

from typing import Any, NamedTuple

from blazar.domain.records import Gpu


class NvidiaCard(NamedTuple):
    """One card and its PCI address as sysfs spells it."""

    gpu: Gpu
    address: str


def nvidia_cards() -> list[NvidiaCard]:
    """All cards in PCI order; empty without driver, library or permission."""
    try:
        import pynvml
    except ImportError:
        return []
    try:
        pynvml.nvmlInit()
    except (pynvml.NVMLError, OSError):
        return []
    try:
        driver = _text(pynvml.nvmlSystemGetDriverVersion())
        handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]
        cards = sorted((_card(pynvml, handle, driver) for handle in handles), key=lambda card: card.address)
        return [card._replace(gpu=card.gpu._replace(ordinal=index)) for index, card in enumerate(cards)]
    except (pynvml.NVMLError, OSError):
        return []
    finally:
        _shut_down(pynvml)


def _card(pynvml: Any, handle: Any, driver: str) -> NvidiaCard:
    try:
        memory = pynvml.nvmlDeviceGetMemoryInfo(handle)
        total, free = int(memory.total), int(memory.free)
    except pynvml.NVMLError_NotSupported:
        total, free = 0, 0  # cards that share the machine's memory have none of their own to report
    address = _text(pynvml.nvmlDeviceGetPciInfo(handle).busId)
    gpu = Gpu(0, _text(pynvml.nvmlDeviceGetName(handle)), "nvidia", total, free, driver)
    return NvidiaCard(gpu, _as_sysfs(address))


def _as_sysfs(address: str) -> str:
    """NVML writes the PCI domain with eight digits, sysfs with four."""
    domain, mark, rest = address.lower().partition(":")
    return f"{domain[-4:]}{mark}{rest}"


def _text(word: Any) -> str:
    """Older releases of the binding answer bytes."""
    return word.decode(errors="replace") if isinstance(word, bytes) else str(word)


def _shut_down(pynvml: Any) -> None:
    try:
        pynvml.nvmlShutdown()
    except pynvml.NVMLError:
        return
