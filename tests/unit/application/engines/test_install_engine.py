"""Installing a build."""

import pytest

from blazar.application.engines.install_engine import InstallEngine, Origin
from blazar.application.ports.engines import Archive, Program
from blazar.domain.errors import Conflict, Malformed, NotFound
from blazar.domain.kinds import EngineKind, Provenance
from blazar.domain.records import Engine
from tests.fakes.builds import FakeEngineTrial, MemoryEngineBuilds
from tests.fakes.clock import EPOCH, FakeClock
from tests.fakes.engines import MemoryEngineCatalog, an_engine

ARCHIVES = {"/a.tar.gz": ("b11434", "good"), "/libs.zip": ("libs", "fine")}
PROGRAMS = {
    EngineKind.LLAMACPP: Program("llama-server"),
    EngineKind.MISTRALRS: Program("mistralrs", ("serve",)),
}


def make(
    catalog: MemoryEngineCatalog | None = None, trial: FakeEngineTrial | None = None
) -> tuple[InstallEngine, MemoryEngineCatalog, MemoryEngineBuilds]:
    catalog, builds = catalog or MemoryEngineCatalog(), MemoryEngineBuilds(ARCHIVES)
    return InstallEngine(catalog, builds, trial or FakeEngineTrial(), FakeClock(), PROGRAMS), catalog, builds


def test_a_good_archive_becomes_a_row() -> None:
    """Tag, path, version and time are what was found; the first build of a kind is active."""
    install, catalog, builds = make()
    row = install("/a.tar.gz", "good")
    assert (row.tag, row.kind, row.provenance, row.version) == (
        "b11434",
        EngineKind.LLAMACPP,
        Provenance.ARCHIVE,
        "1.0",
    )
    assert (row.server_path, row.active, row.installed_at) == ("/engines/b11434/llama-server", True, EPOCH)
    assert catalog.find_engine("b11434") == row
    assert (builds.present, builds.staged, builds.unsettled) == ({"b11434"}, set(), set())
    assert row.digest == "good"


def test_it_is_tried_before_it_is_visible() -> None:
    """What is asked for its version is the program under its hidden name (case H14)."""
    trial = FakeEngineTrial()
    install, _, builds = make(trial=trial)
    tried: list[set[str]] = []
    ask = trial.try_out

    def try_out(words: tuple[str, ...], kind: EngineKind = EngineKind.LLAMACPP) -> str:
        tried.append(set(builds.present))
        return ask(words, kind)

    trial.try_out = try_out  # type: ignore[method-assign]
    install("/a.tar.gz", "good")
    assert (trial.tried, tried) == ([("/engines/.b11434/llama-server",)], [set()])


def test_a_kind_starts_with_its_own_words() -> None:
    """The program that its archive holds, what follows it, and a trial of that kind; where it comes from is kept."""
    trial = FakeEngineTrial()
    install, catalog, _ = make(trial=trial)
    origin = Origin(Provenance.FORK, "v0.9.5", "owner/repo@sha", pinned=True, architectures=("qwen3",))
    row = install("/a.tar.gz", "good", "m-1", kind=EngineKind.MISTRALRS, origin=origin)
    assert row.words == ("/engines/m-1/mistralrs", "serve")
    assert trial.kinds == [EngineKind.MISTRALRS]
    assert (row.kind, row.provenance, row.release, row.source, row.pinned, row.architectures) == (
        EngineKind.MISTRALRS,
        *origin,
    )
    assert catalog.find_engine("m-1") == row


def test_libraries_of_another_archive_are_verified_too() -> None:
    """Nothing is installed where one of the archives is not what was promised."""
    install, catalog, _ = make()
    with pytest.raises(Malformed):
        install("/a.tar.gz", "good", beside=(Archive("/libs.zip", "other"),))
    assert catalog.list_engines() == []
    assert install("/a.tar.gz", "good", beside=(Archive("/libs.zip", "fine"),)).tag == "b11434"


