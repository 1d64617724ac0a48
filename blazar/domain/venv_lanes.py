"""Engines that are Python packages: what is asked of the package index for which machine, and what is refused before it is asked."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.harmless import harmless
from blazar.domain.kinds import EngineKind

CPU, CUDA, METAL = "cpu", "cuda", "metal"
LOCK = "requirements.lock"
"""The pins, in a file of the build's folder."""


class Site(NamedTuple):
    """What decides between packages: `system` is linux, darwin or windows, `machine` x86_64 or arm64, `nvidia` a usable GPU."""

    system: str
    machine: str
    nvidia: bool


class VenvLane(NamedTuple):
    """One project. `serves` are the words after `python` that make it serve, `knows` a flag that its help must list.

    `extras` are requirements beside the package by backend; the first backend of a site is what is taken by itself.
    """

    kind: EngineKind
    package: str
    serves: tuple[str, ...]
    knows: str
    extras: dict[str, tuple[str, ...]]


MLX = VenvLane(
    EngineKind.MLX,
    "mlx-lm",
    ("-m", "mlx_lm", "server"),
    "--model",
    # mlx-lm asks for mlx itself on Apple systems alone (its metadata, 0.32.2).
    {METAL: (), CUDA: ("mlx[cuda12]",), CPU: ("mlx[cpu]",)},
)
SGLANG = VenvLane(EngineKind.SGLANG, "sglang", ("-m", "sglang.launch_server"), "--model-path", {CUDA: ()})
LANES: dict[EngineKind, VenvLane] = {lane.kind: lane for lane in (MLX, SGLANG)}

_VERSION = re.compile(r"\d[A-Za-z0-9.!+]{0,40}")
_PIN = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)(?:==(?P<version>\S+)| @ \S+)")


class Order(NamedTuple):
    """What is to be made: an environment of that tag, with these requirements."""

    lane: VenvLane
    version: str
    backend: str
    tag: str

    @property
    def requirements(self) -> tuple[str, ...]:
        return (f"{self.lane.package}=={self.version}", *self.lane.extras[self.backend])


def backend_for(kind: EngineKind, site: Site, wanted: str | None = None) -> str:
    """What it will compute on. Raises `Malformed` with the sentence that says what this machine lacks.

    ODD: the processor is never taken by itself (D22): who installs an engine for graphics cards expects one to be used.
    """
    lane = LANES[kind]
    if wanted is not None and wanted not in lane.extras:
        raise Malformed(teaching.venv_backend_unknown(kind, wanted, list(lane.extras)), "backend")
    if kind is EngineKind.SGLANG:
        if site.system != "linux":
            raise Malformed(teaching.sglang_needs_linux(), "kind")
        if not site.nvidia:
            raise Malformed(teaching.sglang_needs_cuda(), "kind")
        return CUDA
    return _mlx_backend(site, wanted)


def _mlx_backend(site: Site, wanted: str | None) -> str:
    if site.system == "windows":
        raise Malformed(teaching.mlx_on_windows(), "kind")
    if site.system == "darwin":
        if site.machine != "arm64":
            raise Malformed(teaching.mlx_needs_apple_silicon(), "kind")
        if wanted not in (None, METAL):
            raise Malformed(teaching.venv_backend_unknown(EngineKind.MLX, str(wanted), [METAL]), "backend")
        return METAL
    if wanted == METAL:
        raise Malformed(teaching.venv_backend_unknown(EngineKind.MLX, METAL, [CUDA, CPU]), "backend")
    if wanted == CPU:
        return CPU
    if not site.nvidia:
        raise Malformed(teaching.mlx_needs_gpu(), "kind")
    return CUDA


def order_for(kind: EngineKind, version: str, backend: str) -> Order:
    """The environment of one version; the exception of the processor shows in its name."""
    lane = LANES[kind]
    suffix = "-cpu" if backend == CPU else ""
    return Order(lane, version, backend, f"{lane.package}-{version.replace('!', '_').replace('+', '_')}{suffix}")


def version_in(kind: EngineKind, tag: str) -> tuple[str, str | None]:
    """Version and backend that a person asks for by a tag (`mlx-lm-0.32.2-cpu`) or a bare version. Raises `Malformed`."""
    version = tag.removeprefix(f"{LANES[kind].package}-")
    backend = CPU if version.endswith("-cpu") else None
    version = version.removesuffix("-cpu")
    if not _VERSION.fullmatch(version):
        raise Malformed(teaching.venv_bad_version(kind, harmless(tag)[:80], LANES[kind].package), "tag")
    return version, backend


def wanted_package(kind: EngineKind, channel: str) -> str:
    """The requirement whose newest version an update takes.

    A bound that is itself a pre-release lets pip take pre-releases of this package and of no other one (PEP 440).
    """
    package = LANES[kind].package
    return package if channel == "stable" else f"{package}>=0.dev0"


def read_pins(frozen: str) -> tuple[str, ...]:
    """The lines of `pip freeze`, without remarks and what is no pin."""
    lines = (line.strip() for line in frozen.splitlines())
    return tuple(line for line in lines if _PIN.fullmatch(line))


def pinned_version(pins: Sequence[str], package: str) -> str:
    """What of a package is there, "" where it is not."""
    wanted = _plain(package)
    found = (_PIN.fullmatch(pin) for pin in pins)
    return next((one["version"] or "" for one in found if one is not None and _plain(one["name"]) == wanted), "")


def companions(kind: EngineKind, pins: Sequence[str]) -> tuple[str, ...]:
    """What has to be added to fit what was installed: SGLang compiles kernels, with the compiler of the very CUDA that torch has.

    Its three packages are released together, and a mixture of two releases compiles nothing.
    """
    runtime = re.match(r"(\d+\.\d+)\.", pinned_version(pins, "nvidia-cuda-runtime"))
    if kind is not EngineKind.SGLANG or runtime is None:
        return ()
    return tuple(f"{name}=={runtime[1]}.*" for name in ("nvidia-cuda-nvcc", "nvidia-cuda-crt", "nvidia-nvvm"))


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
