"""Engines from a feed of releases in GitHub's JSON shape, with the real llama.cpp build: install, update, check, and what goes wrong."""

import gzip
import http.client
import io
import json
import signal
import subprocess
import sys
import tarfile
import threading
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.archives import Entry, write_tar
from tests.support.daemon import ONE_THREAD, WATCHDOG, Daemon, in_time, wait_until
from tests.support.gguf_files import tiny
from tests.support.registry import Answer
from tests.support.release_feed import REPOSITORY, ReleaseHost, Served, asset, release
from tests.support.shared import shared

ARCHIVE = "engines/llama-b11434-bin-linux-x64.tar.gz"


@pytest.fixture(scope="module")
def archives() -> dict[str, bytes]:
    """The real build, and the same packed once more: other bytes, so another release."""
    data = shared(ARCHIVE).read_bytes()
    return {"b11434": data, "b11435": gzip.compress(gzip.decompress(data), 1, mtime=1)}


class House:
    """A data folder, a feed, and the command line between them."""

    def __init__(self, folder: Path, host: ReleaseHost, archives: dict[str, bytes]) -> None:
        self.host, self.archives = host, archives
        self.daemon = Daemon(folder, ONE_THREAD, {"BLAZAR_GH_BASE": host.url})
        self.downloads = self.daemon.data / "downloads"

    def row(self, tag: str, served: Served | None = None, **changes: Any) -> dict[str, Any]:
        """A release of one archive; `served` says how badly."""
        name = f"llama-{tag}-bin-linux-x64.tar.gz"
        data = self.archives[tag]
        self.host.add(f"/{REPOSITORY}/releases/download/{tag}/{name}", served or Served(data))
        url = f"https://github.com/{REPOSITORY}/releases/download/{tag}/{name}"
        return release(tag, asset(name, url, data), day=int(tag[-2:]) % 28 + 1, **changes)

    def served(self, tag: str) -> Served:
        return self.host.files[f"/{REPOSITORY}/releases/download/{tag}/llama-{tag}-bin-linux-x64.tar.gz"]

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.daemon.cli("engine", *words)

    def json(self, *words: str) -> dict[str, Any]:
        return json.loads(self.daemon.must("engine", *words, "--json"))

    def rows(self) -> dict[str, bool]:
        """Tags, and whether they are active."""
        return {row["tag"]: row["active"] for row in self.json("list")["engines"] if row["provenance"] == "archive"}


@pytest.fixture
def house(tmp_path: Path, archives: dict[str, bytes]) -> Iterator[House]:
    host = ReleaseHost()
    house = House(tmp_path, host, archives)
    yield house
    house.daemon.__exit__(None, None, None)
    host.close()


def test_two_releases_are_installed_and_updated(house: House) -> None:
    """From an empty folder to the newest: verified, tried, active; the old one stays, the download does not."""
    house.host.publish([house.row("b11434")])
    first = house.json("install", "--kind", "llamacpp")
    assert (first["tag"], first["release"], first["active"]) == ("b11434", "b11434", True)
    assert first["source"].startswith(house.host.url)
    assert house.run("update").stdout.strip() == "engine 'b11434' is up to date"
    house.host.publish([house.row("b11435"), house.row("b11434")])
    look = house.json("check")["updates"]
    assert [(row["active"], row["newest"], row["available"]) for row in look] == [("b11434", "b11435", True)]
    assert house.rows() == {"b11434": True}
    second = house.json("update")
    assert (second["tag"], second["outcome"], second["before"]) == ("b11435", "updated", "b11434")
    assert second["gate"]  # asked, and without any model it had nothing to measure with
    assert house.rows() == {"b11435": True, "b11434": False}
    assert not list(house.downloads.iterdir())
    assert house.run("rollback").returncode == 0
    assert house.rows() == {"b11435": False, "b11434": True}


def decodes(folder: Path, speed: float) -> bytes:
    """The archive of a build whose tool says that speed."""
    said = json.dumps([{"n_gen": 8, "samples_ts": [speed] * 5}])
    server = Entry("llama-server", b"#!/bin/sh\necho version: 1.0\n", mode=0o755)
    tool = Entry("llama-bench", f"#!/bin/sh\necho '{said}'\n".encode(), mode=0o755)
    return write_tar(folder / f"{speed}.tar.gz", [server, tool]).read_bytes()


