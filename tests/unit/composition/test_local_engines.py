"""The engine builds of a data folder without a daemon, through the real parts."""

import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from blazar.adapters.engines import probe
from blazar.adapters.files.folders import Folders
from blazar.composition.local import Local
from blazar.composition.local_engines import LocalEngines
from blazar.domain.errors import Conflict, EngineNotFound, Malformed, NotFound
from blazar.domain.kinds import EngineKind, Provenance
from tests.support.archives import Entry, digest, write_tar
from tests.support.shared import shared

LLAMA = EngineKind.LLAMACPP
SAYS = b"#!/bin/sh\necho version: 1.0\n"


@pytest.fixture
def local(tmp_path: Path) -> Iterator[Local]:
    """An empty data folder, closed at the end."""
    parts = Local(Folders(tmp_path / "config.toml", tmp_path / "data"), {}, lambda _: [])
    yield parts
    parts.close()


def installed(local: Local, tmp_path: Path, *tags: str) -> LocalEngines:
    """Small builds, each entered as `engine install` does it."""
    engines = local.engines()
    for tag in tags:
        archive = write_tar(tmp_path / f"{tag}.tar.gz", [Entry("llama-server", SAYS, mode=0o755)])
        engines.prune(engines.install(str(archive), digest(archive), tag, LLAMA))
    return engines


@pytest.mark.engine
@pytest.mark.skipif(find_spec("xllamacpp") is None, reason="the embedded extra is not installed")
def test_engines_are_found_before_they_are_listed(local: Local) -> None:
    """The wheel of the embedded extra, where it is installed, with its provenance (D20)."""
    (row,) = local.engines().list()
    assert row.provenance is Provenance.EMBEDDED
    assert row.active
    assert local.engines().use(row.tag).tag == row.tag
    with pytest.raises(Conflict):
        local.engines().remove(row.tag)


def test_engine_refusals(local: Local, tmp_path: Path) -> None:
    """No file, no checksum, no such build."""
    engines = local.engines()
    (tmp_path / "llama-b1-bin.tar.gz").write_bytes(b"x")
    with pytest.raises(NotFound):
        engines.install("/nowhere.zip", "ab", None, LLAMA)
    with pytest.raises(Malformed, match="--sha256"):
        engines.install(str(tmp_path / "llama-b1-bin.tar.gz"), None, None, LLAMA)
    with pytest.raises(EngineNotFound):
        engines.use("nope")
    with pytest.raises(EngineNotFound):
        engines.remove("nope")


def tags(engines: LocalEngines) -> list[str]:
    return [row.tag for row in engines.list() if row.provenance is Provenance.ARCHIVE]


def test_an_install_keeps_the_newest_and_what_is_held(local: Local, tmp_path: Path) -> None:
    """Two by default; the active one, the one before it and pinned ones on top; rows and folders go together."""
    engines = installed(local, tmp_path, "b1", "b2", "b3")
    assert tags(engines) == ["b1", "b3", "b2"]  # b1 is active
    engines.pin("b2", pinned=True)
    engines.use("b3")
    installed(local, tmp_path, "b4", "b5")
    assert tags(engines) == ["b3", "b5", "b4", "b2", "b1"]  # b1 is what rollback goes back to
    installed(local, tmp_path, "b6")
    assert tags(engines) == ["b3", "b6", "b5", "b2", "b1"]
    assert sorted(path.name for path in local.folders.engines.iterdir()) == ["b1", "b2", "b3", "b5", "b6"]
    assert engines.rollback(LLAMA).tag == "b1"


def test_a_build_that_an_override_names_is_held(local: Local, tmp_path: Path) -> None:
    """Installs leave it, and `rm` says which key names it; once the key is gone, it goes."""
    local.folders.config_file.write_text('keep_tags = 1\n[model_overrides.m]\nengine = "b2"\n')
    engines = installed(local, tmp_path, "b1", "b2", "b3", "b4")
    assert tags(engines) == ["b1", "b4", "b2"]
    with pytest.raises(Conflict, match=r"blazar config unset model_overrides\.m\.engine"):
        engines.remove("b2")
    local.folders.config_file.write_text("")
    assert local.engines().remove("b2").kind == LLAMA


def test_which_build_serves_everything_in_manual_mode(local: Local, tmp_path: Path) -> None:
    """The one that was chosen last; none has that office otherwise."""
    engines = installed(local, tmp_path, "b1", "b2")
    engines.use("b2")
    engines.list()
    assert engines.single == ""
    (tmp_path / "config.toml").write_text('[engine_routing]\nmode = "manual"\n')
    manual = local.engines()
    manual.list()
    assert manual.single == "b2"


def test_how_many_stay_is_configured(local: Local, tmp_path: Path) -> None:
    """1: an install deletes the one before outright. A file that cannot be read deletes none."""
    local.folders.config_file.write_text("keep_tags = 1\n")
    engines = installed(local, tmp_path, "b1", "b2", "b3")
    assert tags(engines) == ["b1", "b3"]
    local.folders.config_file.write_text("keep_tags = maybe\n")
    assert tags(installed(local, tmp_path, "b4")) == ["b1", "b4", "b3"]


def test_rollback_and_use(local: Local, tmp_path: Path) -> None:
    """The one that was chosen before."""
    engines = installed(local, tmp_path, "b1", "b2")
    engines.use("b2")
    assert engines.rollback(LLAMA).tag == "b1"
    assert engines.rollback(LLAMA).tag == "b2"
    with pytest.raises(NotFound, match="no sglang engine is installed"):
        engines.rollback(EngineKind.SGLANG)


