"""Which file of a release suits a machine: by system, processor, CUDA that its driver runs, Vulkan. Asks neither network nor disk.

Names of files are the only thing that releases say about them. A name that is not understood is nothing that is chosen by itself;
`engine_asset` may name it all the same.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from blazar.domain import teaching
from blazar.domain.errors import Unserved
from blazar.domain.kinds import EngineKind
from blazar.domain.records import Machine
from blazar.domain.releases import ARCHIVES, Asset

AUTO = "auto"
CPU, CUDA, VULKAN, METAL = "cpu", "cuda", "vulkan", "metal"
LINUX, WINDOWS, MACOS = "linux", "windows", "macos"
X64, ARM64 = "x64", "arm64"

Version = tuple[int, ...]


class Host(NamedTuple):
    """A machine as far as releases tell machines apart.

    `cuda` is the newest version that the driver runs (empty: no NVIDIA driver), `capabilities` are those of its cards ("8.9").
    """

    system: str
    processor: str
    cuda: Version = ()
    capabilities: tuple[str, ...] = ()
    vulkan: bool = False


class Part(NamedTuple):
    """What a file's name says. `flavor` is how it is told apart from its neighbours: "", cuda-12.8, vulkan, sycl-fp16.

    `companion`: no engine, but libraries that go beside the one of the same flavor. `capability`: only cards of this one.
    """

    asset: Asset
    systems: tuple[str, ...]
    processors: tuple[str, ...]
    backend: str
    flavor: str
    version: Version = ()
    capability: str = ""
    companion: bool = False


class Choice(NamedTuple):
    """A file to install, what belongs beside it, how its build is told apart, and why it was chosen."""

    asset: Asset
    companions: tuple[Asset, ...]
    flavor: str
    why: str


def host_of(machine: Machine, system: str, processor: str) -> Host:
    """The machine as the census found it; `system` and `processor` as Python's `platform` names them."""
    nvidia = [gpu for gpu in machine.gpus if gpu.vendor == "nvidia" and gpu.driver]
    return Host(
        _SYSTEMS.get(system.lower(), system.lower()),
        _PROCESSORS.get(processor.lower(), processor.lower()),
        numbers(machine.cuda_version) if nvidia else (),
        tuple(dict.fromkeys(gpu.compute_capability for gpu in nvidia if gpu.compute_capability)),
        bool(machine.vulkan) and any(gpu.driver for gpu in machine.gpus),
    )


_SYSTEMS = {"darwin": MACOS, "win32": WINDOWS}
_PROCESSORS = {"x86_64": X64, "amd64": X64, "aarch64": ARM64, "arm64": ARM64}


def numbers(text: str) -> Version:
    """`12.8` as something that compares."""
    return tuple(int(part) for part in text.split(".")) if re.fullmatch(r"\d{1,4}(\.\d{1,4}){0,3}", text) else ()


def choose(kind: EngineKind, release: str, assets: Iterable[Asset], host: Host, wanted: str = AUTO) -> Choice:
    """The file of a release for this machine. `wanted` is a flavor, a part of a name, or a whole name.

    Raises `Unserved`, whose sentence lists what there is.
    """
    known = [part for asset in assets if asset.name.endswith(ARCHIVES) and (part := _READ[kind](asset))]
    engines = [part for part in known if not part.companion]
    here = [part for part in engines if host.system in part.systems and host.processor in part.processors]
    if wanted == AUTO:
        found, why = _suitable(here, host)
    else:
        found, why = _asked(here, engines, host, wanted), teaching.asset_as_configured(wanted)
    if found is None:
        names = [part.asset.name for part in (here if wanted != AUTO and here else engines)]
        raise Unserved(
            teaching.no_asset_fits(kind.value, release, f"{host.system} {host.processor}", wanted, sorted(names))
        )
    beside = tuple(part.asset for part in known if part.companion and _belongs(part, found))
    return Choice(found.asset, beside, found.flavor, why)


