"""Updating an engine that is a Python package."""

from dataclasses import replace

import pytest

from blazar.application.engines.update_venv import UpdateVenv
from blazar.domain.errors import Conflict, NotFound, RegistryTrouble
from blazar.domain.kinds import EngineKind
from tests.unit.application.engines.test_install_venv import PLAIN, Bench

MLX = EngineKind.MLX


def installed(bench: Bench, backend: str | None = None) -> UpdateVenv:
    bench.install(MLX, bench.said.append, backend=backend)
    return UpdateVenv(bench.install)


def test_a_newer_version_comes_beside_and_serves() -> None:
    """The old one stays, to go back to."""
    bench = Bench()
    update = installed(bench)
    bench.venvs.version = "0.33.0"
    done = update(MLX, bench.said.append)
    assert (done.changed, done.now.tag, done.now.active, done.before.tag) == (
        True,
        "mlx-lm-0.33.0",
        True,
        "mlx-lm-0.32.2",
    )
    assert bench.builds.present == {"mlx-lm-0.32.2", "mlx-lm-0.33.0"}
    assert done.now.used_at > 0


def test_nothing_newer_makes_nothing() -> None:
    """One question to the index."""
    bench = Bench()
    update = installed(bench)
    done = update(MLX, bench.said.append)
    assert (done.changed, len(bench.venvs.made)) == (False, 1)


def test_what_serves_by_the_processor_stays_on_it() -> None:
    """Also where no graphics card is, which a new install would be refused for (D22)."""
    bench = Bench(PLAIN)
    update = installed(bench, "cpu")
    bench.venvs.version = "0.33.0"
    assert update(MLX, bench.said.append).now.tag == "mlx-lm-0.33.0-cpu"


def test_a_version_that_is_there_is_only_chosen() -> None:
    """After a rollback nothing is fetched twice."""
    bench = Bench()
    update = installed(bench)
    bench.venvs.version = "0.33.0"
    update(MLX, bench.said.append)
    bench.catalog.set_active(MLX, "mlx-lm-0.32.2")
    done = update(MLX, bench.said.append)
    assert (done.now.tag, len(bench.venvs.made)) == ("mlx-lm-0.33.0", 2)


def test_a_pinned_one_is_left_alone() -> None:
    """The index is not asked."""
    bench = Bench()
    update = installed(bench)
    bench.catalog.amend_engine("mlx-lm-0.32.2", lambda row: replace(row, pinned=True))
    asked = list(bench.venvs.asked)
    with pytest.raises(Conflict, match="pinned"):
        update(MLX, bench.said.append)
    assert bench.venvs.asked == asked


def test_without_one_there_is_nothing_to_update() -> None:
    """An update installs no engine that nobody wanted."""
    with pytest.raises(NotFound, match=r"--kind mlx \(with --backend cpu"):
        UpdateVenv(Bench().install)(MLX, print)


def test_a_failed_update_leaves_what_serves() -> None:
    """As before, and active."""
    bench = Bench()
    update = installed(bench)
    bench.venvs.version = "0.33.0"
    bench.venvs.trouble["try_out"] = RegistryTrouble("it does not start")
    with pytest.raises(RegistryTrouble):
        update(MLX, bench.said.append)
    (row,) = bench.catalog.list_engines()
    assert (row.tag, row.active) == ("mlx-lm-0.32.2", True)