def test_a_served_build_is_neither_removed_nor_pruned(tmp_path: Path) -> None:
    """As the running daemon says; the older build goes with the next install."""
    served = {"b2"}
    folders = Folders(tmp_path / "config.toml", tmp_path / "data")
    local = Local(folders, {}, lambda tag: ["tiny"] if tag in served else [])
    local.folders.config_file.write_text("keep_tags = 1\n")
    engines = installed(local, tmp_path, "b1", "b2", "b3")
    assert tags(engines) == ["b1", "b3", "b2"]
    with pytest.raises(Conflict, match="serves tiny right now"):
        engines.remove("b2")
    served.clear()
    assert tags(installed(local, tmp_path, "b4")) == ["b1", "b4"]
    local.close()


def test_the_data_folder_is_moved_as_a_whole(local: Local, tmp_path: Path) -> None:
    """Builds are found, tried and removed in the new place."""
    installed(local, tmp_path, "b1", "b2")
    local.close()
    shutil.move(tmp_path / "data", tmp_path / "moved")
    there = Local(Folders(tmp_path / "config.toml", tmp_path / "moved"), {}, lambda _: [])
    engines = there.engines()
    assert [Path(row.server_path).is_file() for row in engines.list() if row.provenance is Provenance.ARCHIVE] == [
        True,
        True,
    ]
    engines.use("b2")
    engines.remove("b1")
    assert tags(engines) == ["b2"]
    assert not (tmp_path / "moved" / "engines" / "b1").exists()
    there.close()


BROKEN = {
    "another machine's program": (
        b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00\xb7\x00" + bytes(44),
        "llama-server did not run on this machine: Exec format error",
    ),
    "no program at all": (b"", "llama-server did not run on this machine: Exec format error"),
    "a missing library": (
        b'#!/bin/sh\necho "$0: error while loading shared libraries: libcuda.so.1: cannot open" >&2\nexit 127\n',
        "llama-server: error while loading shared libraries: libcuda.so.1: cannot open",
    ),
    "one that dies": (b"#!/bin/sh\nkill -ILL $$\n", "it was ended by signal 4"),
    "one that hangs": (b"#!/bin/sh\nexec sleep 60\n", "no answer within 0.5 s"),
    "another program": (b"#!/bin/sh\necho 9.9\n", "is no llama-server"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_build_that_does_not_run_here_is_a_sentence(
    local: Local, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """The reason as the system or the loader gives it, without a path that is gone; the build of before stays (case H14)."""
    engines = installed(local, tmp_path, "b1")
    monkeypatch.setattr(probe, "ANSWER_SECS", 0.5)
    program, why = BROKEN[what]
    archive = write_tar(tmp_path / "llama-b1002.tar.gz", [Entry("top/llama-server", program, mode=0o755)])
    with pytest.raises(Malformed) as refused:
        engines.install(str(archive), digest(archive), None, LLAMA)
    said = str(refused.value)
    assert said.startswith("engine build 'b1002' cannot be installed: ")
    assert why in said
    assert said.endswith("; nothing was installed")
    assert str(tmp_path) not in said
    assert tags(engines) == ["b1"]
    assert [path.name for path in local.folders.engines.iterdir()] == ["b1"]


def test_half_a_download_leaves_the_build_that_works(local: Local, tmp_path: Path) -> None:
    """Cut at 50 %, with a byte flipped, and cut with a digest of its own: nothing is replaced or removed (case H14)."""
    engines = installed(local, tmp_path, "b1")
    archive = write_tar(tmp_path / "b1002.tar.gz", [Entry("llama-server", SAYS + bytes(5000), mode=0o755)])
    whole, promised = archive.read_bytes(), digest(archive)
    half, flipped = whole[: len(whole) // 2], whole[:40] + bytes([whole[40] ^ 1]) + whole[41:]
    for data, expected in ((half, promised), (flipped, promised), (half, "")):
        archive.write_bytes(data)
        with pytest.raises(Malformed, match="nothing was installed"):
            engines.install(str(archive), expected or digest(archive), None, LLAMA)
    assert tags(engines) == ["b1"]
    assert engines.list()[0].active
    assert [path.name for path in local.folders.engines.iterdir()] == ["b1"]


def test_sd_server_is_installed_as_what_it_is(local: Local, tmp_path: Path) -> None:
    """The real archive: another program, another answer to --version; as llama.cpp it is refused."""
    archive = shared("engines/sd-bin-linux-x64.tar.gz")
    engines = local.engines()
    with pytest.raises(Malformed, match="no llama-server in it"):
        engines.install(str(archive), digest(archive), "sd-1", LLAMA)
    row = engines.install(str(archive), digest(archive), "sd-1", EngineKind.SDCPP)
    assert (row.kind, row.active, row.version) == (EngineKind.SDCPP, True, "unknown")
    engines.remove("sd-1")
    assert not (local.folders.engines / "sd-1").exists()


def test_a_clap_program_is_installed_and_started_with_its_word(local: Local, tmp_path: Path) -> None:
    """mistral.rs: its answer to --version names the program, and `serve` makes it a server."""
    program = Entry("mistralrs", b"#!/bin/sh\necho mistralrs 0.9.5\n", mode=0o755)
    archive = write_tar(tmp_path / "mistralrs-v0.9.5-x86_64.tar.gz", [program])
    row = local.engines().install(str(archive), digest(archive), None, EngineKind.MISTRALRS)
    assert (row.tag, row.version, row.words[1:]) == ("v0.9.5", "0.9.5", ("serve",))
