"""Engine processes: starting, signalling one pid, hearing what they say, finding what an earlier daemon left.

Decides nothing about when: the supervisor does. Spawning happens on the event loop's own thread, because the death signal
follows the thread that started the child (D32).
"""

import asyncio
import errno
import json
import logging
import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from blazar.adapters.engines import tether
from blazar.adapters.engines.environment import engine_env
from blazar.adapters.engines.exits import when_ended
from blazar.adapters.engines.launch_lines import launch_lines
from blazar.adapters.engines.listeners import listens_alone
from blazar.adapters.engines.measuring import ChildMemory
from blazar.adapters.engines.runfiles import NO_KEY, PidRecord, RunFiles, pid_records, sweep_sockets
from blazar.adapters.engines.spec import EngineSpec
from blazar.adapters.engines.usage import bytes_read
from blazar.application.ports.children import Child, Children, LaunchPlan, Measured, Orphan
from blazar.application.ports.clock import Clock, Timer
from blazar.application.ports.entropy import Entropy
from blazar.application.ports.hardware import DeviceUse
from blazar.application.ports.processes import Processes
from blazar.application.ports.upstream import ChildCall, Upstream
from blazar.domain import teaching
from blazar.domain.errors import Fault, SpawnFailed
from blazar.domain.instance.machine import LADDER, LOST_AFTER
from blazar.domain.kinds import EngineKind

_LOG = logging.getLogger("blazar.spawn")

LOOPBACK = "127.0.0.1"
SECRET_BYTES = 16
LOG_CHECK_SECS = 60.0
CHAT = b"/v1/chat/completions"
JSON_BODY = ((b"content-type", b"application/json"),)
READY_SECS = 2.0
"""Bounds one question of the ready poll."""
MOST_SLOTS = 4096
"""More is no number of slots but an engine that has lost itself."""
GONE_CHECK_SECS = 0.02
"""Between two looks whether an orphan has ended: it is not our child, so nobody tells us."""

_SLEEP_LINES = 20
"""Of the log's end: a child that sleeps says nothing but that it was asked how it is."""

PRIVATE = 0o077
"""Umask of a child that listens on a file: never open to others, not even until it is ready."""

Connect = Callable[[int | str, str, str], Upstream]
"""(port or socket file, key, model) -> the child's door. The key is empty where the child has none."""