def test_a_release_that_decodes_half_as_fast_is_held_back(house: House, tmp_path: Path) -> None:
    """By the verb, with both speeds: the old build serves on, nothing is fetched twice, and --no-gate takes it all the same."""
    house.archives = {"b11434": decodes(tmp_path, 100.0), "b11435": decodes(tmp_path, 50.0)}
    house.host.publish([house.row("b11434")])
    house.daemon.must("engine", "install")
    house.daemon.must("import", str(tiny().save(tmp_path / "m.gguf")), "--name", "m")
    house.host.publish([house.row("b11435"), house.row("b11434")])
    for _ in range(2):
        done = house.run("update")
        assert done.returncode == 1, done
        assert "50.0" in done.stdout
        assert "100.0" in done.stdout
        assert house.rows() == {"b11434": True, "b11435": False}
    assert len(house.served("b11435").asked) == 1
    house.daemon.env["BLAZAR_ENGINE_GATE"] = "60%"
    assert house.json("update")["outcome"] == "updated"
    del house.daemon.env["BLAZAR_ENGINE_GATE"]
    house.daemon.must("engine", "rollback")
    assert house.rows() == {"b11434": True, "b11435": False}
    assert house.json("update", "--no-gate")["outcome"] == "updated"
    assert house.rows() == {"b11434": False, "b11435": True}


def test_another_kind_from_its_own_project(house: House) -> None:
    """The real sd-server, packed and named as its project does it."""
    packed = io.BytesIO()
    with tarfile.open(shared("engines/sd-bin-linux-x64.tar.gz")) as there, zipfile.ZipFile(packed, "w") as archive:
        for member in there.getmembers():
            if member.isfile():
                archive.writestr(Path(member.name).name, there.extractfile(member).read())  # type: ignore[union-attr]
    name, data = "sd-master-cad0903-bin-Linux-Ubuntu-24.04-x86_64.zip", packed.getvalue()
    url = house.host.add(f"/{name}", data)
    row = release("master-1244-cad0903", asset(name, url, data), prerelease=False)
    house.host.publish([row], "leejet/stable-diffusion.cpp")
    done = house.json("update", "--kind", "sdcpp")
    assert (done["tag"], done["kind"], done["active"]) == ("master-1244-cad0903", "sdcpp", True)
    assert [row["available"] for row in house.json("check")["updates"]] == [False]


def test_h14_a_tampered_archive_is_refused(house: House) -> None:
    """Its bytes are not what the feed promised: nothing is installed, the active build serves on."""
    house.host.publish([house.row("b11434")])
    house.daemon.must("engine", "install")
    house.host.publish([house.row("b11435", Served(house.archives["b11435"], spoil=9)), house.row("b11434")])
    done = house.run("update")
    assert done.returncode == 1
    assert "error: llama-b11435-bin-linux-x64.tar.gz arrived twice with other bytes" in done.stderr
    assert house.rows() == {"b11434": True}
    assert not list(house.downloads.iterdir())


