"""Engines that are Python packages."""

import pytest

from blazar.domain.errors import Malformed
from blazar.domain.kinds import EngineKind
from blazar.domain.venv_lanes import (
    LANES,
    Site,
    backend_for,
    companions,
    order_for,
    pinned_version,
    read_pins,
    version_in,
    wanted_package,
)

MLX, SGLANG = EngineKind.MLX, EngineKind.SGLANG
GPU, PLAIN = Site("linux", "x86_64", nvidia=True), Site("linux", "x86_64", nvidia=False)
MAC, OLD_MAC, WINDOWS = (
    Site("darwin", "arm64", nvidia=False),
    Site("darwin", "x86_64", nvidia=False),
    Site("windows", "x86_64", nvidia=True),
)


@pytest.mark.parametrize(
    ("kind", "site", "wanted", "backend"),
    [
        (MLX, GPU, None, "cuda"),
        (MLX, GPU, "cpu", "cpu"),
        (MLX, PLAIN, "cpu", "cpu"),
        (MLX, MAC, None, "metal"),
        (MLX, MAC, "metal", "metal"),
        (SGLANG, GPU, None, "cuda"),
        (SGLANG, GPU, "cuda", "cuda"),
    ],
)
def test_what_an_engine_computes_on(kind: EngineKind, site: Site, wanted: str | None, backend: str) -> None:
    """The graphics card by itself, the processor only where somebody says so (D22)."""
    assert backend_for(kind, site, wanted) == backend


@pytest.mark.parametrize(
    ("kind", "site", "wanted", "said"),
    [
        (MLX, PLAIN, None, "--backend cpu"),
        (MLX, PLAIN, "cuda", "NVIDIA GPU"),
        (MLX, WINDOWS, None, "WSL2"),
        (MLX, WINDOWS, "cpu", "WSL2"),
        (MLX, OLD_MAC, None, "Apple Silicon"),
        (MLX, MAC, "cuda", "--backend metal"),
        (MLX, GPU, "metal", "--backend cuda or cpu"),
        (MLX, GPU, "rocm", "does not compute on 'rocm'"),
        (SGLANG, PLAIN, None, "needs an NVIDIA GPU"),
        (SGLANG, GPU, "cpu", "--backend cuda"),
        (SGLANG, MAC, None, "Linux or WSL2"),
        (SGLANG, WINDOWS, None, "uvloop"),
    ],
)
def test_what_a_machine_cannot_run_is_refused(kind: EngineKind, site: Site, wanted: str | None, said: str) -> None:
    """Before pip starts, with what to do instead (setup document)."""
    with pytest.raises(Malformed) as refused:
        backend_for(kind, site, wanted)
    assert said in str(refused.value)


def test_odd_the_processor_is_never_taken_by_itself() -> None:
    """D22: not even where there is nothing else."""
    with pytest.raises(Malformed):
        backend_for(MLX, PLAIN)


def test_orders() -> None:
    """Package and what computes, pinned to a version, and a tag that says the exception."""
    cpu, cuda, sglang = (
        order_for(MLX, "0.32.2", "cpu"),
        order_for(MLX, "0.32.2", "cuda"),
        order_for(SGLANG, "0.5.21", "cuda"),
    )
    assert (cpu.tag, cpu.requirements) == ("mlx-lm-0.32.2-cpu", ("mlx-lm==0.32.2", "mlx[cpu]"))
    assert (cuda.tag, cuda.requirements) == ("mlx-lm-0.32.2", ("mlx-lm==0.32.2", "mlx[cuda12]"))
    assert (sglang.tag, sglang.requirements) == ("sglang-0.5.21", ("sglang==0.5.21",))
    assert order_for(MLX, "0.32.2", "metal").requirements == ("mlx-lm==0.32.2",)
    assert order_for(MLX, "1!0.3+local", "cuda").tag == "mlx-lm-1_0.3_local"


@pytest.mark.parametrize(
    ("tag", "found"),
    [("mlx-lm-0.32.2", ("0.32.2", None)), ("mlx-lm-0.32.2-cpu", ("0.32.2", "cpu")), ("0.32.2", ("0.32.2", None))],
)
def test_a_tag_names_a_version(tag: str, found: tuple[str, str | None]) -> None:
    """As `engine list` shows it, or the bare version."""
    assert version_in(MLX, tag) == found


@pytest.mark.parametrize("tag", ["", "latest", "b11434", "sglang-0.5.21", "0.3; rm", "0.3 --index-url x", "0.3\n"])
def test_a_tag_of_something_else(tag: str) -> None:
    """It becomes a word of pip's."""
    with pytest.raises(Malformed, match="names no version of mlx"):
        version_in(MLX, tag)


def test_channels() -> None:
    """Pre-releases of the package itself on the latest one, of what it depends on never."""
    assert (wanted_package(MLX, "stable"), wanted_package(MLX, "latest")) == ("mlx-lm", "mlx-lm>=0.dev0")


def test_pins() -> None:
    """Exact versions and addresses count, remarks and what could be another thing tomorrow do not."""
    text = "# remark\nmlx==0.32.4\n-e /somewhere\nmlx_lm==0.32.2\nx @ file:///a/b.whl\nloose>=1\n\n"
    assert read_pins(text) == ("mlx==0.32.4", "mlx_lm==0.32.2", "x @ file:///a/b.whl")
    assert pinned_version(read_pins(text), "mlx-lm") == "0.32.2"
    assert (pinned_version(read_pins(text), "x"), pinned_version((), "x")) == ("", "")


def test_a_compiler_comes_with_sglang() -> None:
    """Three packages of the very CUDA that torch brought: they are released together."""
    pins = ("torch==2.14.1", "nvidia-cuda-runtime==13.0.96")
    names = ("nvidia-cuda-nvcc", "nvidia-cuda-crt", "nvidia-nvvm")
    assert companions(SGLANG, pins) == tuple(f"{name}==13.0.*" for name in names)
    assert companions(MLX, pins) == ()
    assert companions(SGLANG, ("torch==2.14.1",)) == ()


def test_what_is_started() -> None:
    """As the projects start their servers; the other spelling of mlx-lm's is deprecated."""
    assert LANES[MLX].serves == ("-m", "mlx_lm", "server")
    assert LANES[SGLANG].serves == ("-m", "sglang.launch_server")
