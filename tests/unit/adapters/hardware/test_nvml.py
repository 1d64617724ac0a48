"""NVIDIA cards through the driver's library, which is replaced: this is the rim of the adapter.

Functions, error codes and the MIG calls: NVIDIA's NVML API reference.
"""

import sys
from dataclasses import dataclass, field
from types import SimpleNamespace

import pynvml
import pytest

from blazar.adapters.hardware.nvml import nvml_use, read_nvml
from blazar.adapters.hardware.probing import NotHere, ProbeFailed
from blazar.domain import teaching
from blazar.domain.records import Gpu, Trouble

GIB = 2**30


@dataclass
class Card:
    """A card or a slice; what is None the driver does not support."""

    bus: str = ""
    name: str = "A"
    uuid: str = "GPU-a"
    total: int | None = 24 * GIB
    free: int = 20 * GIB
    capability: tuple[int, int] | None = (8, 9)
    mig: int | None = None
    slices: list["Card | None"] = field(default_factory=list)
    instance: int = 0
    processes: list[tuple[int, int | None]] | None = field(default_factory=list)
    lost: bool = False


def raises(code):
    raise pynvml.NVMLError(code)


def memory(card):
    if card.total is None:
        raises(pynvml.NVML_ERROR_NOT_SUPPORTED)
    return SimpleNamespace(total=card.total, free=card.free)


def handle(cards, index):
    return raises(pynvml.NVML_ERROR_GPU_IS_LOST) if cards[index].lost else cards[index]


def running(card):
    if card.processes is None:
        raises(pynvml.NVML_ERROR_NO_PERMISSION)
    return [SimpleNamespace(pid=pid, usedGpuMemory=size) for pid, size in card.processes]


def driver(mocker, *cards: Card) -> None:
    """Make the library report these cards."""
    calls = {
        "nvmlInit": lambda: None,
        "nvmlShutdown": lambda: None,
        "nvmlSystemGetDriverVersion": lambda: b"555.42.02",
        "nvmlSystemGetCudaDriverVersion": lambda: 12050,
        "nvmlDeviceGetCount": lambda: len(cards),
        "nvmlDeviceGetHandleByIndex": lambda index: handle(cards, index),
        "nvmlDeviceGetName": lambda card: card.name,
        "nvmlDeviceGetUUID": lambda card: card.uuid,
        "nvmlDeviceGetPciInfo": lambda card: SimpleNamespace(busId=card.bus),
        "nvmlDeviceGetMemoryInfo": memory,
        "nvmlDeviceGetCudaComputeCapability": lambda card: card.capability or raises(pynvml.NVML_ERROR_NOT_SUPPORTED),
        "nvmlDeviceGetMigMode": lambda card: (
            raises(pynvml.NVML_ERROR_NOT_SUPPORTED) if card.mig is None else [card.mig, card.mig]
        ),
        "nvmlDeviceGetMaxMigDeviceCount": lambda card: len(card.slices),
        "nvmlDeviceGetMigDeviceHandleByIndex": lambda card, index: (
            card.slices[index] or raises(pynvml.NVML_ERROR_NOT_FOUND)
        ),
        "nvmlDeviceGetGpuInstanceId": lambda card: card.instance,
        "nvmlDeviceGetComputeRunningProcesses": running,
    }
    for name, answer in calls.items():
        mocker.patch.object(pynvml, name, side_effect=answer)


def a_sliced_card() -> Card:
    """Two GPU instances, the first of them shared by two compute instances, and a place that is empty."""
    return Card(
        bus="00000000:07:00.0",
        name="A100",
        uuid="GPU-p",
        capability=(8, 0),
        mig=1,
        slices=[
            Card(
                name="A100 MIG 1c.3g.20gb",
                uuid="MIG-1",
                total=20 * GIB,
                free=19 * GIB,
                instance=1,
                processes=[(7, GIB)],
            ),
            None,
            Card(name="A100 MIG 2c.3g.20gb", uuid="MIG-2", total=20 * GIB, free=19 * GIB, instance=1),
            Card(name="A100 MIG 1g.10gb", uuid="MIG-3", total=10 * GIB, free=5 * GIB, instance=2, processes=[(8, GIB)]),
        ],
    )


def test_cards_in_bus_order(mocker):
    """Order and ordinals follow the bus, addresses are spelled as sysfs does."""
    driver(
        mocker,
        Card("00000000:41:00.0", "B", "GPU-b", 80 * GIB, 79 * GIB, (9, 0), mig=0),
        Card("00000000:01:00.0", "A", "GPU-a"),
    )
    report = read_nvml()
    assert report.gpus == (
        Gpu(
            0, "A", "nvidia", 24 * GIB, 20 * GIB, "555.42.02", "cuda", "0000:01:00.0", "8.9", shared=False, uuid="GPU-a"
        ),
        Gpu(
            1, "B", "nvidia", 80 * GIB, 79 * GIB, "555.42.02", "cuda", "0000:41:00.0", "9.0", shared=False, uuid="GPU-b"
        ),
    )
    assert (report.cuda_version, report.troubles) == ("12.5", ())
    pynvml.nvmlShutdown.assert_called_once_with()