def _belongs(companion: Part, engine: Part) -> bool:
    """sd.cpp names its libraries by the major version alone."""
    shorter = min(len(companion.version), len(engine.version))
    same = companion.version[:shorter] == engine.version[:shorter]
    told = companion.systems == engine.systems and bool(set(companion.processors) & set(engine.processors))
    return told and companion.backend == engine.backend and same


def _suitable(here: Sequence[Part], host: Host) -> tuple[Part | None, str]:
    """What runs fastest of what surely runs: CUDA that the driver supports, else Vulkan, else the processor."""
    cuda = _newest_cuda(here, host)
    if cuda is not None:
        return cuda, teaching.asset_for_cuda(_dotted(host.cuda), _dotted(cuda.version))
    for backend, fits, why in (
        (METAL, host.system == MACOS, teaching.asset_for_metal),
        (VULKAN, host.vulkan, teaching.asset_for_vulkan),
        (CPU, True, teaching.asset_for_cpu),
    ):
        if fits and (found := _first(part for part in here if part.backend == backend)):
            missed = any(part.backend == CUDA for part in here) and bool(host.cuda)
            return found, why() + (teaching.asset_no_cuda(_dotted(host.cuda)) if missed else "")
    return None, ""


def _newest_cuda(here: Iterable[Part], host: Host) -> Part | None:
    """Strictly by what the driver says it runs: a build for a later CUDA may start and fail at its first kernel."""
    fitting = [
        part
        for part in here
        if part.backend == CUDA
        and host.cuda
        and part.version <= host.cuda
        and (not part.capability or host.capabilities[:1] == (part.capability,))
    ]
    return max(fitting, key=lambda part: part.version, default=None)


def _asked(here: Sequence[Part], everywhere: Sequence[Part], host: Host, wanted: str) -> Part | None:
    """A whole name may be for any machine: who writes it out means it. Else a flavor, else a part of a name, of what fits here."""
    if named := _first(part for part in everywhere if part.asset.name == wanted):
        return named
    exact = [part for part in here if wanted in (part.flavor, part.backend)]
    found = exact or [part for part in here if wanted.lower() in part.asset.name.lower()]
    if any(part.backend == CUDA for part in found):
        return _newest_cuda(found, host) or max(found, key=lambda part: part.version)
    return _first(found)


def _first(parts: Iterable[Part]) -> Part | None:
    """The plainest: fewest words in its flavor, then by name."""
    return min(parts, key=lambda part: (len(part.flavor), part.asset.name), default=None)


def _dotted(version: Version) -> str:
    return ".".join(map(str, version))


# ggml-org/llama.cpp: `llama-b11434-bin-ubuntu-cuda-12.8-x64.tar.gz`, `llama-b11434-bin-win-cpu-x64.zip`, and the libraries of a
# CUDA build apart: `cudart-llama-b11434-bin-ubuntu-cuda-12.8-x64.tar.gz`, `cudart-llama-bin-win-cuda-12.4-x64.zip`.
_LLAMACPP = re.compile(
    r"(?P<cudart>cudart-)?llama-(?:(?P<tag>[A-Za-z0-9.]+)-)?bin-(?P<system>ubuntu|linux|macos|win)"
    r"(?:-(?P<backend>[a-z0-9.-]+?))?-(?P<processor>x64|arm64|s390x)\.(?:tar\.gz|zip)"
)
_LLAMACPP_SYSTEMS = {"ubuntu": LINUX, "linux": LINUX, "macos": MACOS, "win": WINDOWS}


def _llamacpp(asset: Asset) -> Part | None:
    match = _LLAMACPP.fullmatch(asset.name)
    if match is None:
        return None
    system, told = _LLAMACPP_SYSTEMS[match["system"]], match["backend"] or CPU
    name, _, version = told.partition("-")
    if name[0].isdigit():  # `ubuntu-26.04-s390x`: for one later system, beside the build for all
        name, version = told, ""
    backend = METAL if system == MACOS and told == CPU else name
    flavor = "" if told == CPU else told
    return Part(
        asset, (system,), (match["processor"],), backend, flavor, numbers(version), companion=bool(match["cudart"])
    )


