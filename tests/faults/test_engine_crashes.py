"""kill -9 before every single change to the disk that installing, pruning and removing an engine build makes (contract)."""

import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from blazar.adapters.files.folders import Folders
from blazar.composition.local import Local
from blazar.domain.errors import Conflict, EngineNotFound
from blazar.domain.kinds import EngineKind, Provenance
from blazar.domain.records import Engine
from tests.support.archives import Entry, digest, write_tar
from tests.support.fault_points import killed_before, points

SERVER = b"#!/bin/sh\necho version: 1.0\n"
TREE = [
    Entry("top/llama-server", SERVER, mode=0o755),
    Entry("top/lib/libx.so.1", b"ELF"),
    Entry("top/lib/libx.so", b"libx.so.1", "link"),
]


class House:
    """A data folder with two builds, and an archive of a third."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def local(self) -> Local:
        return Local(Folders(self.folder / "config.toml", self.folder / "data"), {}, lambda _: [])

    def archive(self, tag: str) -> Path:
        return self.folder / f"{tag}.tar.gz"

    def install(self, tag: str) -> None:
        local = self.local()
        engines = local.engines()
        archive = self.archive(tag)
        engines.prune(engines.install(str(archive), digest(archive), tag, EngineKind.LLAMACPP))
        local.close()

    def remove(self, tag: str) -> None:
        local = self.local()
        local.engines().remove(tag)
        local.close()

    def boot(self) -> None:
        """What a daemon does before it is ready."""
        local = self.local()
        local.engine_rows.heal_paths()
        engines = local.engines()
        engines.builds.sweep([row.tag for row in local.engine_rows.list_engines()])
        local.close()

    def rows(self) -> list[Engine]:
        local = self.local()
        rows = [row for row in local.engine_rows.list_engines() if row.provenance is Provenance.ARCHIVE]
        local.close()
        return rows

    def check(self) -> set[str]:
        """Every row has a whole build that runs, every build a row, nothing is left over, one is active; the tags."""
        rows = self.rows()
        for row in rows:
            assert subprocess.run([row.server_path], capture_output=True, timeout=60).stdout == b"version: 1.0\n"
            assert (Path(row.server_path).parent / "lib" / "libx.so").read_bytes() == b"ELF"
        tags = {row.tag for row in rows}
        assert {path.name for path in (self.folder / "data" / "engines").iterdir()} == tags
        assert Counter(row.active for row in rows)[True] == 1
        return tags


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two builds, one of them active."""
    house = House(tmp_path_factory.mktemp("house"))
    for tag in ("b1", "b2", "b3"):
        write_tar(house.archive(tag), TREE)
    house.install("b1")
    house.install("b2")
    assert house.check() == {"b1", "b2"}
    return house.folder


@pytest.fixture
def copies(furnished: Path, tmp_path: Path) -> Callable[[str], House]:
    """A house like it, anew."""

    def copy(name: str) -> House:
        shutil.copytree(furnished, tmp_path / name, symlinks=True)
        return House(tmp_path / name)

    return copy


def test_installing(copies: Callable[[str], House], tmp_path: Path) -> None:
    """Before any of its changes: the builds of before serve, and the next install of that build succeeds, swept before or not."""
    whole = copies("whole")
    steps = points(lambda: whole.install("b3"), tmp_path / "steps")
    assert whole.check() == {"b1", "b2", "b3"}
    kinds = {step.split(" ")[0] for step in steps}
    assert {"open", "os.mkdir", "os.symlink", "os.rename", "subprocess.Popen", "os.remove", "os.rmdir"} <= kinds
    for number in range(len(steps)):
        house = copies(f"house{number}")
        assert killed_before(lambda house=house: house.install("b3"), number), steps[number]  # type: ignore[misc]
        if number % 2:  # a daemon starts in between, or none does
            house.boot()
            assert house.check() >= {"b1", "b2"}, steps[number]
        tags = {row.tag for row in house.rows()}
        assert tags >= {"b1", "b2"}, steps[number]
        if "b3" in tags:  # it stood already
            with pytest.raises(Conflict):
                house.install("b3")
            house.boot()
        else:
            house.install("b3")
        assert house.check() == {"b1", "b2", "b3"}, steps[number]
        shutil.rmtree(house.folder)


def test_removing(copies: Callable[[str], House], tmp_path: Path) -> None:
    """Before any of its changes: the build is whole and listed, or gone; what was asked for can be asked again."""
    whole = copies("whole")
    steps = points(lambda: whole.remove("b1"), tmp_path / "steps")
    assert whole.check() == {"b2"}
    for number in range(len(steps)):
        house = copies(f"house{number}")
        assert killed_before(lambda house=house: house.remove("b1"), number), steps[number]  # type: ignore[misc]
        house.boot()
        if "b1" in house.check():
            house.remove("b1")
        else:
            with pytest.raises(EngineNotFound):
                house.remove("b1")
        assert house.check() == {"b2"}, steps[number]
        shutil.rmtree(house.folder)


def test_pruning(copies: Callable[[str], House], tmp_path: Path) -> None:
    """An install that pushes a build out: the new one stands, and the old one is whole or gone."""
    whole = copies("whole")
    (whole.folder / "config.toml").write_text("keep_tags = 1\n")
    steps = points(lambda: whole.install("b3"), tmp_path / "steps")
    assert whole.check() == {"b1", "b3"}
    renames = [number for number, step in enumerate(steps) if step.startswith("os.rename")]
    for number in range(renames[-1], len(steps)):  # those before are an install's
        house = copies(f"house{number}")
        (house.folder / "config.toml").write_text("keep_tags = 1\n")
        assert killed_before(lambda house=house: house.install("b3"), number), steps[number]  # type: ignore[misc]
        house.boot()
        assert house.check() in ({"b1", "b3"}, {"b1", "b2", "b3"}), steps[number]
        shutil.rmtree(house.folder)


@pytest.mark.parametrize("before", ["subprocess.Popen", "os.remove"])
def test_a_boot_is_killed_too(copies: Callable[[str], House], tmp_path: Path, before: str) -> None:
    """Sweeping what a crash left, staged or visible without a row, is finished by the next one."""
    plan = copies("plan")
    steps = points(lambda: plan.install("b3"), tmp_path / "steps")
    at = max(number for number, step in enumerate(steps) if step.startswith(before))

    def wrecked(name: str) -> House:
        house = copies(name)
        assert killed_before(lambda: house.install("b3"), at)
        return house

    whole = wrecked("whole")
    sweeping = points(whole.boot, tmp_path / "sweeping")
    assert sweeping
    tags = whole.check()
    for number in range(len(sweeping)):
        house = wrecked(f"house{number}")
        assert killed_before(house.boot, number), sweeping[number]
        house.boot()
        assert house.check() == tags
        shutil.rmtree(house.folder)
