"""Installing a build."""

import pytest

from blazar.application.engines.install_engine import InstallEngine
from blazar.domain.errors import Conflict, Malformed, NotFound
from blazar.domain.kinds import EngineKind, Provenance
from blazar.domain.records import Engine
from tests.fakes.builds import FakeEngineTrial, MemoryEngineBuilds
from tests.fakes.clock import EPOCH, FakeClock
from tests.fakes.engines import MemoryEngineCatalog, an_engine

ARCHIVES = {"/a.tar.gz": ("b11434", "good")}


def make(
    catalog: MemoryEngineCatalog | None = None, trial: FakeEngineTrial | None = None
) -> tuple[InstallEngine, MemoryEngineCatalog, MemoryEngineBuilds]:
    catalog, builds = catalog or MemoryEngineCatalog(), MemoryEngineBuilds(ARCHIVES)
    return InstallEngine(catalog, builds, trial or FakeEngineTrial(), FakeClock()), catalog, builds


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
    assert builds.present == {"b11434"}


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
    """A failing trial leaves neither row nor folder."""
    trial = FakeEngineTrial(broken={"/engines/b11434/llama-server": "wrong machine"})
    install, catalog, builds = make(trial=trial)
    with pytest.raises(Malformed, match="wrong machine"):
        install("/a.tar.gz", "good")
    assert (catalog.list_engines(), builds.present, builds.aside) == ([], set(), set())


def test_a_catalog_that_fails_leaves_no_folder() -> None:
    """When the row cannot be written the folder goes as well, whatever the reason."""

    class Full(MemoryEngineCatalog):
        def add_engine(self, engine: Engine) -> None:
            raise KeyboardInterrupt

    install, _, builds = make(Full())
    with pytest.raises(KeyboardInterrupt):
        install("/a.tar.gz", "good")
    assert (builds.present, builds.aside) == (set(), set())