# EricLBuehler/mistral.rs: `mistralrs-cpu-x86_64-unknown-linux-gnu.tar.gz`, with `-v8_0` for old ARM processors;
# `mistralrs-cuda128-sm89-x86_64-unknown-linux-gnu.tar.gz`, each for one compute capability, libraries included.
_MISTRALRS = re.compile(
    r"mistralrs-(?P<backend>cpu|metal|cuda)(?P<cuda>\d{3})?(?:-sm(?P<sm>\d{2,3}))?-(?P<processor>x86_64|aarch64)-"
    r"(?P<system>unknown-linux-gnu|apple-darwin|pc-windows-msvc)(?P<more>-v8_0)?\.(?:tar\.gz|zip)"
)
_TRIPLES = {"unknown-linux-gnu": LINUX, "apple-darwin": MACOS, "pc-windows-msvc": WINDOWS}


def _mistralrs(asset: Asset) -> Part | None:
    match = _MISTRALRS.fullmatch(asset.name)
    if match is None:
        return None
    backend, cuda, sm = match["backend"], match["cuda"] or "", match["sm"] or ""
    version = (int(cuda[:-1]), int(cuda[-1])) if cuda else ()
    words = [f"cuda-{_dotted(version)}" if version else backend, f"sm{sm}" if sm else "", (match["more"] or "")[1:]]
    flavor = "" if words == [CPU, "", ""] else "-".join(filter(None, words))
    capability = f"{sm[:-1]}.{sm[-1]}" if sm else ""
    system, processor = _TRIPLES[match["system"]], _PROCESSORS[match["processor"]]
    return Part(asset, (system,), (processor,), backend, flavor, version, capability)


# leejet/stable-diffusion.cpp: `sd-master-1d0a58a-bin-Linux-Ubuntu-24.04-x86_64-vulkan.zip`, `sd-master-…-bin-win-cuda12-x64.zip`,
# `sd-master-…-bin-Darwin-macOS-15.7.7-arm64.zip` (for both processors), `cudart-sd-bin-win-cu12-x64.zip`.
_SDCPP = re.compile(
    r"sd-[A-Za-z0-9._-]+?-bin-(?:(?P<system>Linux|Darwin)-[A-Za-z]+-[0-9.]+-(?P<processor>x86_64|aarch64|arm64)"
    r"(?:-(?P<backend>[a-z0-9.-]+))?|win-(?P<winback>[a-z0-9.-]+?)-(?P<winproc>x64|arm64))\.zip"
)
_SDCPP_LIBRARIES = re.compile(r"cudart-sd-bin-win-cu(?P<version>\d+)-(?P<processor>x64|arm64)\.zip")
_NUMBERED = re.compile(r"cuda-?(\d+(?:\.\d+)?)")


def _sdcpp(asset: Asset) -> Part | None:
    libraries = _SDCPP_LIBRARIES.fullmatch(asset.name)
    if libraries is not None:
        version = numbers(libraries["version"])
        return Part(asset, (WINDOWS,), (libraries["processor"],), CUDA, CUDA, version, companion=True)
    match = _SDCPP.fullmatch(asset.name)
    if match is None:
        return None
    told = match["backend"] or match["winback"] or CPU
    cuda = _NUMBERED.fullmatch(told)
    backend = CUDA if cuda else told.partition("-")[0]
    flavor = "" if told == CPU else told
    version = numbers(cuda[1]) if cuda else ()
    if match["system"] == "Darwin":
        return Part(asset, (MACOS,), (X64, ARM64), METAL if told == CPU else backend, flavor, version)
    system = LINUX if match["system"] else WINDOWS
    processor = _PROCESSORS.get(match["processor"] or match["winproc"], match["winproc"])
    return Part(asset, (system,), (processor,), backend, flavor, version)


_READ: dict[EngineKind, Callable[[Asset], Part | None]] = {
    EngineKind.LLAMACPP: _llamacpp,
    EngineKind.MISTRALRS: _mistralrs,
    EngineKind.SDCPP: _sdcpp,
}