def free_port() -> int:
    """A loopback port that was free a moment ago."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


class SubprocessChild(Child):
    """One child of ours. If its port was snatched between choosing and binding, it starts over once, unseen."""

    pid: int
    port: int
    argv: tuple[str, ...]
    upstream: Upstream

    def __init__(self, owner: "SubprocessChildren", plan: LaunchPlan, spec: EngineSpec) -> None:
        self.plan = plan
        self._owner, self._spec = owner, spec
        self._files = RunFiles(owner.run_dir, plan.key)
        # D21: a kind that cannot be told of a key in private gets none.
        self._secret = owner.entropy.token(SECRET_BYTES) if plan.auth and spec.key_file_flag else ""
        self._ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._closing: list[asyncio.Task[None]] = []
        self._served = self._told = self._second = self._shares = False
        self._cut, self._read = 0, 0
        if self._secret:
            self._files.write_key(self._secret)
        else:
            self._files.make_folder()
        try:
            self._begin()
        except OSError:
            self._files.key_file.unlink(missing_ok=True)
            raise
        self._trimmer: Timer = owner.clock.call_later(LOG_CHECK_SECS, self._trim)

    def _begin(self) -> None:
        if self.plan.socket:
            self.port = 0
            Path(self.plan.socket).unlink(missing_ok=True)  # a file that is there cannot be bound
        else:
            self.port = self._owner.port_for(self)
        self.argv = (*self.plan.words, *self._endpoint())
        self._process = process = self._owner.start(self.argv, self.plan, self._spec, self._files)
        self.pid = process.pid
        heard = self._spec.memory_log() if self._spec.memory_log else None
        self._memory = ChildMemory(self.pid, self._files, heard, self._owner.use)
        try:
            self._files.write_pid(
                PidRecord(self.pid, self._owner.processes.start_time(self.pid), self.plan.tag, self.plan.key)
            )
        except OSError:  # a full disk: a child that no pidfile names could be lost
            process.kill()
            process.wait()
            raise
        self.upstream = self._owner.connect(self.plan.socket or self.port, self._secret, self.plan.model)
        when_ended(process, self._on_ended)

    def _endpoint(self) -> tuple[str, ...]:
        spec = self._spec
        at: tuple[str, ...] = (spec.host_flag, LOOPBACK, spec.port_flag, str(self.port))
        if self.plan.socket:
            at = (spec.host_flag, self.plan.socket)
        return (*at, spec.key_file_flag, str(self._files.key_file)) if self._secret else at

    def _on_ended(self, status: int) -> None:
        if self._lost_its_port(status):
            self._second = True
            # At once: a question to whoever holds that port would wait for its answer.
            self._closing.append(asyncio.get_running_loop().create_task(self.upstream.aclose()))
            try:
                self._begin()
            except OSError:
                pass  # then the first end is what counts
            else:
                return
        self._owner.forget(self)
        if not self._ended.done():
            self._ended.set_result(status)

    def _lost_its_port(self, status: int) -> bool:
        phrase = self._spec.port_taken
        fresh = not (self._served or self._told or self._second or self.plan.socket)
        return fresh and (self._shares or (status > 0 and bool(phrase) and phrase in self._files.tail()))

    def signal(self, number: int) -> None:
        self._told = True
        self._process.send_signal(number)  # ours and unreaped until then, so its pid cannot have changed hands

    async def wait(self) -> int:
        return await asyncio.shield(self._ended)

    async def is_ready(self) -> bool:
        if self._ended.done():
            return False
        try:
            if not await self._is_healthy():
                return False
            # Another program may sit on this port by now (case G17): it must accept our key and serve our alias.
            models = await self.upstream.fetch(ChildCall(b"GET", self._spec.models), READY_SECS)
            ours = models.status == 200 and _serves(models.body, self.plan.listed or self.plan.model)
            if not ours or not self._is_alone() or not await self._computes():
                return False
        except Fault:
            return False
        if not self._served:
            self._served = True
            if self.plan.socket:
                self._files.guard_socket()
            self._memory.ask_drivers()
        return True

    async def slots(self) -> int:
        if not self._spec.props:
            return 0
        try:
            props = await self.upstream.fetch(ChildCall(b"GET", self._spec.props), READY_SECS)
        except Fault:
            return 0
        return _slots_in(props.body) if props.status == 200 else 0

    async def _is_healthy(self) -> bool:
        spec = self._spec
        health = await self.upstream.fetch(ChildCall(b"GET", spec.health), READY_SECS)
        if spec.failed and health.status == spec.failed:
            self._process.kill()  # it would stay for ever and serve nobody
        return health.status == 200

    async def _computes(self) -> bool:
        """By a request, where health says nothing about it. What it answers does not matter: a refusal is an answer as well."""
        spec = self._spec
        if not spec.proof or self._served:
            return True
        await self.upstream.fetch(ChildCall(b"POST", CHAT, spec.proof, JSON_BODY), spec.load_cap_secs)
        return await self._is_healthy()

    def _is_alone(self) -> bool:
        """ODD: one that shares its port is ended, to start over on another: half of our requests would be somebody else's."""
        if not self._spec.alone or self.plan.socket or listens_alone(self.pid, self.port) is not False:
            return True
        self._shares = True
        self._process.kill()
        return False

    def progress(self) -> int:
        self._read = max(self._read, bytes_read(self.pid))
        return self._cut + self._files.log_size() + self._read

    def last_lines(self, count: int = 5) -> Sequence[str]:
        return self._files.last_lines(count)

    def memory(self) -> Measured:
        if self._ended.done():
            return Measured()
        return self._memory.now()

    def _trim(self) -> None:
        self._cut += self._files.trim_log()
        self._memory.ask_drivers()
        self._trimmer = self._owner.clock.call_later(LOG_CHECK_SECS, self._trim)

    def asleep(self) -> bool:
        falls, wakes = self._spec.sleep_words
        for line in reversed(self.last_lines(_SLEEP_LINES)) if falls else ():
            if falls in line or wakes in line:
                return falls in line
        return False

    async def aclose(self) -> None:
        self._trimmer.cancel()
        await self.upstream.aclose()
        await self._memory.aclose()
        while self._closing:
            await self._closing.pop()
        if self._ended.done():
            self._files.remove(self.pid, self._secret or NO_KEY)


