"""NVIDIA cards through the driver's library, which is replaced: this is the rim of the adapter."""

import sys
from types import SimpleNamespace

import pynvml
import pytest

from blazar.adapters.hardware.nvml import nvidia_cards
from blazar.domain.records import Gpu

GIB = 2**30


def driver(mocker, *cards: tuple[str, str, int, int]) -> None:
    """Make the library report cards: bus id, name, total, free."""
    mocker.patch.object(pynvml, "nvmlInit")
    mocker.patch.object(pynvml, "nvmlShutdown")
    mocker.patch.object(pynvml, "nvmlSystemGetDriverVersion", return_value=b"555.42.02")
    mocker.patch.object(pynvml, "nvmlDeviceGetCount", return_value=len(cards))
    mocker.patch.object(pynvml, "nvmlDeviceGetHandleByIndex", side_effect=lambda index: cards[index])
    mocker.patch.object(pynvml, "nvmlDeviceGetName", side_effect=lambda card: card[1])
    mocker.patch.object(pynvml, "nvmlDeviceGetPciInfo", side_effect=lambda card: SimpleNamespace(busId=card[0]))
    mocker.patch.object(
        pynvml, "nvmlDeviceGetMemoryInfo", side_effect=lambda card: SimpleNamespace(total=card[2], free=card[3])
    )


def test_cards_in_bus_order(mocker):
    """Order and ordinals follow the bus, addresses are spelled as sysfs does."""
    driver(mocker, ("00000000:41:00.0", "B", 80 * GIB, 79 * GIB), ("00000000:01:00.0", "A", 24 * GIB, 20 * GIB))
    cards = nvidia_cards()
    assert [card.address for card in cards] == ["0000:01:00.0", "0000:41:00.0"]
    assert [card.gpu for card in cards] == [
        Gpu(0, "A", "nvidia", 24 * GIB, 20 * GIB, "555.42.02"),
        Gpu(1, "B", "nvidia", 80 * GIB, 79 * GIB, "555.42.02"),
    ]
    pynvml.nvmlShutdown.assert_called_once_with()


def test_a_card_without_memory_of_its_own(mocker):
    """Where the driver supports no memory figure the card is known and counts as nothing."""
    driver(mocker, ("00000000:01:00.0", "GB10", 0, 0))
    pynvml.nvmlDeviceGetMemoryInfo.side_effect = pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
    assert [(card.gpu.total, card.gpu.free) for card in nvidia_cards()] == [(0, 0)]


@pytest.mark.parametrize(
    "call", ["nvmlInit", "nvmlDeviceGetCount", "nvmlDeviceGetMemoryInfo", "nvmlSystemGetDriverVersion"]
)
@pytest.mark.parametrize(
    "code", [pynvml.NVML_ERROR_DRIVER_NOT_LOADED, pynvml.NVML_ERROR_GPU_IS_LOST, pynvml.NVML_ERROR_UNKNOWN]
)
def test_a_broken_driver_means_no_card(mocker, call, code):
    """Whatever step fails, the answer is an empty list."""
    driver(mocker, ("00000000:01:00.0", "A", GIB, GIB))
    getattr(pynvml, call).side_effect = pynvml.NVMLError(code)
    assert nvidia_cards() == []


def test_a_failing_goodbye_is_no_failure(mocker):
    """The cards were read; that the library cannot be closed changes nothing."""
    driver(mocker, ("00000000:01:00.0", "A", GIB, GIB))
    pynvml.nvmlShutdown.side_effect = pynvml.NVMLError(pynvml.NVML_ERROR_UNKNOWN)
    assert len(nvidia_cards()) == 1


def test_no_library_means_no_card(mocker):
    """An installation without the binding works."""
    mocker.patch.dict(sys.modules, {"pynvml": None})
    assert nvidia_cards() == []
