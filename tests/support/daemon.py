"""A real daemon in a folder of its own, for tests that must see the whole program run. Ended by its pid, always."""

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

WATCHDOG = 120.0
"""Seconds after which waiting is a failure; figures belong to the bench (D27)."""

BARE_START = 0.1
"""Seconds that an idle machine takes for an interpreter which imports what every verb does."""

NOBODY = "http://127.0.0.1:9"
"""A test asks no host of releases but its own."""

ONE_THREAD = "threads = 1\nthreads_batch = 1\n"
"""With more threads than idle cores, the engine's spin barriers make decoding several times slower."""


class Answer(NamedTuple):
    """One HTTP answer, whole."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Daemon:
    """`blazar serve` on an ephemeral port with its own XDG folders."""

    def __init__(self, home: Path, config: str = ONE_THREAD, env: Mapping[str, str] | None = None) -> None:
        self.home = home
        self.data = home / "data" / "blazar"
        self.run_dir = self.data / "run"
        self.process: subprocess.Popen[bytes] | None = None
        self.url = ""
        self.port = 0
        cleaned = {k: v for k, v in os.environ.items() if not k.startswith(("BLAZAR_", "XDG_", "RUST_LOG", "LLAMA_"))}
        folders = {"XDG_CONFIG_HOME": str(home / "config"), "XDG_DATA_HOME": str(home / "data")}
        self.env = {**cleaned, **folders, "BLAZAR_GH_BASE": NOBODY, **(env or {})}
        self.config_file = home / "config" / "blazar" / "config.toml"
        self.config_file.parent.mkdir(parents=True, exist_ok=True)
        self.config_file.write_text(config)

    def spawn(self, *more: str) -> Self:
        """Start the process; does not wait."""
        words = [sys.executable, "-m", "blazar", "serve", "--port", "0", *more]
        self.errors = self.home / "stderr.txt"
        with self.errors.open("ab") as errors:
            self.process = subprocess.Popen(
                words, env=self.env, cwd=self.home, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors
            )
        return self

    def start(self, *more: str) -> Self:
        """Start and wait until it is ready."""
        self.spawn(*more)
        assert self.process is not None
        pipe = wait_until(self._ready, WATCHDOG)
        assert pipe, f"the daemon did not get ready: {self.errors.read_text()[-2000:]}"
        return self

    def _ready(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, f"the daemon ended: {self.errors.read_text()[-2000:]}"
        try:
            facts = json.loads((self.run_dir / "daemon.json").read_text())
        except (FileNotFoundError, ValueError):
            return False
        if facts["pid"] != self.process.pid:
            return False
        self.url = facts["url"]
        self.port = int(self.url.rpartition(":")[2])
        try:
            return self.ask("GET", "/health").status == 200
        except OSError:
            return False

    def ask(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Answer:
        """One request on a connection of its own."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=WATCHDOG)) as connection:
            data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
            connection.request(method, path, body=data, headers={"content-type": "application/json", **(headers or {})})
            with (
                connection.getresponse() as got
            ):  # it holds the socket, and an answer cut short is never read to its end
                return Answer(got.status, {k.lower(): v for k, v in got.getheaders()}, got.read())

    def cli(self, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run one verb against this daemon's folders."""
        return subprocess.run(
            [sys.executable, "-m", "blazar", *words],
            env=self.env,
            cwd=self.home,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=WATCHDOG,
        )

    def must(self, *words: str) -> str:
        """Run one verb that has to succeed; its stdout."""
        done = self.cli(*words)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    def children(self) -> list[int]:
        """Pids of live processes whose parent is the daemon; not of a build that is only asked for its flags."""
        assert self.process is not None
        return [pid for pid in children_of(self.process.pid) if not _asked_for_help(pid)]

    def stop(self) -> int:
        """SIGTERM to the one pid; the exit code."""
        if self.process is None:
            return 0
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(WATCHDOG)
        self.process = None
        return code

    def kill(self) -> None:
        """SIGKILL, as the kernel's memory killer would."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(WATCHDOG)
        self.process = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.kill()


def wait_until(holds: Any, seconds: float) -> bool:
    """Poll a condition about another process; true as soon as it holds, false at the watchdog's end."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.02)
    return False


def in_time(took: float, seconds: float) -> bool:
    """Whether something that is promised within so many seconds kept it; on a machine that is as slow as it is just now."""
    if took < seconds:
        return True
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", "import asyncio, http.client"], check=True, timeout=WATCHDOG)
    return took < seconds * (time.monotonic() - began) / BARE_START


def stat_of(pid: int) -> list[str] | None:
    """Fields of /proc/PID/stat from the state on, or None when there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None


def alive(pid: int) -> bool:
    """Whether the process exists and is no zombie."""
    fields = stat_of(pid)
    return fields is not None and fields[0] != "Z"


@contextmanager
def paused(pid: int) -> Iterator[None]:
    """A child that is stopped meanwhile: what it answers cannot come to its end before something else has happened."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def _asked_for_help(pid: int) -> bool:
    """The probe of a build's flags, which serves nothing and ends by itself."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").endswith(b"\0--help")
    return False


def children_of(pid: int) -> list[int]:
    """Live direct children of a process."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            fields = stat_of(int(entry.name))
            if fields is not None and fields[0] != "Z" and int(fields[1]) == pid:
                found.append(int(entry.name))
    return found