def test_h14_an_archive_cut_in_half_is_refused(house: House) -> None:
    """By its size, before it is unpacked."""
    data = house.archives["b11434"]
    house.host.publish([house.row("b11434", Served(data, ranges=False, length=len(data) // 2))])
    done = house.run("install")
    assert (done.returncode, done.stdout) == (1, "")
    assert str(len(data)) in done.stderr
    assert house.rows() == {}


def test_a_file_without_a_checksum_is_refused(house: House) -> None:
    """Unless the user has one."""
    row = house.row("b11434")
    digest = row["assets"][0].pop("digest").removeprefix("sha256:")
    house.host.publish([row])
    done = house.run("install")
    assert done.returncode == 1
    assert "--sha256" in done.stderr
    assert house.served("b11434").asked == []
    assert house.run("install", "--sha256", digest).returncode == 0
    assert house.rows() == {"b11434": True}


def test_asking_too_often_is_told_with_the_time(house: House) -> None:
    """By every verb that asks; the look for newer builds fails without harm."""
    house.host.publish([house.row("b11434")])
    house.daemon.must("engine", "install")
    house.host.limit()
    for verb in ("update", "check"):
        done = house.run(verb)
        assert done.returncode == 1
        assert "2100-01-01 00:00 UTC" in done.stdout + done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("install", "--tag", "b1"), "has no release 'b1'"),
        (("install", "--asset", "metal"), "llama-b11434-bin-linux-x64.tar.gz"),
        (("install", "--asset", ""), "--asset is empty"),
        (("install", "x.tar.gz", "--sha256", "0", "--asset", "cpu"), "--asset chooses"),
        (("install", "--sha256", "0"), "64 hexadecimal"),
    ],
)
def test_wishes_that_cannot_be_met(house: House, words: tuple[str, ...], said: str) -> None:
    """Each a sentence, nothing fetched."""
    house.host.publish([house.row("b11434")])
    done = house.run(*words)
    assert done.returncode in (1, 2)
    assert said in done.stderr
    assert house.served("b11434").asked == []


@pytest.mark.parametrize("variable", ["BLAZAR_GH_BASE", "BLAZAR_REPO", "BLAZAR_INSTALL_BASE_URL"])
def test_variables_that_make_no_sense(house: House, variable: str) -> None:
    """The sentence names them."""
    house.daemon.env[variable] = "no such thing"
    done = house.run("install")
    assert (done.returncode, done.stdout) == (1, "")
    assert variable in done.stderr


def test_another_repository_and_another_place_of_files(house: House) -> None:
    """As mirrors have them."""
    data = house.archives["b11434"]
    name = "llama-b11434-bin-linux-x64.tar.gz"
    house.host.publish([release("b11434", asset(name, "https://github.com/x", data))], "me/mirror")
    house.host.add(f"/files/b11434/{name}", data)
    house.daemon.env |= {"BLAZAR_REPO": "me/mirror", "BLAZAR_INSTALL_BASE_URL": f"{house.host.url}/files"}
    assert house.json("install")["source"] == f"{house.host.url}/files/b11434/{name}"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_h9_an_interrupt_ends_a_download_and_keeps_what_came(house: House, number: signal.Signals, code: int) -> None:
    """Within a second or so, and says so; the next run goes on where this one ended."""
    house.host.publish([house.row("b11434", Served(house.archives["b11434"], pace=0.02))])
    served = house.served("b11434")
    words = [sys.executable, "-m", "blazar", "engine", "install"]
    with subprocess.Popen(
        words, env=house.daemon.env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        watchdog = threading.Timer(120, process.kill)
        watchdog.start()
        lines = iter(process.stderr.readline, "")
        assert any("(10 %)" in line for line in lines)
        began = time.monotonic()
        process.send_signal(number)
        assert process.stderr.read().endswith("error: interrupted\n")
        assert process.wait(WATCHDOG) == code
        assert in_time(time.monotonic() - began, 2.0)
        watchdog.cancel()
    assert len(list(house.downloads.glob("*.part"))) == 1
    served.pace = 0.0
    house.daemon.must("engine", "install")
    assert int(served.asked[-1].removeprefix("bytes=").rstrip("-")) > 0
    assert house.rows() == {"b11434": True}


def test_a_speed_limit_and_several_connections(house: House) -> None:
    """Set by keys of the file; the build is the same."""
    house.daemon.config_file.write_text(f"{ONE_THREAD}download_connections = 4\ndownload_speed_limit_mb = 100\n")
    house.host.publish([house.row("b11434")])
    assert house.json("install")["tag"] == "b11434"


def test_the_flavor_and_the_channel_are_keys(house: House) -> None:
    """`engine_asset` chooses as --asset does; the stable channel takes the build that the stable release stamps."""
    body = f"[b11434](https://github.com/{REPOSITORY}/releases/tag/b11434)"
    house.host.publish(
        [house.row("b11435"), release("v0.6.0", prerelease=False, day=28, body=body), house.row("b11434")]
    )
    house.daemon.config_file.write_text(f'{ONE_THREAD}update_channel = "stable"\n')
    assert house.json("update")["tag"] == "b11434"
    assert "b11434 (stable v0.6.0)" in house.run("check").stdout
    house.daemon.config_file.write_text(f'{ONE_THREAD}engine_asset = "vulkan"\n')
    assert "suits 'vulkan'" in house.run("update").stderr


def test_a_daemon_looks_and_tells_and_installs_nothing(house: House) -> None:
    """On the event stream, in /api/engines and in the doctor's report; the build that serves stays."""
    house.host.publish([house.row("b11434")])
    house.daemon.must("engine", "install")
    house.host.publish([house.row("b11435"), house.row("b11434")])
    house.daemon.config_file.write_text(f"{ONE_THREAD}engine_check_secs = 1\n")
    with house.daemon:
        stream = http.client.HTTPConnection("127.0.0.1", house.daemon.port, timeout=120)
        stream.request("GET", "/api/events")
        answer = stream.getresponse()
        assert any(b"engine_update_available" in line for line in iter(answer.readline, b""))
        answer.close()
        stream.close()
        (row,) = house.daemon.ask("GET", "/api/engines").json()["updates"]
        assert (row["active"], row["newest"], row["available"], row["trouble"]) == ("b11434", "b11435", True, "")
        doctor = house.daemon.cli("doctor").stdout
        assert "llamacpp b11435 is available, b11434 is active" in doctor
        house.host.limit()
        assert wait_until(lambda: house.daemon.ask("GET", "/api/engines").json()["updates"][0]["trouble"], WATCHDOG)
    assert house.rows() == {"b11434": True}
    assert house.served("b11435").asked == []


def test_nothing_is_asked_where_nothing_is_installed(house: House) -> None:
    """Neither by the check nor by the doctor."""
    house.host.given[f"/repos/{REPOSITORY}/releases"] = Answer([])
    assert house.run("check").returncode == 0
    house.daemon.cli("doctor")
    assert house.host.asked == []
