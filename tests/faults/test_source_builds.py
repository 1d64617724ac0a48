"""Builds that are no archive of a release: forks of the capability registry or of a person, and releases of their own source.

Everything comes from a host on loopback; compilers are stand-ins, and what they make is the stub. A fork's published build is the
real llama.cpp archive.
"""

import gzip
import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from blazar.domain.arch_table import FEWEST
from tests.faults.streams import PATHS, body_for
from tests.support.archives import Entry, digest, write_tar
from tests.support.daemon import ONE_THREAD, Daemon
from tests.support.engine import stub_server
from tests.support.gguf_files import tiny
from tests.support.registry import Answer
from tests.support.release_feed import REPOSITORY, ReleaseHost, Served, asset, release
from tests.support.shared import shared
from tests.support.stand_in_tools import StandInTools

SHA = "0123456789abcdef0123456789abcdef01234567"
LANE = {
    "name": "novel",
    "kind": "llamacpp",
    "repo": "owner/fork",
    "commit": SHA,
    "architectures": ["llama"],
    "license": "MIT",
}
TABLE = "\n".join(f'{{ LLM_ARCH_A{n}, "arch-{n}" }},' for n in range(FEWEST))
"""What the official build knows, by its source: anything but llama, which is what test models are."""


def source() -> bytes:
    """As GitHub makes it of a commit or a tag."""
    out, lists = io.BytesIO(), b'project("llama.cpp" C CXX)\n'
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT, pax_headers={"comment": SHA}) as tar:
        member = tarfile.TarInfo("llama.cpp-0/CMakeLists.txt")
        member.size = len(lists)
        tar.addfile(member, io.BytesIO(lists))
    return gzip.compress(out.getvalue(), mtime=0)


def made(data: bytes) -> Served:
    """Archives that are made when they are asked for have no length, no ranges and no etag."""
    return Served(data, ranges=False, etag="", chunked=True)


class House:
    """A daemon's folders, a host, and compilers."""

    def __init__(self, folder: Path, host: ReleaseHost) -> None:
        self.folder, self.host = folder, host
        self.stub = stub_server(folder / "bin")
        self.tools = StandInTools(folder / "tools", self.stub)
        config = f'{ONE_THREAD}spawn_mem_guard = false\ncapability_registry_url = "{host.url}/lanes.json"\n'
        self.daemon = Daemon(folder, config, {"BLAZAR_GH_BASE": host.url, "PATH": self.tools.path})
        self.downloads = self.daemon.data / "downloads"
        host.given[f"/{REPOSITORY}/raw/b1001/src/llama-arch.cpp"] = Answer(TABLE.encode())

    def official(self) -> None:
        """A build that does not know what the models here are."""
        archive = write_tar(
            self.folder / "llama-b1001.tar.gz", [Entry("llama-server", self.stub.read_bytes(), mode=0o755)]
        )
        self.daemon.must("engine", "install", str(archive), "--sha256", digest(archive))

    def lane(self, **more: Any) -> None:
        self.host.given["/lanes.json"] = Answer({"version": 1, "lanes": [{**LANE, **more}]})

    def json(self, *words: str) -> Any:
        return json.loads(self.daemon.must("engine", *words, "--json"))

    def tags(self) -> list[str]:
        return [row["tag"] for row in self.json("list")["engines"] if row["provenance"] in ("archive", "built", "fork")]

    def chat(self) -> tuple[int, str]:
        """What a chat comes to, and which build answers it."""
        answer = self.daemon.ask("POST", PATHS["openai"], body_for("hi", stream=False))
        engines = [row["engine"] for row in self.daemon.ask("GET", "/api/ps").json()["models"]]
        return answer.status, engines[0] if engines else answer.json()["error"]["message"]


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    host = ReleaseHost()
    house = House(tmp_path, host)
    yield house
    house.daemon.__exit__(None, None, None)
    host.close()