def _slots_in(body: bytes) -> int:
    """What llama-server calls `total_slots`; 0 where that is no number of slots."""
    try:
        told = json.loads(body)["total_slots"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return 0
    return told if type(told) is int and 0 < told <= MOST_SLOTS else 0


def _serves(body: bytes, alias: str) -> bool:
    """Whether it lists that name. Of a folder, also under the path that its links lead to: some engines resolve it."""
    names = {alias, os.path.realpath(alias)} if Path(alias).is_absolute() else {alias}
    try:
        return any(row["id"] in names for row in json.loads(body)["data"])
    except (ValueError, KeyError, TypeError):
        return False


@dataclass(eq=False)
class SubprocessChildren(Children):
    """Children as processes of this one, with their files in `run_dir`. `use` tells what they hold on accelerators."""

    run_dir: Path
    clock: Clock
    entropy: Entropy
    connect: Connect
    specs: Mapping[EngineKind, EngineSpec]
    processes: Processes
    use: DeviceUse | None = None
    _live: set[SubprocessChild] = field(default_factory=set, init=False)
    _pipe: tuple[int, int] | None = field(default=None, init=False)
    _jobs: list[int] = field(default_factory=list, init=False)

    async def spawn(self, plan: LaunchPlan) -> Child:
        program = plan.words[0]
        if shutil.which(program) is None:
            raise SpawnFailed(teaching.spawn_failed(plan.model, teaching.no_program(program)))
        try:
            child = SubprocessChild(self, plan, self.specs[plan.kind])
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            why = teaching.spawn_no_room(str(self.run_dir)) if full else error.strerror or str(error)
            raise SpawnFailed(teaching.spawn_failed(plan.model, why)) from error
        self._live.add(child)
        return child

    def start(
        self, argv: Sequence[str], plan: LaunchPlan, spec: EngineSpec, files: RunFiles
    ) -> subprocess.Popen[bytes]:
        """Start the process. Its output goes straight into its log: no pipe that somebody would have to drain."""
        pipe = self._watched_pipe()
        words = [*(tether.shim(pipe) if tether.has_shim() else ()), *argv]
        if _LOG.isEnabledFor(logging.DEBUG):
            for line in launch_lines(argv, plan):
                _LOG.debug("%s", line)
        env = engine_env(spec.scrubbed, (*plan.env, (tether.PARENT_VARIABLE, str(os.getpid()))))
        log = files.open_log()
        try:
            process = subprocess.Popen(
                words,
                env=env,
                cwd=self.run_dir,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C at our terminal must not reach it
                pass_fds=() if pipe is None else (pipe,),
                umask=PRIVATE if plan.socket else -1,
            )
        finally:
            os.close(log)
        if not tether.has_shim():
            self._jobs.append(tether.tie_on_windows(process))
        return process

    def _watched_pipe(self) -> int | None:
        if tether.has_death_signal() or not tether.has_shim():
            return None
        if self._pipe is None:
            self._pipe = os.pipe()
        return self._pipe[0]

    def port_for(self, child: SubprocessChild) -> int:
        """A free port that no other child of ours was just given and may not have bound yet."""
        given = {other.port for other in self._live if other is not child}
        while (port := free_port()) in given:
            pass
        return port

    def forget(self, child: SubprocessChild) -> None:
        """It has ended."""
        self._live.discard(child)

    def orphans(self) -> list[Orphan]:
        sweep_sockets(self.run_dir)
        ours = {child.pid for child in self._live}
        found = []
        for record in pid_records(self.run_dir):
            if self.processes.is_same(record.pid, record.start):
                if record.pid not in ours:
                    found.append(Orphan(record.key, record.pid, record.tag))
            else:
                RunFiles(self.run_dir, record.key).remove(record.pid, "")
        return found

    async def reap(self, orphan: Orphan) -> None:
        record = next((r for r in pid_records(self.run_dir) if r.pid == orphan.pid and r.key == orphan.key), None)
        if record is None:
            return
        began = self.clock.now()
        for rung, until in zip(LADDER, (*(rung.at for rung in LADDER[1:]), LOST_AFTER), strict=True):
            with suppress(PermissionError):  # another user's by now: it is looked at until the end, and left alone
                self.processes.signal(record.pid, record.start, rung.number)
            if await self._gone(record, began + until):
                RunFiles(self.run_dir, record.key).remove(record.pid, "")
                return

    async def _gone(self, record: PidRecord, end: float) -> bool:
        while self.processes.is_same(record.pid, record.start):
            if self.clock.now() >= end:
                return False
            await self.clock.sleep(GONE_CHECK_SECS)
        return True

    def close(self) -> None:
        """Let go of what ties children to us; where that is a pipe or a job, those still alive are ended by it."""
        if self._pipe is not None:
            for handle in self._pipe:
                os.close(handle)
            self._pipe = None
