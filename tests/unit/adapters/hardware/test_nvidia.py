"""When NVIDIA's driver is asked, and by which door."""

import sys

import pytest

from blazar.adapters.hardware import nvidia
from blazar.adapters.hardware.nvml import NvidiaReport
from blazar.adapters.hardware.probing import NotHere, ProbeFailed
from blazar.domain.records import Gpu, Trouble
from tests.support.sysfs_trees import grow

CARD = Gpu(0, "A", "nvidia", 8, 8, "555", "cuda", "0000:01:00.0")
BARE = CARD._replace(total=0, free=0)
BY_LIBRARY = NvidiaReport((CARD,), "12.4", frozenset({CARD.address}))
BY_PROGRAM = NvidiaReport((CARD._replace(name="by smi"),), "", frozenset({CARD.address}))
SILENT = NvidiaReport((BARE,), "12.4", frozenset({CARD.address}), (Trouble("nvml", "one card is lost"),))


def source(answer):
    def ask():
        if isinstance(answer, Exception):
            raise answer
        return answer

    return ask


def asked(nvml, smi):
    return nvidia._asked(source(nvml), source(smi))


def never():
    raise AssertionError("nobody was to be asked")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the library is always asked")
@pytest.mark.parametrize("case", [None, "amd-card", "no-accelerator"])
def test_without_a_card_or_its_driver_nobody_is_asked(tmp_path, case):
    """Loading the binding costs memory and time before the first token, for nothing."""
    if case == "no-accelerator":  # it holds an NVIDIA card that is given to a guest
        (grow(case, tmp_path) / "sys/bus/pci/devices/0000:00:06.0/vendor").write_text("0x8086")
        (tmp_path / "sys/bus/pci/devices/0000:00:07.0/vendor").write_text("0x8086")
    elif case:
        grow(case, tmp_path)
    assert nvidia.nvidia_if_any(tmp_path, never, never) == NvidiaReport()
    assert nvidia.nvidia_use_if_any({1}, tmp_path) == {}


@pytest.mark.parametrize("sign", ["dev/nvidiactl", "dev/dxg", "proc/driver/nvidia"])
def test_a_driver_is_reason_enough_to_ask(tmp_path, sign):
    """In WSL and on boards there is a driver and nothing on the bus."""
    (tmp_path / sign).mkdir(parents=True)
    assert nvidia.nvidia_if_any(tmp_path, source(BY_LIBRARY), never) == BY_LIBRARY


def test_a_card_on_the_bus_is_reason_enough_to_ask(tmp_path, mocker):
    """Its driver may be loaded by the very question."""
    grow("nvidia-bus", tmp_path)
    assert nvidia.nvidia_if_any(tmp_path, source(BY_LIBRARY), never) == BY_LIBRARY
    mocker.patch.object(nvidia, "nvml_use", return_value={1: {"CUDA0": 5}})
    assert nvidia.nvidia_use_if_any({1}, tmp_path) == {1: {"CUDA0": 5}}
    assert nvidia.nvidia_use_if_any((), tmp_path) == {}


def test_the_program_stands_in_for_the_library():
    """Why the library failed is kept; that it is not installed is nothing to tell."""
    assert asked(ProbeFailed("version mismatch"), BY_PROGRAM) == BY_PROGRAM._replace(
        troubles=(Trouble("nvml", "version mismatch"),)
    )
    assert asked(NotHere("no library"), BY_PROGRAM) == BY_PROGRAM


def test_cards_without_memory_are_asked_about_twice():
    """A pool of nothing falls back to nvidia-smi; where that knows no more the library's report stands."""
    assert asked(SILENT, BY_PROGRAM) == BY_PROGRAM._replace(cuda_version="12.4", troubles=SILENT.troubles)
    for other in (NotHere("no program"), NvidiaReport((BARE,))):
        assert asked(SILENT, other) == SILENT
    assert asked(SILENT, ProbeFailed("it hangs")).troubles == (*SILENT.troubles, Trouble("nvidia-smi", "it hangs"))


def test_a_card_that_is_all_slices_to_be_is_an_answer():
    """In MIG mode and uncut: the program would only tell of memory that cannot be had."""
    uncut = NvidiaReport((), "12.4", frozenset({CARD.address}), (Trouble("nvml", "no slice"),))
    assert nvidia._asked(source(uncut), never) == uncut


def test_both_may_fail():
    """Each failure is told; nothing installed is nothing to tell."""
    assert asked(ProbeFailed("a"), ProbeFailed("b")).troubles == (Trouble("nvml", "a"), Trouble("nvidia-smi", "b"))
    assert asked(ProbeFailed("a"), NotHere("b")).troubles == (Trouble("nvml", "a"),)
    assert asked(NotHere("a"), NotHere("b")) == NvidiaReport()
