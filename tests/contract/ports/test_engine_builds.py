"""What every place for engine builds must do, in memory and on disk."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from blazar.adapters.engines.builds import ArchiveBuilds
from blazar.adapters.hardware.processes import SystemProcesses
from blazar.application.ports.engines import EngineBuilds
from blazar.domain.errors import Conflict, Malformed, NotFound
from tests.fakes.builds import MemoryEngineBuilds
from tests.support.archives import Entry, digest, write_tar


class Case(NamedTuple):
    builds: EngineBuilds
    archive: str
    sha256: str
    there: Callable[[str], bool]


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


def test_unpacking_makes_it_visible(case: Case) -> None:
    """Tag and absolute path of the server come back, and the build is there."""
    tag, server = case.builds.unpack(case.archive, None, case.sha256)
    assert (tag, server.startswith("/"), server.endswith("/b7777/llama-server")) == ("b7777", True, True)
    assert case.there("b7777")


def test_a_given_tag_wins(case: Case) -> None:
    """`--tag` overrides the archive's own."""
    assert case.builds.unpack(case.archive, "mine", case.sha256)[0] == "mine"
    assert case.there("mine")
    assert not case.there("b7777")


@pytest.mark.parametrize(("archive", "sha256"), [(None, ""), (None, "00"), ("/nothing/here", "aa")])
def test_a_refusal_leaves_nothing(case: Case, archive: str | None, sha256: str) -> None:
    """Missing file, missing or wrong checksum: nothing is visible afterwards."""
    with pytest.raises((Malformed, NotFound)):
        case.builds.unpack(archive or case.archive, None, sha256)
    assert not case.there("b7777")


def test_a_tag_is_unpacked_once(case: Case) -> None:
    """A second unpack of the same tag is a conflict."""
    case.builds.unpack(case.archive, None, case.sha256)
    with pytest.raises(Conflict):
        case.builds.unpack(case.archive, None, case.sha256)
    assert case.there("b7777")


def test_aside_and_back(case: Case) -> None:
    """Set aside it is not there; restored it is; set aside and discarded it is gone for good."""
    case.builds.unpack(case.archive, None, case.sha256)
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
    case.builds.unpack(case.archive, None, case.sha256)
    case.builds.set_aside("b7777")
    case.builds.sweep(["b7777"] if known else [])
    assert case.there("b7777") is known
