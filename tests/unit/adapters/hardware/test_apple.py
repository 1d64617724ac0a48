"""Apple's GPU, on recorded `sysctl` text (man 8 sysctl: `name: value` lines; values of `iogpu.wired_limit_mb` in MiB)."""

import sys

import pytest

from blazar.adapters.hardware.apple import apple_gpus, apple_gpus_if_any, metal_budget
from blazar.adapters.hardware.commands import Said
from blazar.adapters.hardware.probing import ProbeFailed
from blazar.domain.records import Gpu

GIB, MIB = 2**30, 2**20

M2 = f"hw.optional.arm64: 1\nmachdep.cpu.brand_string: Apple M2 Max\nhw.memsize: {64 * GIB}\niogpu.wired_limit_mb: 0\n"


def gpus(text, code=0):
    return apple_gpus(lambda _: Said(code, text))


def test_one_device_on_the_machines_memory():
    """As large as Metal recommends, and shared with the host."""
    size = 49152 * MIB
    assert gpus(M2) == (Gpu(0, "Apple M2 Max", "apple", size, size, "metal", "metal", shared=True),)


def test_a_limit_of_the_users_holds():
    """The sysctl is what people turn to give the GPU more."""
    assert gpus(M2.replace("wired_limit_mb: 0", "wired_limit_mb: 57344"))[0].total == 57344 * MIB


def test_an_older_system_does_not_know_the_limit():
    """It says so on a line of its own and ends with an error; the rest holds."""
    text = M2.replace("iogpu.wired_limit_mb: 0", "sysctl: unknown oid 'iogpu.wired_limit_mb'")
    assert gpus(text, code=1)[0].total == 49152 * MIB


@pytest.mark.parametrize(
    "text", ["", "sysctl: unknown oid 'hw.optional.arm64'\nhw.memsize: 1\n", "hw.optional.arm64: 0\n"]
)
def test_an_intel_mac_has_none(text):
    """Engine builds for it compute on the processor."""
    assert gpus(text) == ()


@pytest.mark.parametrize("memory", ["", "hw.memsize: many\n"])
def test_no_memory_figure_is_a_failure(memory):
    """A GPU of unknown size is worth a word to the user."""
    with pytest.raises(ProbeFailed):
        gpus("hw.optional.arm64: 1\n" + memory, code=1)


@pytest.mark.parametrize(
    ("gib", "limit", "mib"),
    [(8, 0, 5461), (16, 0, 10922), (32, 0, 21845), (36, 0, 27648), (64, 0, 49152), (96, 0, 73728), (16, 99999, 16384)],
)
def test_metals_budget(gib, limit, mib):
    """The values that engines have logged on such machines; a limit beyond the memory is no more memory."""
    assert metal_budget(gib * GIB, limit) // MIB == mib


@pytest.mark.skipif(sys.platform == "darwin", reason="there it is asked")
def test_other_systems_are_not_asked():
    """Their sysctl is another program."""
    assert apple_gpus_if_any(lambda _: Said(0, M2)) == ()
