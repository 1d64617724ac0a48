"""Engines that do not behave when they are asked for their flags: the daemon starts, answers and ends as ever, and says why."""

import json
import sys
from pathlib import Path

import pytest

from tests.faults.conftest import StubDaemon
from tests.faults.streams import PATHS, body_for
from tests.support.daemon import Daemon

ENDLESS = "import os\nwhile True: os.write(1, b'  --alpha N  x\\n' * 4096)"
HELPS = {
    "prints for ever": ENDLESS,
    "prints bytes": "import os, random; os.write(1, random.Random(1).randbytes(2_000_000))",
    "has too many flags": "print('\\n'.join(f'  --flag-{number} N  x' for number in range(100_000)))",
    "steers a terminal": "print('  --a{0} {x}  %s {}\\n  \\x1b[31m--red\\x1b[0m {\\x1b[2J,b}  \\x1b[2J')",
}
SILENT = {
    "crashes": "import os; os.kill(os.getpid(), 11)",
    "says nothing": "pass",
    "refuses": "raise SystemExit(1)",
}
MOST_RSS = 400_000
"""kB at the highest: what a daemon takes anyway, and a few times what is heard of one build."""


def with_help(daemon: Daemon, body: str) -> None:
    """Make its engine answer --help otherwise."""
    program = Path(daemon.env["BLAZAR_ENGINE_PATH"])
    real = program.with_name("real")
    program.rename(real)
    asked = "\n".join(f"    {line}" for line in body.splitlines())
    program.write_text(
        f"#!{sys.executable} -S\nimport sys\nif '--help' in sys.argv:\n{asked}\n"
        f"else:\n    import os\n    os.execv({str(real)!r}, [{str(real)!r}, *sys.argv[1:]])\n"
    )
    program.chmod(0o755)


@pytest.fixture
def asked(stub_daemon: StubDaemon) -> "StubDaemon":
    """A maker of daemons whose engine answers --help with these lines of Python."""

    def make(body: str) -> Daemon:
        daemon = stub_daemon(config="slots = 1\n")
        daemon.stop()
        with_help(daemon, body)
        return daemon.start()

    return make


@pytest.mark.parametrize("body", HELPS.values(), ids=HELPS)
def test_a_help_that_is_none_refuses_the_load(asked: StubDaemon, body: str) -> None:
    """In a sentence that names the build; nothing is waited for, and memory stays bounded."""
    daemon = asked(body)
    answer = daemon.ask("POST", PATHS["openai"], body_for("hi", stream=False) | {"model": "m"})
    assert answer.status == 400
    assert "engine local does not know --" in answer.json()["error"]["message"]
    explained = daemon.ask("GET", "/api/explain?model=m").json()
    assert "engine local does not know --" in explained["refusal"]
    assert "\x1b" not in daemon.must("explain", "m")
    assert most_rss(daemon) < MOST_RSS


@pytest.mark.parametrize("body", SILENT.values(), ids=SILENT)
def test_a_build_that_does_not_tell_is_trusted(asked: StubDaemon, body: str) -> None:
    """And explain says that it is."""
    daemon = asked(body)
    assert daemon.ask("POST", PATHS["openai"], body_for("hi", stream=False) | {"model": "m"}).status == 200
    assert "did not say with --help" in daemon.must("explain", "m")


def test_planted_manifests_hold_up_nothing(stub_daemon: StubDaemon) -> None:
    """Of another version, without an end, of another build: each is asked anew and replaced."""
    daemon = stub_daemon(config="slots = 1\n")
    assert daemon.ask("POST", PATHS["openai"], body_for("hi", stream=False) | {"model": "m"}).status == 200
    (kept,) = (daemon.data / "engines" / ".manifests").glob("?" * 64 + ".json")
    good = json.loads(kept.read_text())
    for planted in ({**good, "schema": 99}, {**good, "build": "0" * 64}, {**good, "options": [{"names": ["--x"]}, 1]}):
        daemon.stop()
        kept.write_text(json.dumps(planted))
        daemon.start()
        assert daemon.ask("POST", PATHS["openai"], body_for("hi", stream=False) | {"model": "m"}).status == 200
        assert json.loads(kept.read_text()) == good
    daemon.stop()
    with kept.open("wb") as file:
        file.truncate(2**30)
    daemon.start()
    assert daemon.ask("POST", PATHS["openai"], body_for("hi", stream=False) | {"model": "m"}).status == 200
    assert most_rss(daemon) < MOST_RSS
    assert json.loads(kept.read_text()) == good


def most_rss(daemon: Daemon) -> int:
    assert daemon.process is not None
    status = Path(f"/proc/{daemon.process.pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
