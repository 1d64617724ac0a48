"""When NVIDIA's library is asked."""

import sys

import pytest

from blazar.adapters.hardware import nvidia


@pytest.fixture
def asked(mocker):
    """NVIDIA's library, which here always finds a card."""
    return mocker.patch.object(nvidia, "nvidia_cards", return_value=["card"])


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the library is always asked")
@pytest.mark.parametrize("vendor", ["0x8086\n", None])
def test_without_a_card_or_its_driver_the_library_stays_unloaded(tmp_path, asked, vendor):
    """Loading the binding costs memory and time before the first token, for nothing."""
    if vendor is not None:
        (tmp_path / "sys/bus/pci/devices/a").mkdir(parents=True)
        (tmp_path / "sys/bus/pci/devices/a/vendor").write_text(vendor)
    assert nvidia.nvidia_cards_if_any(tmp_path) == []
    asked.assert_not_called()


@pytest.mark.parametrize("sign", ["dev/nvidiactl", "dev/dxg", "proc/driver/nvidia"])
def test_a_driver_is_reason_enough_to_ask(tmp_path, asked, sign):
    """In WSL and on boards there is a driver and nothing on the bus."""
    (tmp_path / sign).mkdir(parents=True)
    assert nvidia.nvidia_cards_if_any(tmp_path) == ["card"]


def test_a_card_on_the_bus_is_reason_enough_to_ask(tmp_path, asked):
    """Its driver may be loaded by the very question."""
    (tmp_path / "sys/bus/pci/devices/a").mkdir(parents=True)
    (tmp_path / "sys/bus/pci/devices/a/vendor").write_text("0x10de\n")
    assert nvidia.nvidia_cards_if_any(tmp_path) == ["card"]
