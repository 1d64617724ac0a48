"""Choosing a file of a release: a table of machines, against names as the projects publish them."""

import pytest

from blazar.domain import teaching
from blazar.domain.assets import ARM64, LINUX, MACOS, WINDOWS, X64, Host, choose, host_of, numbers
from blazar.domain.errors import Unserved
from blazar.domain.kinds import EngineKind
from blazar.domain.records import Gpu, Machine
from tests.support.release_lists import LLAMACPP, MISTRALRS, SDCPP, assets_of

LISTS = {EngineKind.LLAMACPP: LLAMACPP, EngineKind.MISTRALRS: MISTRALRS, EngineKind.SDCPP: SDCPP}
L, M, S = EngineKind.LLAMACPP, EngineKind.MISTRALRS, EngineKind.SDCPP
BARE = Host(LINUX, X64)
FLAVORS = ("cpu", "vulkan", "cuda", "cuda-12.8", "rocm")


def card(cuda: str, capability: str = "8.9", *, vulkan: bool = True, system: str = LINUX, processor: str = X64) -> Host:
    """A machine with an NVIDIA driver."""
    return Host(system, processor, numbers(cuda), (capability,), vulkan)


# kind, machine, what was asked for, the end of the file's name, its flavor, how many archives of libraries go beside it.
TABLE = [
    (L, BARE, "auto", "ubuntu-x64.tar.gz", "", 0),
    (L, Host(LINUX, ARM64), "auto", "ubuntu-arm64.tar.gz", "", 0),
    (L, Host(LINUX, "s390x"), "auto", "ubuntu-s390x.tar.gz", "", 0),
    (L, Host(LINUX, X64, vulkan=True), "auto", "ubuntu-vulkan-x64.tar.gz", "vulkan", 0),
    (L, Host(LINUX, ARM64, vulkan=True), "auto", "ubuntu-vulkan-arm64.tar.gz", "vulkan", 0),
    (L, card("12.4"), "auto", "ubuntu-vulkan-x64.tar.gz", "vulkan", 0),  # the driver is older than any CUDA build
    (L, card("12.4", vulkan=False), "auto", "ubuntu-x64.tar.gz", "", 0),
    (L, card("12.8"), "auto", "ubuntu-cuda-12.8-x64.tar.gz", "cuda-12.8", 1),
    (L, card("13.0"), "auto", "ubuntu-cuda-12.8-x64.tar.gz", "cuda-12.8", 1),
    (L, card("13.4"), "auto", "ubuntu-cuda-13.4-x64.tar.gz", "cuda-13.4", 1),
    (L, card("14.1"), "auto", "ubuntu-cuda-13.4-x64.tar.gz", "cuda-13.4", 1),
    (L, card("13.4", processor=ARM64), "auto", "ubuntu-cuda-13.4-arm64.tar.gz", "cuda-13.4", 1),
    (L, card("12.8", processor=ARM64), "auto", "ubuntu-vulkan-arm64.tar.gz", "vulkan", 0),
    (L, card("12.6", system=WINDOWS), "auto", "win-cuda-12.4-x64.zip", "cuda-12.4", 1),
    (L, card("13.4", system=WINDOWS), "auto", "win-cuda-13.4-x64.zip", "cuda-13.4", 1),
    (L, Host(WINDOWS, X64), "auto", "win-cpu-x64.zip", "", 0),
    (L, Host(WINDOWS, X64, vulkan=True), "auto", "win-vulkan-x64.zip", "vulkan", 0),
    (L, Host(WINDOWS, ARM64), "auto", "win-cpu-arm64.zip", "", 0),
    (L, Host(MACOS, ARM64), "auto", "macos-arm64.tar.gz", "", 0),
    (L, Host(MACOS, X64), "auto", "macos-x64.tar.gz", "", 0),
    (L, card("13.4"), "cpu", "ubuntu-x64.tar.gz", "", 0),
    (L, card("13.4"), "vulkan", "ubuntu-vulkan-x64.tar.gz", "vulkan", 0),
    (L, card("13.0"), "cuda", "ubuntu-cuda-12.8-x64.tar.gz", "cuda-12.8", 1),
    (L, card("13.4"), "cuda-12.8", "ubuntu-cuda-12.8-x64.tar.gz", "cuda-12.8", 1),
    (L, BARE, "cuda", "ubuntu-cuda-13.4-x64.tar.gz", "cuda-13.4", 1),  # who asks for it means it
    (L, BARE, "rocm", "ubuntu-rocm-10.0-x64.tar.gz", "rocm-10.0", 0),
    (L, BARE, "sycl", "ubuntu-sycl-fp16-x64.tar.gz", "sycl-fp16", 0),
    (L, BARE, "sycl-fp32", "ubuntu-sycl-fp32-x64.tar.gz", "sycl-fp32", 0),
    (L, BARE, "llama-b11429-bin-macos-x64.tar.gz", "macos-x64.tar.gz", "", 0),
    (M, BARE, "auto", "cpu-x86_64-unknown-linux-gnu.tar.gz", "", 0),
    (M, Host(LINUX, ARM64), "auto", "cpu-aarch64-unknown-linux-gnu.tar.gz", "", 0),
    (M, Host(LINUX, ARM64), "v8_0", "cpu-aarch64-unknown-linux-gnu-v8_0.tar.gz", "cpu-v8_0", 0),
    (M, card("13.2"), "auto", "cuda132-sm89-x86_64-unknown-linux-gnu.tar.gz", "cuda-13.2-sm89", 0),
    (M, card("13.1"), "auto", "cuda131-sm89-x86_64-unknown-linux-gnu.tar.gz", "cuda-13.1-sm89", 0),
    (M, card("12.9"), "auto", "cuda128-sm89-x86_64-unknown-linux-gnu.tar.gz", "cuda-12.8-sm89", 0),
    (M, card("12.9", "12.1", processor=ARM64), "auto", "cuda129-sm121-aarch64-unknown-linux-gnu.tar.gz", "cuda-12.9-sm121", 0),
    (M, card("13.2", "7.5"), "auto", "cpu-x86_64-unknown-linux-gnu.tar.gz", "", 0),  # no build for this card
    (M, Host(WINDOWS, X64), "auto", "cpu-x86_64-pc-windows-msvc.zip", "", 0),
    (M, Host(MACOS, ARM64), "auto", "metal-aarch64-apple-darwin.tar.gz", "metal", 0),
    (S, BARE, "auto", "Ubuntu-24.04-x86_64.zip", "", 0),
    (S, card("13.4"), "auto", "Ubuntu-24.04-x86_64-vulkan.zip", "vulkan", 0),
    (S, card("12.8", system=WINDOWS), "auto", "win-cuda12-x64.zip", "cuda12", 1),
    (S, Host(WINDOWS, X64), "auto", "win-cpu-x64.zip", "", 0),
    (S, Host(MACOS, ARM64), "auto", "Darwin-macOS-15.7.7-arm64.zip", "", 0),
    (S, Host(MACOS, X64), "auto", "Darwin-macOS-15.7.7-arm64.zip", "", 0),  # one file for both processors
    (S, BARE, "rocm", "x86_64-rocm-7.13.0.zip", "rocm-7.13.0", 0),
]  # fmt: skip


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row[0]}-{row[1].system}-{row[2]}")
def test_each_machine_gets_its_file(row):
    """By system, processor, driver and wish; with the CUDA libraries of the same version where they come apart."""
    kind, host, wanted, name, flavor, beside = row
    choice = choose(kind, "r1", assets_of(LISTS[kind]), host, wanted)
    assert choice.asset.name.endswith(name)
    assert choice.flavor == flavor
    assert len(choice.companions) == beside
    assert all(choice.flavor[-4:] in asset.name or "cu12" in asset.name for asset in choice.companions)
    assert choice.why


