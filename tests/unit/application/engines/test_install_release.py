"""Installing from a release."""

from dataclasses import replace

import pytest

from blazar.domain.errors import BlazarError, Conflict, Malformed, RegistryTrouble, StoreTrouble
from blazar.domain.kinds import EngineKind, Provenance
from blazar.domain.records import Gpu
from blazar.domain.releases import Asset
from tests.fakes.engines import an_engine
from tests.fakes.hardware import a_machine
from tests.support.releasing import FOLDER, Rig, build, digest_of

KIND = EngineKind.LLAMACPP


def test_a_release_becomes_a_build() -> None:
    """Verified by the feed's digest, with where it came from in its row; the download is gone."""
    rig = Rig([build(11430)])
    done = rig.install(KIND, None, None, None, rig.tell)
    row = done.engine
    assert not done.already
    assert (row.tag, row.release, row.provenance, row.active) == ("b11430", "b11430", Provenance.ARCHIVE, True)
    assert row.source == "http://host/llama-b11430-bin-ubuntu-x64.tar.gz"
    assert row.digest == digest_of(11430)
    assert rig.told == [("llama-b11430-bin-ubuntu-x64.tar.gz", 1000, 1000)]
    assert rig.forgotten == [f"{FOLDER}/{digest_of(11430)[:12]}-llama-b11430-bin-ubuntu-x64.tar.gz"]


def test_libraries_are_installed_beside_it() -> None:
    """Of the same CUDA, each verified by its own digest."""
    cuda = build(11430, flavor="-cuda-12.8")
    name = "cudart-llama-b11430-bin-ubuntu-cuda-12.8-x64.tar.gz"
    libraries = Asset(name, "http://host/libs", 500, "b" * 64)
    rig = Rig([cuda._replace(assets=(*cuda.assets, libraries))])
    card = Gpu(0, "card", "nvidia", 8, 8, "580.1", "cuda", compute_capability="8.9")
    rig.census.machine = a_machine(gpus=[card])._replace(cuda_version="12.9")
    assert rig.install(KIND, None, None, None, rig.tell).engine.tag == "b11430-cuda-12.8"
    assert [one.name for one in rig.downloads.wanted] == [cuda.assets[0].name, name]
    assert len(rig.forgotten) == 2


def test_an_installed_one_is_not_fetched_again() -> None:
    """It is simply there; what a crash right after its row left of the download goes."""
    rig = Rig([build(11430)])
    rig.catalog.add_engine(an_engine("b11430", digest=digest_of(11430)))
    assert rig.install(KIND, None, None, None, rig.tell).already
    assert rig.downloads.wanted == []
    assert rig.forgotten == [f"{FOLDER}/{digest_of(11430)[:12]}-llama-b11430-bin-ubuntu-x64.tar.gz"]


def test_a_file_without_a_digest_is_refused() -> None:
    """Before anything is fetched; the user's own digest is as good as the feed's."""
    rig = Rig([build(11430, digest="")])
    with pytest.raises(Malformed, match="--sha256"):
        rig.install(KIND, None, None, None, rig.tell)
    assert rig.downloads.wanted == []
    with pytest.raises(Malformed, match="64 hexadecimal"):
        rig.install(KIND, None, None, "abc", rig.tell)
    asset = rig.releases[0].assets[0]
    rig.knows(asset._replace(sha256="c" * 64), "b11430")
    assert rig.install(KIND, None, None, "SHA256:" + "C" * 64, rig.tell).engine.tag == "b11430"


def test_h8_there_must_be_room_for_what_it_becomes() -> None:
    """Before anything is fetched, with both figures."""
    rig = Rig([build(11430)])
    rig.disk.room = 3000
    with pytest.raises(StoreTrouble, match="not enough space"):
        rig.install(KIND, None, None, None, rig.tell)
    assert rig.downloads.wanted == []


@pytest.mark.parametrize("trouble", [RegistryTrouble("line"), StoreTrouble("disk"), Conflict("another")])
def test_a_download_that_fails_leaves_no_build(trouble: BlazarError) -> None:
    """The error is passed on; nothing is entered, and what came is kept."""
    rig = Rig([build(11430)])
    rig.downloads.trouble = trouble
    with pytest.raises(type(trouble)):
        rig.install(KIND, None, None, None, rig.tell)
    assert (rig.catalog.list_engines(), rig.builds.present, rig.forgotten) == ([], set(), [])


def test_a_build_that_does_not_run_here_leaves_nothing() -> None:
    """Its download is kept: it was what was promised."""
    rig = Rig([build(11430)])
    rig.trial.broken["/engines/.b11430/llamacpp"] = "no such library"
    with pytest.raises(Malformed, match="no such library"):
        rig.install(KIND, None, None, None, rig.tell)
    assert (rig.catalog.list_engines(), rig.forgotten) == ([], [])


def test_a_digest_of_what_is_installed_is_compared() -> None:
    """Success would say that it is that file; a row that knows none promises nothing."""
    rig = Rig([build(11430)])
    rig.catalog.add_engine(an_engine("b11430", digest=digest_of(11430)))
    assert rig.install(KIND, "b11430", None, f"sha256:{digest_of(11430).upper()}", rig.tell).already
    with pytest.raises(Conflict, match="is installed already, and of another file"):
        rig.install(KIND, "b11430", None, "c" * 64, rig.tell)
    with pytest.raises(Malformed, match="64 hexadecimal"):
        rig.install(KIND, "b11430", None, "c", rig.tell)
    rig.catalog.amend_engine("b11430", lambda row: replace(row, digest=""))
    assert rig.install(KIND, "b11430", None, "c" * 64, rig.tell).already


def test_an_older_release_with_a_digest_is_named() -> None:
    """Only where there is one."""
    rig = Rig([build(11431, digest=""), build(11430, digest=""), build(11429)])
    with pytest.raises(Malformed, match=r"--tag b11431 --sha256 HEX.*take b11429, whose file has one"):
        rig.install(KIND, None, None, None, rig.tell)
    rig = Rig([build(11431, digest="")])
    with pytest.raises(Malformed, match=r"HEX\)$"):
        rig.install(KIND, None, None, None, rig.tell)