def test_a_lane_that_is_published(house: House) -> None:
    """Listed, downloaded, verified, a fork in the catalog; it serves what nobody else does, and is removed again."""
    data = shared("engines/llama-b11434-bin-linux-x64.tar.gz").read_bytes()
    machine = {"amd64": "x86_64", "aarch64": "arm64"}.get(platform.machine().lower(), platform.machine().lower())
    url = house.host.add("/files/fork-linux.tar.gz", Served(data, stop_after=len(data) // 2, cuts=1))
    one = {"system": "linux", "machine": machine, "url": url, "sha256": hashlib.sha256(data).hexdigest()}
    house.lane(assets=[one])
    house.official()
    house.daemon.must("import", str(shared("models/tiny-llama.gguf")), "--name", "m")
    assert [(row["name"], row["possible"]) for row in house.json("list", "--available")["lanes"]] == [("novel", True)]
    row = house.json("install", "--lane", "novel")
    assert (row["tag"], row["provenance"], row["active"]) == ("novel-01234567", "fork", False)
    assert (row["source"], row["digest"]) == (f"owner/fork@{SHA}", one["sha256"])
    assert list(house.downloads.iterdir()) == []
    house.daemon.start()
    assert house.chat() == (200, "novel-01234567")
    assert "serves m right now" in house.daemon.cli("engine", "rm", "novel-01234567").stderr
    house.daemon.must("evict", "m")
    house.daemon.must("engine", "rm", "novel-01234567")
    assert house.tags() == ["b1001"]
    assert not (house.daemon.data / "engines" / "novel-01234567").exists()
    assert house.chat() == (200, "b1001")  # nobody says that it knows llama now: the official build is tried


@pytest.mark.parametrize("words", [("--lane", "novel"), ("--fork", f"owner/fork@{SHA}", "--arch", "llama")])
def test_a_fork_that_is_built_here(house: House, words: tuple[str, ...]) -> None:
    """From the archive of its commit to an answer, whether a list names it or a person does."""
    house.lane(build="cmake")
    house.host.add(f"/owner/fork/archive/{SHA}.tar.gz", made(source()))
    house.official()
    house.daemon.must("import", str(tiny().save(house.folder / "m.gguf")), "--name", "m")
    row = house.json("install", *words, "--backend", "cpu")
    assert (row["provenance"], row["source"], row["active"]) == ("fork", f"owner/fork@{SHA}", False)
    assert row["pinned"] is (words[0] == "--fork")
    assert list(house.downloads.iterdir()) == []
    house.daemon.start()
    assert house.chat() == (200, row["tag"])
    house.daemon.must("evict", "m")
    house.daemon.must("engine", "rm", row["tag"])
    assert house.tags() == ["b1001"]


def test_a_release_that_is_built_of_its_own_source(house: House) -> None:
    """Fetched by its tag without a length, kept over a build that failed, recorded with its digest, gone when it is installed."""
    path, data = f"/{REPOSITORY}/archive/refs/tags/b1001.tar.gz", source()
    house.host.publish([release("b1001", asset("llama-b1001-bin-linux-x64.tar.gz", f"{house.host.url}/x", b"x"))])
    house.host.add(path, made(data[:-9]))
    said = house.daemon.cli("engine", "build", "cpu")
    assert (said.returncode, "did not come whole" in said.stderr) == (1, True), said
    served = house.host.files[path] = made(data)
    house.tools.broken.touch()
    said = house.daemon.cli("engine", "build", "cpu")
    assert (said.returncode, "b1001-cpu could not be built: x.cpp:1:1: error: no room" in said.stderr) == (1, True), (
        said
    )
    house.tools.broken.unlink()
    row = house.json("build", "cpu", "--release", "b1001")
    assert len(served.asked) == 1
    assert (row["tag"], row["provenance"], row["release"], row["active"]) == ("b1001-cpu", "built", "b1001", True)
    assert row["source"] == f"{REPOSITORY}@b1001 sha256:{hashlib.sha256(data).hexdigest()}"
    assert list(house.downloads.iterdir()) == []
    house.daemon.must("import", str(tiny().save(house.folder / "m.gguf")), "--name", "m")
    house.daemon.start()
    assert house.chat() == (200, "b1001-cpu")


def test_a_whole_archive_of_something_else(house: House) -> None:
    """A mirror's error page, packed: refused, gone with what was unpacked of it, and the next try fetches the right one."""
    path = f"/{REPOSITORY}/archive/refs/tags/b1001.tar.gz"
    house.host.publish([release("b1001", asset("llama-b1001-bin-linux-x64.tar.gz", f"{house.host.url}/x", b"x"))])
    for wrong, said in ((b"<html>", "neither a tar nor a zip archive"), (b"", "holds no sources of llama.cpp")):
        house.host.add(path, made(gzip.compress(wrong or bytes(1024))))
        told = house.daemon.cli("engine", "build", "cpu")
        assert (told.returncode, said in told.stderr) == (1, True), told
        assert list(house.downloads.iterdir()) == []
        assert list((house.daemon.data / "engines" / ".building" / "b1001-cpu").iterdir()) == []
    house.host.add(path, made(source()))
    assert house.json("build", "cpu")["tag"] == "b1001-cpu"


def test_a_host_that_is_not_there(house: House) -> None:
    """The sentence says how to do without it."""
    house.daemon.env["BLAZAR_GH_BASE"] = "http://127.0.0.1:9"
    said = house.daemon.cli("engine", "build", "cpu")
    assert said.returncode == 1
    assert said.stderr.startswith("error: no source to build of: 127.0.0.1:9 cannot be reached")
    assert "(blazar engine build cpu --source ARCHIVE --sha256 HEX)" in said.stderr
    assert said.stderr.count("blazar engine") == 1