def test_a_card_without_memory_of_its_own(mocker):
    """Where the driver supports no memory figure the card is known, counts as nothing, and lives on the host's."""
    driver(mocker, Card("00000000:01:00.0", "GB10", total=None))
    (gpu,) = read_nvml().gpus
    assert (gpu.total, gpu.free, gpu.shared) == (0, 0, True)


def test_a_card_in_mig_mode_is_its_slices(mocker):
    """Each GPU instance once, with its own memory and the card's capability; the card has no row."""
    driver(mocker, a_sliced_card())
    report = read_nvml()
    assert [(gpu.name, gpu.total, gpu.free, gpu.uuid) for gpu in report.gpus] == [
        ("A100 MIG 1c.3g.20gb", 20 * GIB, 19 * GIB, "MIG-1"),
        ("A100 MIG 1g.10gb", 10 * GIB, 5 * GIB, "MIG-3"),
    ]
    assert {(gpu.parent, gpu.address, gpu.compute_capability) for gpu in report.gpus} == {
        ("GPU-p", "0000:07:00.0", "8.0")
    }
    assert report.addresses == {"0000:07:00.0"}


def test_a_card_in_mig_mode_without_slices(mocker):
    """It can compute nothing: that is told, and the card is known to be there."""
    driver(mocker, Card("00000000:07:00.0", "A100", mig=1, slices=[None, None]))
    report = read_nvml()
    assert (report.gpus, report.addresses) == ((), {"0000:07:00.0"})
    assert report.troubles == (Trouble("mig", teaching.mig_without_slices("A100")),)


def test_what_a_driver_does_not_know_is_left_out(mocker):
    """An old driver has no capability and no CUDA version to tell; the card is as good."""
    driver(mocker, Card("00000000:01:00.0", capability=None))
    pynvml.nvmlSystemGetCudaDriverVersion.side_effect = pynvml.NVMLError(pynvml.NVML_ERROR_FUNCTION_NOT_FOUND)
    report = read_nvml()
    assert (report.gpus[0].compute_capability, report.cuda_version) == ("", "")


def test_a_lost_card_takes_no_other_with_it(mocker):
    """It is told of, and the others are counted."""
    driver(mocker, Card("00000000:01:00.0", lost=True), Card("00000000:02:00.0", "B"))
    report = read_nvml()
    assert [gpu.name for gpu in report.gpus] == ["B"]
    assert report.addresses == {"0000:02:00.0"}
    assert [trouble.why for trouble in report.troubles] == [teaching.card_does_not_answer(0, "GPU is lost")]


@pytest.mark.parametrize("code", [pynvml.NVML_ERROR_LIBRARY_NOT_FOUND, pynvml.NVML_ERROR_DRIVER_NOT_LOADED])
def test_no_driver_is_no_failure(mocker, code):
    """The library or its driver is simply not here."""
    driver(mocker)
    pynvml.nvmlInit.side_effect = pynvml.NVMLError(code)
    with pytest.raises(NotHere):
        read_nvml()


@pytest.mark.parametrize("call", ["nvmlInit", "nvmlDeviceGetCount", "nvmlSystemGetDriverVersion"])
@pytest.mark.parametrize(
    "error", [pynvml.NVMLError(pynvml.NVML_ERROR_UNKNOWN), pynvml.NVMLError(999), OSError("wrong ELF class")]
)
def test_a_broken_driver_is_a_failure(mocker, call, error):
    """Whatever step fails, one kind of error says why, and the library is closed again."""
    driver(mocker, Card("00000000:01:00.0"))
    getattr(pynvml, call).side_effect = error
    with pytest.raises(ProbeFailed) as caught:
        read_nvml()
    assert str(caught.value)
    assert not isinstance(caught.value, NotHere)
    assert pynvml.nvmlShutdown.called == (call != "nvmlInit")


def test_a_failing_goodbye_is_no_failure(mocker):
    """The cards were read; that the library cannot be closed changes nothing."""
    driver(mocker, Card("00000000:01:00.0"))
    pynvml.nvmlShutdown.side_effect = pynvml.NVMLError(pynvml.NVML_ERROR_UNKNOWN)
    assert len(read_nvml().gpus) == 1


def test_no_binding_is_no_failure(mocker):
    """An installation without it works."""
    mocker.patch.dict(sys.modules, {"pynvml": None})
    with pytest.raises(NotHere):
        read_nvml()


def test_use_by_process_and_device(mocker):
    """Ours only, by the engine's names in PCI order; several contexts of one process add up; unknown sizes are left out."""
    driver(
        mocker,
        Card("00000000:41:00.0", processes=[(7, 3 * GIB), (9, GIB)]),
        Card("00000000:01:00.0", processes=[(7, GIB), (7, GIB), (8, None), (5, GIB)]),
        Card("00000000:61:00.0", processes=None),
    )
    assert nvml_use({7, 8, 9}) == {7: {"CUDA0": 2 * GIB, "CUDA1": 3 * GIB}, 9: {"CUDA1": GIB}}


def test_use_of_slices(mocker):
    """An engine sees one slice and calls it CUDA0; who holds another is not told under that name."""
    driver(mocker, a_sliced_card())
    assert nvml_use({7, 8}) == {7: {"CUDA0": GIB}}
