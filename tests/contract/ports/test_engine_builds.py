"""What every place for engine builds must do, in memory and on disk."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from blazar.adapters.engines.builds import ArchiveBuilds
from blazar.adapters.hardware.processes import SystemProcesses
from blazar.application.ports.engines import Archive, EngineBuilds, Staged
from blazar.domain.errors import Conflict, Malformed, NotFound
from tests.fakes.builds import MemoryEngineBuilds
from tests.support.archives import Entry, digest, write_tar


class Case(NamedTuple):
    builds: EngineBuilds
    archive: str
    sha256: str
    there: Callable[[str], bool]

    def stage(self, tag: str | None = None, archive: str = "", sha256: str | None = None) -> Staged:
        return self.builds.stage(
            (Archive(archive or self.archive, self.sha256 if sha256 is None else sha256),), tag, "llama-server"
        )

    def install(self, tag: str | None = None) -> tuple[str, str]:
        staged = self.stage(tag)
        server = self.builds.publish(staged)
        self.builds.settle(staged.tag)
        return staged.tag, server


def on_disk(folder: Path) -> Case:
    archive = write_tar(folder / "llama-b7777.tar.gz", [Entry("top/llama-server", b"x", mode=0o755)])
    engines = folder / "engines"
    return Case(
        ArchiveBuilds(engines, SystemProcesses()), str(archive), digest(archive), lambda tag: (engines / tag).is_dir()
    )


def in_memory(_: Path) -> Case:
    builds = MemoryEngineBuilds({"/a": ("b7777", "aa")})
    return Case(builds, "/a", "aa", lambda tag: tag in builds.present)


@pytest.fixture(params=[in_memory, on_disk], ids=["memory", "disk"])
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Case:
    made: Case = request.param(tmp_path)
    return made


def test_publishing_makes_it_visible(case: Case) -> None:
    """Tag and absolute path of the server come back, and the build is there; before that it is not."""
    assert case.stage().server.endswith("/llama-server")
    assert not case.there("b7777")
    tag, server = case.install()
    assert (tag, server.startswith("/"), server.endswith("/b7777/llama-server")) == ("b7777", True, True)
    assert case.there("b7777")


def test_a_given_tag_wins(case: Case) -> None:
    """`--tag` overrides the archive's own."""
    assert case.install("mine")[0] == "mine"
    assert case.there("mine")
    assert not case.there("b7777")


@pytest.mark.parametrize(("archive", "sha256"), [(None, ""), (None, "00"), ("/nothing/here", "aa")])
def test_a_refusal_leaves_nothing(case: Case, archive: str | None, sha256: str) -> None:
    """Missing file, missing or wrong checksum: nothing is visible afterwards."""
    with pytest.raises((Malformed, NotFound)):
        case.stage(None, archive or "", sha256)
    assert not case.there("b7777")


def test_a_tag_is_unpacked_once(case: Case) -> None:
    """A second build of the same tag is a conflict."""
    case.install()
    staged = case.stage()
    with pytest.raises(Conflict):
        case.builds.publish(staged)
    case.builds.unstage(staged)
    assert case.there("b7777")


def test_aside_and_back(case: Case) -> None:
    """Set aside it is not there; restored it is; set aside and discarded it is gone for good."""
    case.install()
    assert case.builds.set_aside("b7777")
    assert not case.there("b7777")
    case.builds.restore("b7777")
    assert case.there("b7777")
    assert case.builds.set_aside("b7777")
    case.builds.discard("b7777")
    case.builds.restore("b7777")
    assert not case.there("b7777")


def test_what_has_no_folder_is_not_set_aside(case: Case) -> None:
    """False, and restoring or discarding it does nothing."""
    assert not case.builds.set_aside("b1")
    case.builds.restore("b1")
    case.builds.discard("b1")
    assert not case.there("b1")


@pytest.mark.parametrize("known", [True, False])
def test_a_sweep_decides_by_the_rows(case: Case, known: bool) -> None:
    """After a crash between aside and row, the build is back exactly if its row still stands."""
    case.install()
    case.builds.set_aside("b7777")
    case.builds.sweep(["b7777"] if known else [])
    assert case.there("b7777") is known


@pytest.mark.parametrize("known", [True, False])
def test_a_sweep_takes_what_was_published_and_never_entered(case: Case, known: bool) -> None:
    """A crash between the rename and the row: nobody uses it. One between the row and the mark: it is a build."""
    case.builds.publish(case.stage())
    case.builds.sweep(["b7777"] if known else [])
    assert case.there("b7777") is known
    case.builds.sweep([])
    assert case.there("b7777") is known


def test_what_was_published_and_never_entered_is_replaced(case: Case) -> None:
    """The next install of the tag needs no removal first."""
    case.builds.publish(case.stage())
    assert case.install()[0] == "b7777"
    assert case.there("b7777")


def test_what_was_staged_can_be_dropped(case: Case) -> None:
    """Nothing is visible then, and the tag is free."""
    case.builds.unstage(case.stage())
    assert not case.there("b7777")
    assert case.install()[0] == "b7777"
