"""Installing and pinning an engine that is a Python package."""

import pytest

from blazar.application.engines.install_venv import InstallVenv
from blazar.domain.errors import Conflict, Malformed, RegistryTrouble
from blazar.domain.kinds import EngineKind, Provenance
from blazar.domain.venv_lanes import Site
from tests.fakes.builds import MemoryEngineBuilds
from tests.fakes.clock import FakeClock
from tests.fakes.engines import MemoryEngineCatalog
from tests.fakes.forks import FakeVenvs

PLAIN, GPU = Site("linux", "x86_64", nvidia=False), Site("linux", "x86_64", nvidia=True)
MLX, SGLANG = EngineKind.MLX, EngineKind.SGLANG


class Bench:
    """An empty data folder, an index, and this machine."""

    def __init__(self, site: Site = GPU) -> None:
        self.catalog, self.builds = MemoryEngineCatalog(), MemoryEngineBuilds()
        self.venvs, self.said = FakeVenvs(pins=("mlx==0.32.4", "mlx-lm==0.32.2")), list[str]()
        self.install = InstallVenv(self.catalog, self.builds, self.venvs, FakeClock(), lambda: site, "latest")

    def empty(self) -> bool:
        return not (self.catalog.list_engines() or self.builds.present or self.builds.staged)


def test_an_environment_becomes_a_build() -> None:
    """Made, tried, visible, then a row: with the exact packages, and the words that start it."""
    bench = Bench()
    engine = bench.install(MLX, bench.said.append)
    assert (engine.tag, engine.provenance, engine.version) == ("mlx-lm-0.32.2", Provenance.VENV, "0.32.2")
    assert engine.server_path == "/engines/mlx-lm-0.32.2/bin/python"
    assert engine.command == (engine.server_path, "-m", "mlx_lm", "server")
    assert (engine.source, engine.release, engine.active) == ("mlx==0.32.4 mlx-lm==0.32.2", "0.32.2", True)
    assert bench.venvs.made == [("mlx-lm-0.32.2", ("mlx-lm==0.32.2", "mlx[cuda12]"))]
    assert bench.venvs.tried == [("-m", "mlx_lm", "server", "--model")]
    assert bench.venvs.asked == ["mlx-lm>=0.dev0"]
    assert bench.said == ["Collecting mlx-lm==0.32.2"]
    assert (bench.builds.present, bench.builds.unsettled) == ({"mlx-lm-0.32.2"}, set())


def test_a_tag_is_a_version() -> None:
    """The index is not asked for the newest one then; `-cpu` is the backend."""
    bench = Bench(PLAIN)
    engine = bench.install(MLX, bench.said.append, "mlx-lm-0.31.0-cpu")
    assert (engine.tag, bench.venvs.asked) == ("mlx-lm-0.31.0-cpu", [])
    assert bench.venvs.made[0][1] == ("mlx-lm==0.31.0", "mlx[cpu]")


def test_sglang_gets_its_compiler() -> None:
    """What fits the packages is asked for by the pins of the first step."""
    bench = Bench()
    bench.venvs.version, bench.venvs.pins = "0.5.21", ("sglang==0.5.21", "nvidia-cuda-runtime==13.0.96")
    engine = bench.install(SGLANG, bench.said.append)
    assert (engine.tag, engine.command[1:]) == ("sglang-0.5.21", ("-m", "sglang.launch_server"))
    assert bench.venvs.companions[0] == "nvidia-cuda-nvcc==13.0.*"


@pytest.mark.parametrize(
    ("kind", "site"), [(SGLANG, PLAIN), (SGLANG, Site("windows", "x86_64", nvidia=True)), (MLX, PLAIN)]
)
def test_what_this_machine_cannot_run_is_refused_before_pip_starts(kind: EngineKind, site: Site) -> None:
    """The index is not asked, and nothing is made (setup document)."""
    bench = Bench(site)
    with pytest.raises(Malformed):
        bench.install(kind, bench.said.append)
    assert (bench.venvs.asked, bench.venvs.made, bench.empty()) == ([], [], True)


@pytest.mark.parametrize("step", ["newest", "make", "try_out"])
def test_a_step_that_fails_leaves_nothing(step: str) -> None:
    """Neither a folder nor a row."""
    bench = Bench()
    bench.venvs.trouble[step] = RegistryTrouble("no network")
    with pytest.raises(RegistryTrouble, match="no network"):
        bench.install(MLX, bench.said.append)
    assert bench.empty()
    assert bool(bench.venvs.dropped) is (step == "try_out")


def test_a_catalog_that_refuses_leaves_nothing() -> None:
    """The folder was visible already, and goes again."""

    class Full(MemoryEngineCatalog):
        def add_engine(self, engine: object) -> None:
            raise OSError("disk full")

    bench = Bench()
    install = InstallVenv(Full(), bench.builds, bench.venvs, FakeClock(), lambda: GPU, "latest")
    with pytest.raises(OSError, match="disk full"):
        install(MLX, bench.said.append)
    assert bench.empty()


def test_the_same_version_twice_is_refused_before_it_is_made() -> None:
    """Hundreds of megabytes are not fetched to find that out; one whose folder is gone is made again."""
    bench = Bench()
    bench.install(MLX, bench.said.append)
    with pytest.raises(Conflict, match="installed already"):
        bench.install(MLX, bench.said.append)
    assert len(bench.venvs.made) == 1
    bench.builds.empty.add("mlx-lm-0.32.2")
    bench.builds.present.clear()
    assert bench.install(MLX, bench.said.append).tag == "mlx-lm-0.32.2"
