"""The daemon as a process: starting it in the background, finding out why that failed, stopping exactly that one pid (D5)."""

import os
import select
import signal
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from blazar.adapters.cli.client import DaemonClient
from blazar.adapters.cli.exits import FAILED, TAKEN, NotStarted
from blazar.adapters.cli.locate import Note, read_note
from blazar.adapters.cli.root import Root
from blazar.application.ports.processes import Processes
from blazar.domain import teaching
from blazar.domain.errors import BlazarError, Busy, Fault, Refusal, Unreachable
from blazar.domain.tails import last_lines, tail

START = 20.0
"""Seconds until a daemon must be ready; it listens within a second and only then reaps and opens its store (D2)."""
STOP = 60.0
"""Seconds a stop may take: 30 for requests in flight, then the stop ladder of the children (D4, D31)."""
JOIN = 3.0
"""Seconds for which a failed start looks for another daemon of this folder, which may itself be starting (1.2 s)."""
PATIENCE = 1.0
"""Seconds of a stop after which its user is told what it waits for."""
PAUSE = 0.05
LAST_BYTES = 4096
"""Of a log, in which its last line is looked for."""
REPORT = "BLAZAR_REPORT_FD"
"""A pipe on which a daemon in the background says why it could not start: its stderr is /dev/null by then."""


class Bind(NamedTuple):
    """Where a new daemon is to listen; None leaves it to the configuration."""

    host: str | None = None
    port: int | None = None
    config: str | None = None

    def over(self, other: "Bind") -> "Bind":
        """These, and what they leave open from another."""
        return Bind(
            other.host if self.host is None else self.host,
            other.port if self.port is None else self.port,
            other.config if self.config is None else self.config,
        )

    def words(self) -> list[str]:
        """As options of `serve`."""
        options = (("--host", self.host), ("--port", self.port), ("--config", self.config))
        return [word for name, value in options if value is not None for word in (name, str(value))]


def start_daemon(root: Root, bind: Bind, seconds: float = START) -> Note:
    """Start one in the background; returns when it is ready. Raises `NotStarted` with what it said and its exit code."""
    import subprocess

    command = [*root.program, "serve", *bind.words()]
    if sys.platform == "win32":
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            creationflags=subprocess.CREATE_NEW_PROCESS_GROUP,
        )
        return _await_ready(root, process, _nothing_heard, seconds)
    reader, writer = os.pipe()
    try:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                # A session of its own: Ctrl-C and the end of this terminal are not meant for the daemon.
                start_new_session=True,
                pass_fds=(writer,),
                env={**root.env, REPORT: str(writer)},
            )
        finally:
            os.close(writer)
        return _await_ready(root, process, lambda pause: _heard(reader, pause), seconds)
    finally:
        os.close(reader)


def _nothing_heard(pause: float) -> str:
    time.sleep(pause)
    return ""


def _heard(reader: int, pause: float) -> str:
    """What came on the report pipe within `pause`; sleeps no longer than needed."""
    ready, _, _ = select.select([reader], [], [], pause)
    if not ready:
        return ""
    said = os.read(reader, 65536).decode("utf-8", "replace")
    if not said:
        time.sleep(PAUSE)  # the end of the pipe is readable for ever; the exit follows it
    return said


def _await_ready(root: Root, process: Any, listen: Callable[[float], str], seconds: float) -> Note:
    log = root.places.run / "daemon.log"
    old = last_line(log)  # of an earlier daemon: not the reason why this one failed
    report, end = "", time.monotonic() + seconds
    while time.monotonic() < end:
        report += listen(PAUSE)
        if (code := process.poll()) is not None:
            last = last_line(log)
            sentence = report or teaching.daemon_start_failed(code, last if last != old else "")
            raise NotStarted(sentence, code if 0 < code < 126 else FAILED)
        note = read_note(root.places.run, root.processes)
        if note is not None and note.pid == process.pid and is_ready(DaemonClient(note.url, ours=True)):
            return note
    raise Busy(teaching.daemon_start_slow(seconds))


def is_ready(client: DaemonClient) -> bool:
    """One poll of /health."""
    try:
        said = client.health()
    except Fault:
        return False
    return said is not None and said["status"] == "ok"


def last_line(path: Path) -> str:
    """The last line of a log that says something; empty when there is none."""
    try:
        with path.open("rb") as file:
            return "".join(last_lines(tail(file, LAST_BYTES), 1))
    except OSError:
        return ""


def reporting(serve: Callable[[], int], env: Mapping[str, str]) -> int:
    """Run `serve`; when it refuses, say so on the pipe that `start_daemon` reads, too."""
    number = env.get(REPORT, "")
    if not number.isdigit():
        return serve()
    os.environ.pop(REPORT, None)  # neither the name nor the pipe is for the engines
    try:
        os.set_inheritable(int(number), False)
    except OSError:
        return serve()
    try:
        return serve()
    finally:
        error = sys.exc_info()[1]
        if error is not None:
            foreseen = isinstance(error, BlazarError)
            said = str(error) if foreseen else teaching.unexpected(type(error).__name__, str(error))
            os.write(int(number), said.encode())


def ensure_daemon(root: Root, bind: Bind, seconds: float = START) -> DaemonClient:
    """A client of a daemon that is ready, started if none answers and the user named none (D3)."""
    target, client = root.target(), root.client()
    try:
        said = client.health()
    except Fault:
        # Something else has the default port; a daemon of ours may be configured for another one.
        if target.explicit or target.note:
            raise
        said = None
    if said is not None and said["status"] == "ok":
        return client
    if said is None and target.explicit:
        raise Unreachable(teaching.daemon_unreachable(target.url))
    if said is None and target.note is None:
        client = _start_or_join(root, bind, seconds)
    end = time.monotonic() + seconds
    while not is_ready(client):
        if time.monotonic() >= end:
            raise Busy(teaching.starting())
        time.sleep(PAUSE)
        client = root.client()
    return client


def _start_or_join(root: Root, bind: Bind, seconds: float) -> DaemonClient:
    """Two verbs at once start two daemons; the one that finds the address or the folder taken uses the other's."""
    try:
        start_daemon(root, bind, seconds)
    except NotStarted as failed:
        end = time.monotonic() + JOIN
        while failed.code != TAKEN or read_note(root.places.run, root.processes) is None:
            if failed.code != TAKEN or time.monotonic() >= end:
                raise
            time.sleep(PAUSE)
    return root.client()


def stop_daemon(
    processes: Processes, note: Note, seconds: float = STOP, waiting: Callable[[], None] = lambda: None
) -> None:
    """SIGTERM to that one process, and wait for its end; nothing happens when it is gone already.

    `waiting` is called once when it has not ended soon, as while answers are under way.
    """
    try:
        if not processes.signal(note.pid, note.start, signal.SIGTERM):
            return
    except PermissionError as refused:
        raise Refusal(teaching.daemon_of_another(note.pid)) from refused
    soon = min(PATIENCE, seconds)
    if processes.ended_within(note.pid, note.start, soon):
        return
    waiting()
    if not processes.ended_within(note.pid, note.start, seconds - soon):
        raise Busy(teaching.daemon_stop_slow(note.pid, seconds))


def started_with(pid: int) -> list[str]:
    """The words behind `serve` with which a running daemon was started; empty where the system does not tell."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace").rstrip("\0").split("\0")
    except OSError:
        return []
    for verb in ("serve", "start"):
        if verb in words:
            return words[words.index(verb) + 1 :]
    return []
