"""Engine builds while a daemon serves, after it was killed, and in a folder that was moved."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from blazar.adapters.engines.runfiles import PidRecord, RunFiles
from blazar.adapters.hardware.processes import SystemProcesses
from tests.faults.streams import PATHS, body_for
from tests.support.archives import Entry, digest, write_tar
from tests.support.daemon import Daemon
from tests.support.engine import stub_server
from tests.support.gguf_files import tiny


class House:
    """A daemon's folders with builds that are archives of the stub."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.daemon = Daemon(folder, "spawn_mem_guard = false\n")
        self.stub = stub_server(folder / "bin").read_bytes()
        self.daemon.must("import", str(tiny().save(folder / "m.gguf")), "--name", "m")

    def archive(self, tag: str) -> Path:
        path = self.folder / f"llama-{tag}.tar.gz"
        if path.exists():  # packed again it would have another digest
            return path
        return write_tar(path, [Entry(f"llama-{tag}/llama-server", self.stub, mode=0o755)])

    def install(self, *tags: str) -> str:
        said = ""
        for tag in tags:
            archive = self.archive(tag)
            said = self.daemon.must("engine", "install", str(archive), "--sha256", digest(archive))
        return said

    def tags(self) -> list[str]:
        rows = json.loads(self.daemon.must("engine", "list", "--json"))["engines"]
        return [row["tag"] for row in rows if row["provenance"] == "archive"]

    def chat(self) -> int:
        return self.daemon.ask("POST", PATHS["openai"], body_for("hi", stream=False)).status

    def refused(self, *words: str) -> str:
        done = self.daemon.cli("engine", *words)
        assert (done.returncode, done.stdout) == (1, ""), done
        return done.stderr


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path)
    yield house
    house.daemon.__exit__(None, None, None)


def test_builds_change_under_a_running_daemon(house: House) -> None:
    """A served build stays, whoever would take it; the others go; what is loaded next runs on the chosen one (D29, contract)."""
    house.install("b1001")
    house.daemon.start()
    assert house.chat() == 200
    refusal = "error: engine 'b1001' serves m right now: evict first (blazar evict MODEL), then remove it\n"
    assert house.refused("rm", "b1001") == refusal
    house.install("b1002")
    house.daemon.must("engine", "use", "b1002")
    assert house.refused("rm", "b1001") == refusal  # the child keeps the engine that it was loaded with
    house.install("b1003")
    house.daemon.must("engine", "use", "b1003")  # the way back is b1002 now, and nothing but its child holds b1001
    archive = house.archive("b1004")
    said = house.daemon.cli("engine", "install", str(archive), "--sha256", digest(archive))
    assert "warning: an older build stays for now: engine 'b1001' serves m right now" in said.stderr
    rows = house.daemon.ask("GET", "/api/engines").json()["engines"]
    assert [row["tag"] for row in rows if row["provenance"] == "archive"] == ["b1003", "b1004", "b1002", "b1001"]
    assert rows[0]["digest"] == digest(house.archive("b1003"))
    house.daemon.must("evict", "m")
    house.daemon.must("engine", "rm", "b1001")
    assert house.chat() == 200
    (row,) = house.daemon.ask("GET", "/api/ps").json()["models"]
    assert row["engine"] == "b1003"
    house.daemon.must("engine", "use", "b1004")
    assert house.daemon.must("engine", "rollback").startswith("engine 'b1003' is active")
    assert house.tags() == ["b1003", "b1004", "b1002"]


def test_a_child_that_outlived_its_daemon_keeps_its_build(house: House) -> None:
    """No daemon answers, the pidfile's process lives (D6)."""
    house.install("b1001", "b1002")
    orphan = subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE)
    try:
        house.daemon.run_dir.mkdir(exist_ok=True)
        files = RunFiles(house.daemon.run_dir, "m")
        files.write_pid(PidRecord(orphan.pid, SystemProcesses().start_time(orphan.pid), "b1001", "m"))
        said = house.refused("rm", "b1001")
        assert f"still has a running child (pid {orphan.pid}) although no daemon answers" in said
        assert (house.daemon.data / "engines" / "b1001").is_dir()
    finally:
        orphan.communicate(b"\n", 60)
    house.daemon.must("engine", "rm", "b1001")
    assert house.tags() == ["b1002"]


def test_the_data_folder_is_moved_and_serves(house: House) -> None:
    """Rows say where a build lies in the folder, not where the folder lies (contract)."""
    house.install("b1001")
    moved = house.folder / "elsewhere" / "blazar"
    moved.parent.mkdir()
    house.daemon.data.rename(moved)
    house.daemon.env["XDG_DATA_HOME"] = str(moved.parent)
    house.daemon.run_dir = moved / "run"
    house.daemon.start()
    assert house.chat() == 200
    (row,) = house.daemon.ask("GET", "/api/engines").json()["engines"][:1]
    assert row["server_path"] == str(moved / "engines" / "b1001" / "llama-server")