def test_a_folder_that_was_built_here_becomes_a_row() -> None:
    """Tried and published as an archive is; it has no digest."""
    install, _, builds = make()
    row = install.adopt("/built", "b1-cpu", origin=Origin(Provenance.BUILT, "b1"))
    assert (row.tag, row.provenance, row.release, row.digest) == ("b1-cpu", Provenance.BUILT, "b1", "")
    assert builds.present == {"b1-cpu"}
    with pytest.raises(Conflict):
        install.adopt("/built", "b1-cpu")


def test_a_row_whose_build_is_gone_is_filled_again() -> None:
    """It is what doctor says to do; the row stays the active one."""
    install, catalog, builds = make(MemoryEngineCatalog([an_engine("b11434", version="old")]))
    with pytest.raises(Conflict):
        install("/a.tar.gz", "good")
    assert builds.staged == set()
    builds.empty.add("b11434")
    row = install("/a.tar.gz", "good", "b11434")
    assert (row.version, row.active) == ("1.0", True)
    assert [one.tag for one in catalog.list_engines()] == ["b11434"]


def test_what_crashes_left_is_swept_first() -> None:
    """Nobody has to start a daemon to get the space back."""
    install, _, builds = make(MemoryEngineCatalog([an_engine("b1")]))
    install("/a.tar.gz", "good")
    assert builds.swept == [["b1"]]


def test_an_official_build_takes_over_from_the_wheel() -> None:
    """The wheel never stays active beside an archive (D20); another archive does."""
    install, catalog, _ = make(MemoryEngineCatalog([an_engine("embedded-1", provenance=Provenance.EMBEDDED)]))
    assert install("/a.tar.gz", "good").active
    install, catalog, _ = make(MemoryEngineCatalog([an_engine("b1")]))
    assert not install("/a.tar.gz", "good").active
    assert catalog.find_engine("b1") is not None


@pytest.mark.parametrize(
    ("archive", "digest", "tag", "kind"),
    [("/b", "good", None, NotFound), ("/a.tar.gz", "", None, Malformed), ("/a.tar.gz", "bad", None, Malformed)],
)
def test_refusals_leave_nothing(archive: str, digest: str, tag: str | None, kind: type[Exception]) -> None:
    """A missing file, a missing or a wrong checksum: an error and no trace."""
    install, catalog, builds = make()
    with pytest.raises(kind):
        install(archive, digest, tag)
    assert (catalog.list_engines(), builds.present, builds.aside) == ([], set(), set())


def test_a_taken_tag_is_refused() -> None:
    """An installed build is never overwritten."""
    install, _, builds = make(MemoryEngineCatalog([an_engine("mine")]))
    with pytest.raises(Conflict, match="installed already"):
        install("/a.tar.gz", "good", "mine")
    assert builds.present == set()


def test_a_build_that_does_not_run_is_removed() -> None:
    """A failing trial leaves neither row nor folder; the sentence names no path that is gone."""
    trial = FakeEngineTrial(broken={"/engines/.b11434/llama-server": "wrong machine"})
    install, catalog, builds = make(trial=trial)
    with pytest.raises(Malformed) as refused:
        install("/a.tar.gz", "good")
    assert str(refused.value) == (
        "engine build 'b11434' cannot be installed: llama-server did not run on this machine: wrong machine; "
        "nothing was installed"
    )
    assert (catalog.list_engines(), builds.present, builds.staged) == ([], set(), set())


def test_a_catalog_that_fails_leaves_no_folder() -> None:
    """When the row cannot be written the folder goes as well, whatever the reason."""

    class Full(MemoryEngineCatalog):
        def add_engine(self, engine: Engine) -> None:
            raise KeyboardInterrupt

    install, _, builds = make(Full())
    with pytest.raises(KeyboardInterrupt):
        install("/a.tar.gz", "good")
    assert (builds.present, builds.aside) == (set(), set())