def test_the_reason_says_what_decided():
    """The driver's version and the build's; what was missed; what was asked for."""
    assets = assets_of(LLAMACPP)
    assert choose(L, "r1", assets, card("13.0")).why == teaching.asset_for_cuda("13.0", "12.8")
    missed = choose(L, "r1", assets, card("12.4"))
    assert missed.why == teaching.asset_for_vulkan() + teaching.asset_no_cuda("12.4")
    assert choose(L, "r1", assets, BARE, "rocm").why == teaching.asset_as_configured("rocm")


@pytest.mark.parametrize(
    ("kind", "host", "wanted"),
    [
        (L, Host("freebsd", X64), "auto"),
        (L, Host(LINUX, "riscv64"), "auto"),
        (L, BARE, "metal"),
        (M, Host(MACOS, X64), "auto"),
        (S, Host(LINUX, ARM64), "auto"),
        (S, BARE, "no-such-word"),
    ],
)
def test_nothing_that_fits_lists_what_there_is(kind, host, wanted):
    """And how to go on: a name by hand, or a build of one's own."""
    with pytest.raises(Unserved) as refused:
        choose(kind, "r1", assets_of(LISTS[kind]), host, wanted)
    said = str(refused.value)
    assert host.system in said
    assert host.processor in said
    assert any(name in said for name in LISTS[kind])
    assert ("blazar engine build" in said) == (kind is L)


def test_names_that_are_not_understood_are_not_chosen():
    """A release of strange files has nothing for anybody."""
    with pytest.raises(Unserved, match="understood"):
        choose(L, "r1", assets_of(("notes.txt", "llama-b1-bin-amiga-m68k.zip")), BARE)


def test_a_machine_as_the_census_found_it():
    """A card without its driver counts for nothing; Vulkan without any card neither."""
    nvidia = Gpu(0, "card", "nvidia", 8 << 30, 8 << 30, "580.1", "cuda", compute_capability="8.9")
    machine = Machine(1, 1, 4, (nvidia,), ("nvidia",), "12.8")
    assert host_of(machine, "Linux", "x86_64") == Host(LINUX, X64, (12, 8), ("8.9",), True)
    dark = machine._replace(gpus=(nvidia._replace(driver=""),))
    assert host_of(dark, "Windows", "AMD64") == Host(WINDOWS, X64)
    assert host_of(machine._replace(gpus=()), "Darwin", "arm64") == Host(MACOS, ARM64)
    assert host_of(machine, "Plan9", "mips").system == "plan9"


@pytest.mark.parametrize(("text", "version"), [("12.8", (12, 8)), ("13", (13,)), ("", ()), ("x.y", ()), ("1..2", ())])
def test_versions_compare_as_numbers(text, version):
    """What is no version compares with nothing."""
    assert numbers(text) == version
