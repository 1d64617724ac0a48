"""kill -9 before every single change to the disk that installing, pruning and removing an engine build makes (contract)."""

import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from blazar.adapters.files.folders import Folders
from blazar.composition.local import Local
from blazar.domain.errors import Conflict, EngineNotFound
from blazar.domain.kinds import EngineKind, Provenance
from blazar.domain.records import Engine
from tests.support.archives import Entry, digest, write_tar
from tests.support.fault_points import killed_before, overtaken, points
from tests.support.release_feed import REPOSITORY, ReleaseHost, asset, release

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
        return Local(Folders(self.folder / "config.toml", self.folder / "blazar"), {}, lambda _: [])

    def archive(self, tag: str) -> Path:
        return self.folder / f"{tag}.tar.gz"

    def install(self, tag: str) -> None:
        local = self.local()
        engines = local.engines()
        archive = self.archive(tag)
        engines.prune(engines.install(str(archive), digest(archive), tag, EngineKind.LLAMACPP))
        local.close()

    def update(self, base: str) -> None:
        """To the newest release of the feed at `base`."""
        local = self.local()
        local.env = {**local.env, "BLAZAR_GH_BASE": base}
        local.engines().update(EngineKind.LLAMACPP, lambda *_: None, lambda _: None, gate=True)
        local.close()

    def adopt(self, tag: str) -> None:
        """A build that was made here, and its folder."""
        local = self.local()
        local.engines().installer.adopt(str(self.make()), tag)
        local.close()

    def make(self) -> Path:
        """As a compiler leaves it, beside the builds."""
        folder = self.folder / "made"
        (folder / "lib").mkdir(parents=True, exist_ok=True)
        (folder / "llama-server").write_bytes(SERVER)
        (folder / "lib" / "libx.so").write_bytes(b"ELF")
        return folder

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
        assert {path.name for path in (self.folder / "blazar" / "engines").iterdir()} == tags
        assert Counter(row.active for row in rows)[True] == 1
        return tags

    def engine(self, *words: str) -> None:
        """An engine verb, by a process of its own."""
        env = {"PATH": os.environ["PATH"], "HOME": str(self.folder)}
        env |= {"XDG_CONFIG_HOME": str(self.folder / "config"), "XDG_DATA_HOME": str(self.folder)}
        done = subprocess.run(
            [sys.executable, "-m", "blazar", "engine", *words], env=env, capture_output=True, timeout=60
        )
        assert done.returncode == 0, done.stderr


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


@pytest.fixture
def feed(furnished: Path) -> Iterator[ReleaseHost]:
    """Of one release, b3."""
    host, name = ReleaseHost(), "llama-b3-bin-linux-x64.tar.gz"
    data = House(furnished).archive("b3").read_bytes()
    host.publish([release("b3", asset(name, host.add(f"/{name}", data), data))], REPOSITORY)
    yield host
    host.close()


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")  # the feed's threads hold nothing of ours
def test_updating(copies: Callable[[str], House], tmp_path: Path, feed: ReleaseHost) -> None:
    """Before any change of a download, an installation and the new choice: one of the two is active, and the next update succeeds."""
    whole = copies("whole")
    steps = points(lambda: whole.update(feed.url), tmp_path / "steps")
    assert whole.check() == {"b1", "b2", "b3"}
    assert any("downloads" in step for step in steps)
    for number in range(len(steps)):
        house = copies(f"house{number}")
        assert killed_before(lambda house=house: house.update(feed.url), number), steps[number]  # type: ignore[misc]
        if number % 2:  # a daemon starts in between, or none does
            house.boot()
            assert house.check() >= {"b1", "b2"}, steps[number]
        assert [row.tag for row in house.rows() if row.active] in (["b1"], ["b2"], ["b3"]), steps[number]
        house.update(feed.url)
        house.boot()
        assert house.check() == {"b1", "b2", "b3"}, steps[number]
        assert [row.tag for row in house.rows() if row.active] == ["b3"], steps[number]
        assert list((house.folder / "blazar" / "downloads").iterdir()) == [], steps[number]
        shutil.rmtree(house.folder)


def test_a_build_that_was_made_here(copies: Callable[[str], House], tmp_path: Path) -> None:
    """Compiled, or an environment of Python packages: whole and listed, or made once more."""
    whole = copies("whole")
    steps = points(lambda: whole.adopt("b3"), tmp_path / "steps")
    assert whole.check() == {"b1", "b2", "b3"}
    for number in range(len(steps)):
        house = copies(f"house{number}")
        assert killed_before(lambda house=house: house.adopt("b3"), number), steps[number]  # type: ignore[misc]
        house.boot()
        if "b3" not in house.check():
            house.adopt("b3")
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


def _puts_aside(event: str, args: tuple[object, ...]) -> bool:
    return event == "os.rename" and ".aside-" in str(args[1])


def test_two_removals_at_once_leave_one_build(copies: Callable[[str], House]) -> None:
    """Each alone may go; the one that decides last finds itself the last one, and is put back."""
    house = copies("house")

    def remove() -> None:
        with pytest.raises(Conflict, match="'b1' is the only llamacpp build"):
            house.remove("b1")

    overtaken(remove, _puts_aside, lambda: house.engine("rm", "b2"))
    assert house.check() == {"b1"}


def test_two_removals_of_the_same_build_leave_nothing_of_it(copies: Callable[[str], House]) -> None:
    """The slower one has nothing to put back."""
    house = copies("house")
    overtaken(lambda: house.remove("b1"), _puts_aside, lambda: house.engine("rm", "b1"))
    assert house.check() == {"b2"}


def test_pruning_leaves_what_is_chosen_meanwhile(copies: Callable[[str], House]) -> None:
    """A person makes the build active that an install is about to delete."""
    house = copies("house")
    (house.folder / "config.toml").write_text("keep_tags = 1\n")
    overtaken(lambda: house.install("b3"), _puts_aside, lambda: house.engine("use", "b2"))
    assert house.check() == {"b1", "b2", "b3"}
    assert [row.tag for row in house.rows() if row.active] == ["b2"]
