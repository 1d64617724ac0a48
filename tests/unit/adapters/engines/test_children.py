"""Engine processes, against the stub engine as a real process."""

import asyncio
import json
import os
import signal
import socket
import stat
import subprocess
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from blazar.adapters.engines import children as module
from blazar.adapters.engines import exits, runfiles, tether
from blazar.adapters.engines.children import SubprocessChildren, _slots_in
from blazar.adapters.engines.llamacpp.spec import LLAMACPP
from blazar.adapters.engines.pool import ChildPool
from blazar.adapters.engines.runfiles import PidRecord, RunFiles
from blazar.adapters.hardware.processes import SystemProcesses
from blazar.application.ports.children import LaunchPlan, Measured
from blazar.application.ports.clock import Clock
from blazar.application.ports.processes import Processes
from blazar.application.ports.upstream import ChildCall
from blazar.domain.argv import compile_argv
from blazar.domain.errors import SpawnFailed
from blazar.domain.kinds import EngineKind
from blazar.domain.socket_paths import socket_path
from tests.fakes.clock import FakeClock
from tests.fakes.processes import FakeProcesses
from tests.support.engine import LoopClock, RealEntropy, recorded, stub_model, stub_server, until

PROCESSES = SystemProcesses()


class Hurried(LoopClock):
    """Ten seconds of grace pass in one."""

    def now(self) -> float:
        return 10 * super().now()

    async def sleep(self, delay: float) -> None:
        await super().sleep(delay / 10)


def door(at: int | str, key: str, model: str) -> ChildPool:
    return ChildPool("localhost", 0, key, model, at) if isinstance(at, str) else ChildPool("127.0.0.1", at, key, model)


def make(run_dir: Path, clock: Clock | None = None, processes: Processes = PROCESSES, **odd: Any) -> SubprocessChildren:
    return SubprocessChildren(
        run_dir,
        clock or LoopClock(),
        RealEntropy(),
        door,
        {EngineKind.LLAMACPP: replace(LLAMACPP, **odd)},
        processes=processes,
    )


def a_plan(folder: Path, key: str = "org/model:tag", **switches: Any) -> LaunchPlan:
    program = stub_server(folder / "engine")
    model = stub_model(folder / "model.gguf", **switches)
    settings = {"model_path": str(model), "alias": key, "ctx_size": 512, "slots": 1, "kv_unified": False}
    flags = compile_argv(LLAMACPP.flags, settings, ())
    return LaunchPlan(key, key, EngineKind.LLAMACPP, "b1", (str(program), *flags.words))


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    folder.mkdir(mode=0o700)
    return folder


async def served(children: SubprocessChildren, plan: LaunchPlan) -> Any:
    """A child that is ready."""
    child = await children.spawn(plan)
    await ready(child)
    return child


async def ready(child: Any) -> None:
    for _ in range(1000):
        if await child.is_ready():
            return
        await asyncio.sleep(0.01)
    pytest.fail(f"never ready: {child.last_lines(10)}")


async def ended(child: Any, number: int = signal.SIGTERM) -> int:
    child.signal(number)
    status: int = await asyncio.wait_for(child.wait(), 30)
    await child.aclose()
    return status


def run(test: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(test(), 120))


def test_a_child_serves_and_stops(tmp_path: Path, run_dir: Path) -> None:
    """Spawned, ready, answering with our key, stopped by TERM with status 0, its pid and key files gone, its log kept."""

    async def scenario() -> None:
        children = make(run_dir)
        child = await served(children, a_plan(tmp_path))
        answer = await child.upstream.fetch(ChildCall(b"GET", b"/slots"), 10)
        assert answer.status == 200
        names = sorted(path.name for path in run_dir.iterdir())
        assert names == ["org%2Fmodel%3Atag.apikey", "org%2Fmodel%3Atag.log", "org%2Fmodel%3Atag.pid"]
        assert child.progress() > 0
        assert child.memory().resident > 2**20
        assert await ended(child) == 0
        assert child.memory() == Measured()
        assert [path.name for path in run_dir.iterdir()] == ["org%2Fmodel%3Atag.log"]

    run(scenario)


def test_the_secret_is_never_on_the_command_line(tmp_path: Path, run_dir: Path) -> None:
    """The key goes by a file that only the owner may read, the address is loopback, foreign origins are refused (J21)."""

    async def scenario() -> None:
        child = await served(make(run_dir), a_plan(tmp_path))
        key_file = RunFiles(run_dir, "org/model:tag").key_file
        secret = key_file.read_text().strip()
        assert stat.S_IMODE(key_file.stat().st_mode) == 0o600
        assert len(secret) == 32
        shown = Path(f"/proc/{child.pid}/cmdline").read_bytes() + Path(f"/proc/{child.pid}/environ").read_bytes()
        assert secret.encode() not in shown
        words = " ".join(child.argv)
        assert "--host 127.0.0.1" in words
        assert "--cors-origins localhost" in words
        assert await ended(child) == 0

    run(scenario)


def test_the_pid_is_the_engines_own(tmp_path: Path, run_dir: Path) -> None:
    """The shim replaces itself: what we signal is the engine, in a session of its own."""

    async def scenario() -> None:
        child = await served(make(run_dir), a_plan(tmp_path))
        assert (
            b"llama_server" in Path(f"/proc/{child.pid}/cmdline").read_bytes()
            or str(child.argv[0]).encode() in Path(f"/proc/{child.pid}/cmdline").read_bytes()
        )
        assert os.getsid(child.pid) == child.pid
        assert await ended(child) == 0

    run(scenario)


def test_inherited_settings_are_scrubbed(tmp_path: Path, run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """LLAMA_ARG_* and our bootstrap keys do not reach a child; what the plan adds does (D30)."""
    monkeypatch.setenv("LLAMA_ARG_CTX_SIZE", "1")
    monkeypatch.setenv("LLAMA_API_KEY", "theirs")
    monkeypatch.setenv("BLAZAR_KEYS", "plm_secret")

    async def scenario() -> None:
        plan = a_plan(tmp_path)._replace(env=(("CUDA_VISIBLE_DEVICES", "0"),))
        child = await served(make(run_dir), plan)
        environ = Path(f"/proc/{child.pid}/environ").read_bytes().split(b"\0")
        names = {entry.partition(b"=")[0] for entry in environ}
        assert not {b"LLAMA_ARG_CTX_SIZE", b"LLAMA_API_KEY", b"BLAZAR_KEYS"} & names
        assert b"CUDA_VISIBLE_DEVICES=0" in environ
        assert await ended(child) == 0

    run(scenario)


def test_a_missing_program_is_a_sentence(tmp_path: Path, run_dir: Path) -> None:
    """No program: SpawnFailed at once, with the path."""

    async def scenario() -> None:
        plan = a_plan(tmp_path)._replace(words=(str(tmp_path / "nothing"),))
        with pytest.raises(SpawnFailed, match="nothing"):
            await make(run_dir).spawn(plan)

    run(scenario)


@pytest.mark.parametrize("step", ["write_pid", "open_log"])
def test_a_full_disk_starts_nothing(tmp_path: Path, run_dir: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """When a run file cannot be written the spawn fails with the reason, and neither process nor secret is left."""
    started = []
    honest = subprocess.Popen

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    def watched(*given: Any, **named: Any) -> subprocess.Popen[bytes]:
        started.append(honest(*given, **named))
        return started[-1]

    monkeypatch.setattr(RunFiles, step, full)
    monkeypatch.setattr(module.subprocess, "Popen", watched)

    async def scenario() -> None:
        with pytest.raises(SpawnFailed, match=r"No space left on device .*: make room there"):
            await make(run_dir).spawn(a_plan(tmp_path))
        assert not list(run_dir.glob("*.apikey"))
        assert all(process.returncode == -signal.SIGKILL for process in started)

    run(scenario)


def test_a_program_that_cannot_run_says_so_in_its_log(tmp_path: Path, run_dir: Path) -> None:
    """An executable of another machine's format ends with a last line that names it."""
    program = tmp_path / "alien"
    program.write_bytes(b"\x7fELF\x00 not for here")
    program.chmod(0o755)

    async def scenario() -> None:
        child = await make(run_dir).spawn(a_plan(tmp_path)._replace(words=(str(program),)))
        assert await asyncio.wait_for(child.wait(), 30) == 127
        assert "cannot start" in child.last_lines()[-1]
        await child.aclose()

    run(scenario)


def test_what_it_said_last_is_kept(tmp_path: Path, run_dir: Path) -> None:
    """A child that dies while loading leaves its reason for the error message (G28)."""

    async def scenario() -> None:
        child = await make(run_dir).spawn(a_plan(tmp_path, oom=1))
        assert await asyncio.wait_for(child.wait(), 30) == 1
        assert child.last_lines(1) == ["CUDA error: out of memory"]
        assert child.last_lines(0) == []
        assert not await child.is_ready()
        await child.aclose()

    run(scenario)


def test_fifty_megabytes_of_output_block_nothing(tmp_path: Path, run_dir: Path) -> None:
    """Output goes straight to the log: a talkative child still gets ready, its progress grows, and the log can be cut."""

    async def scenario() -> None:
        child = await served(make(run_dir), a_plan(tmp_path, spam_mb=50))
        assert child.progress() > 50 * 2**20
        before = child.progress()
        child._trim()
        assert child._files.log_size() < runfiles.LOG_CAP
        assert child.progress() >= before
        assert child._files.old_log.exists()
        assert await ended(child) == 0
        assert "cleaning up" in child.last_lines(1)[0]

    run(scenario)


def test_a_child_says_how_many_requests_at_once_it_takes(tmp_path: Path, run_dir: Path) -> None:
    """What its server says counts, not what it was told; one that is gone says nothing."""

    async def scenario() -> None:
        plan = a_plan(tmp_path)
        words = tuple(
            "3" if before == "--parallel" else word for before, word in zip(("", *plan.words), plan.words, strict=False)
        )
        child = await served(make(run_dir), plan._replace(words=words))
        assert await child.slots() == 3
        assert await ended(child) == 0
        assert await child.slots() == 0

    run(scenario)


def test_a_kind_that_tells_no_number_is_not_asked(tmp_path: Path, run_dir: Path) -> None:
    """The plan's counts then."""

    async def scenario() -> None:
        children = make(run_dir)
        children.specs = {EngineKind.LLAMACPP: replace(LLAMACPP, props=b"")}
        child = await served(children, a_plan(tmp_path))
        assert await child.slots() == 0
        assert await ended(child) == 0

    run(scenario)


@pytest.mark.parametrize(
    ("body", "slots"),
    [
        (b'{"total_slots":4}', 4),
        (b'{"total_slots":0}', 0),
        (b'{"total_slots":-1}', 0),
        (b'{"total_slots":4.0}', 0),
        (b'{"total_slots":true}', 0),
        (b'{"total_slots":999999999}', 0),
        (b'{"total_slots":"4"}', 0),
        (b"{}", 0),
        (b"[]", 0),
        (b"", 0),
        (b"[" * 100_000, 0),
        (b"\xff", 0),
    ],
)
def test_what_is_no_number_of_slots_is_none(body: bytes, slots: int) -> None:
    """Whatever an engine says there, nothing breaks."""
    assert _slots_in(body) == slots


def test_the_previous_log_is_kept_once(tmp_path: Path, run_dir: Path) -> None:
    """A new child starts a fresh log; the old one lies beside it."""

    async def scenario() -> None:
        children = make(run_dir)
        for _ in range(2):
            child = await served(children, a_plan(tmp_path))
            assert await ended(child) == 0
        files = RunFiles(run_dir, "org/model:tag")
        assert files.old_log.read_text().count("listening") == files.log.read_text().count("listening") == 1

    run(scenario)


def test_loading_is_not_ready(tmp_path: Path, run_dir: Path) -> None:
    """503 on /health is not ready; output counts as progress."""

    async def scenario() -> None:
        child = await make(run_dir).spawn(a_plan(tmp_path, load_secs=60))
        await until(lambda: "listening" in " ".join(child.last_lines()))
        assert not await child.is_ready()
        seen = child.progress()
        await until(lambda: child.progress() > seen)
        assert await ended(child) == 0

    run(scenario)


def test_another_program_on_the_port_is_not_ours(tmp_path: Path, run_dir: Path) -> None:
    """A healthy server that serves another alias, or refuses our key, is never ready (G17)."""

    async def scenario() -> None:
        children = make(run_dir)
        stranger = await children.spawn(a_plan(tmp_path, "stranger", wrong_alias="other"))
        await until(lambda: "loaded" in " ".join(stranger.last_lines()))
        assert not await stranger.is_ready()
        ours = await served(children, a_plan(tmp_path, "ours"))
        imposter = ChildPool("127.0.0.1", ours.port, "wrong-key", "ours")
        await ours.upstream.aclose()
        ours.upstream = imposter
        assert not await ours.is_ready()
        await imposter.aclose()
        for child in (stranger, ours):
            assert await ended(child) == 0

    run(scenario)


def test_a_stolen_port_is_retried_once(tmp_path: Path, run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A child whose port was taken between choosing and binding starts over on another one, unseen."""
    taken = socket.create_server(("127.0.0.1", 0))
    offered = [taken.getsockname()[1]]
    honest = module.free_port
    monkeypatch.setattr(module, "free_port", lambda: offered.pop() if offered else honest())

    async def scenario() -> None:
        child = await make(run_dir).spawn(a_plan(tmp_path))
        first = child.pid
        await ready(child)
        assert child.pid != first
        assert json.loads(RunFiles(run_dir, "org/model:tag").pid_file.read_text())["pid"] == child.pid
        assert await ended(child) == 0

    run(scenario)
    taken.close()


def test_a_port_taken_twice_is_an_exit(tmp_path: Path, run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second failure is reported as it is."""
    taken = socket.create_server(("127.0.0.1", 0))
    monkeypatch.setattr(module, "free_port", lambda: taken.getsockname()[1])

    async def scenario() -> None:
        child = await make(run_dir).spawn(a_plan(tmp_path))
        assert await asyncio.wait_for(child.wait(), 30) == 1
        assert "couldn't bind" in child.last_lines(1)[0]
        await child.aclose()

    run(scenario)
    taken.close()


def test_odd_one_that_shares_its_port_is_ended(tmp_path: Path, run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would serve half of our requests and never fail: it is ended, once, and begins on another port (case G17)."""
    verdicts = [False, None]
    monkeypatch.setattr(module, "listens_alone", lambda _pid, _port: verdicts.pop(0))

    async def scenario() -> None:
        child = await make(run_dir, alone=True).spawn(a_plan(tmp_path))
        first = child.pid
        await ready(child)
        assert child.pid != first
        assert verdicts == []
        assert await ended(child) == 0

    run(scenario)


def test_one_that_shares_every_port_is_an_exit(tmp_path: Path, run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second time is an end like any other, and no third one follows."""
    monkeypatch.setattr(module, "listens_alone", lambda _pid, _port: False)

    async def scenario() -> None:
        child = await make(run_dir, alone=True).spawn(a_plan(tmp_path))
        while not child._ended.done():
            assert not await child.is_ready()
            await asyncio.sleep(0.01)
        assert await child.wait() == -signal.SIGKILL
        await child.aclose()

    run(scenario)


def test_a_load_that_has_failed_for_good_ends_the_child(tmp_path: Path, run_dir: Path) -> None:
    """A server that stays behind a failed load is ended when it says so; one that says so while it loads is another kind."""

    async def scenario() -> None:
        child = await make(run_dir, failed=503).spawn(a_plan(tmp_path, load_secs=60))
        while not child._ended.done():
            assert not await child.is_ready()
            await asyncio.sleep(0.01)
        assert await child.wait() == -signal.SIGKILL
        await child.aclose()

    run(scenario)


def test_a_child_whose_health_says_nothing_is_asked_to_compute(tmp_path: Path, run_dir: Path) -> None:
    """One request, once; it is ready when that is answered, whatever the answer is."""
    record = tmp_path / "record"

    async def scenario() -> None:
        child = await served(make(run_dir, proof=b'{"messages":[],"max_tokens":1}'), a_plan(tmp_path, record=record))
        assert await child.is_ready()
        assert [row["path"] for row in recorded(record, "request")].count("/v1/chat/completions") == 1
        assert await ended(child) == 0

    run(scenario)


def test_a_folder_is_known_under_its_real_path_too(tmp_path: Path, run_dir: Path) -> None:
    """Some engines resolve links in what they list, and a data folder may be one."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")

    async def scenario() -> None:
        plan = a_plan(tmp_path, wrong_alias=str((tmp_path / "real").resolve()))
        child = await served(make(run_dir), plan._replace(listed=str(tmp_path / "link")))
        assert await ended(child) == 0
        other = await make(run_dir).spawn(plan._replace(listed="/elsewhere"))
        await until(lambda: "listening" in " ".join(other.last_lines(5)) or other.progress() > 0)
        assert not await other.is_ready()
        await ended(other)

    run(scenario)


def test_ports_just_given_are_not_given_again(tmp_path: Path, run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two children that have not bound yet never get the same port."""
    monkeypatch.setattr(module, "free_port", iter((7001, 7001, 7002)).__next__)

    async def scenario() -> None:
        children = make(run_dir)
        pair = [await children.spawn(a_plan(tmp_path, key, exit_at_start=3)) for key in ("one", "two")]
        assert [child.port for child in pair] == [7001, 7002]
        for child in pair:
            assert await asyncio.wait_for(child.wait(), 30) == 3
            await child.aclose()

    run(scenario)


def test_term_can_be_ignored_and_kill_cannot(tmp_path: Path, run_dir: Path) -> None:
    """Signals reach exactly that pid; a killed child reports the signal's number, and signalling the dead does nothing."""

    async def scenario() -> None:
        child = await served(make(run_dir), a_plan(tmp_path, ignore_term=1))
        child.signal(signal.SIGTERM)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(child.wait(), 0.2)
        child.signal(signal.SIGKILL)
        assert await asyncio.wait_for(child.wait(), 30) == -signal.SIGKILL
        child.signal(signal.SIGTERM)
        assert await child.wait() == -signal.SIGKILL
        assert PROCESSES.start_time(child.pid) == ""
        await child.aclose()
        await child.aclose()

    run(scenario)


def test_cancelling_one_waiter_leaves_the_others(tmp_path: Path, run_dir: Path) -> None:
    """`wait` may be asked by many and given up by some."""

    async def scenario() -> None:
        child = await served(make(run_dir), a_plan(tmp_path))
        impatient, patient = asyncio.ensure_future(child.wait()), asyncio.ensure_future(child.wait())
        await asyncio.sleep(0)
        impatient.cancel()
        child.signal(signal.SIGTERM)
        assert await asyncio.wait_for(patient, 30) == 0
        await child.aclose()

    run(scenario)


def test_without_pidfds_a_thread_waits(tmp_path: Path, run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Systems without the call learn of an end all the same."""
    monkeypatch.delattr(exits.os, "pidfd_open")

    async def scenario() -> None:
        child = await served(make(run_dir), a_plan(tmp_path))
        assert await ended(child) == 0

    run(scenario)


def test_elsewhere_a_pipe_ties_children(tmp_path: Path, run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a death signal one watched pipe ties all children; letting go of it ends those that live (D28)."""
    monkeypatch.setattr(tether, "has_death_signal", lambda: False)

    async def scenario() -> None:
        children = make(run_dir)
        pair = [await served(children, a_plan(tmp_path, key, ignore_term=1)) for key in ("one", "two")]
        children.close()
        for child in pair:
            assert await asyncio.wait_for(child.wait(), 30) == -signal.SIGKILL
            await child.aclose()
        children.close()

    run(scenario)


def test_on_windows_a_job_ties_children(tmp_path: Path, run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no exec, the engine is started directly and put into a job."""
    tied = []
    monkeypatch.setattr(tether, "has_shim", lambda: False)
    monkeypatch.setattr(tether, "tie_on_windows", lambda process: tied.append(process.pid) or 1)

    async def scenario() -> None:
        child = await served(make(run_dir), a_plan(tmp_path))
        assert tied == [child.pid]
        assert await ended(child) == 0

    run(scenario)


def test_it_works_on_uvloop(tmp_path: Path, run_dir: Path) -> None:
    """The daemon's loop watches process ends as asyncio's does."""
    uvloop = pytest.importorskip("uvloop")

    async def scenario() -> None:
        child = await served(make(run_dir), a_plan(tmp_path))
        assert await ended(child) == 0

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(asyncio.wait_for(scenario(), 120))


def test_twenty_cycles_leak_nothing(tmp_path: Path, run_dir: Path) -> None:
    """No descriptor, no process, no file more after twenty starts and stops."""

    async def open_files() -> int:
        for _ in range(20):  # connections are closed in the next turns
            await asyncio.sleep(0)
        return len(list(Path("/proc/self/fd").iterdir()))

    async def scenario() -> None:
        children, plan = make(run_dir), a_plan(tmp_path)
        assert await ended(await served(children, plan)) == 0
        before = await open_files()
        for _ in range(20):
            assert await ended(await served(children, plan)) == 0
        assert await open_files() == before
        assert sorted(path.suffix for path in run_dir.iterdir()) == [".1", ".log"]
        tasks = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        assert all("llama" not in Path(f"/proc/{pid}/cmdline").read_text() for pid in tasks)

    run(scenario)


def orphaned(tmp_path: Path, run_dir: Path, **switches: Any) -> subprocess.Popen[bytes]:
    """A live stub with a pidfile, started as no child of the adapter's, as an earlier daemon's would be."""
    program = stub_server(tmp_path / "engine", **switches)
    process = subprocess.Popen(
        [program, "--port", "0", "--alias", "old"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    while b"listening" not in process.stderr.readline():
        pass
    files = RunFiles(run_dir, "old")
    files.write_key("k")
    files.write_pid(PidRecord(process.pid, PROCESSES.start_time(process.pid), "b1", "old"))
    return process


@pytest.mark.parametrize(("switches", "status"), [({}, 0), ({"ignore_term": 1}, -9)])
def test_orphans_are_found_and_reaped(tmp_path: Path, run_dir: Path, switches: dict[str, Any], status: int) -> None:
    """A live child of an earlier daemon is named by its pidfile and ended, by KILL where TERM is ignored (G3)."""
    process = orphaned(tmp_path, run_dir, **switches)

    async def scenario() -> None:
        children = make(run_dir, Hurried())
        (orphan,) = children.orphans()
        assert (orphan.key, orphan.pid, orphan.tag) == ("old", process.pid, "b1")
        await children.reap(orphan)
        assert children.orphans() == []
        assert list(run_dir.iterdir()) == []
        await children.reap(orphan)

    run(scenario)
    assert process.wait(30) == status
    process.communicate()


@pytest.mark.parametrize(
    ("deadly", "sent", "ends", "left"),
    [
        ((15, 9), [15], 0.0, 0),
        ((9,), [15, 15, 9], 12.0, 0),
        ((), [15, 15, 9], 22.0, 1),
    ],
)
def test_an_orphan_climbs_the_ladder_of_every_child(
    run_dir: Path, deadly: tuple[int, ...], sent: list[int], ends: float, left: int
) -> None:
    """TERM, ten seconds, TERM, two seconds, KILL (D31); one that survives even that keeps its pidfile."""
    RunFiles(run_dir, "m").write_pid(PidRecord(7, "5", "b1", "m"))
    processes, clock = FakeProcesses({7: "5"}, deadly), FakeClock(0.0)

    async def scenario() -> None:
        children = make(run_dir, clock, processes)
        reaping = asyncio.create_task(children.reap(children.orphans()[0]))
        while not reaping.done():
            await clock.advance(0.25)
        await reaping
        assert [number for _, number in processes.signals] == sent
        assert clock.now() - ends < 1.0
        assert len(list(run_dir.iterdir())) == left

    run(scenario)


def test_another_users_process_is_left_alone(run_dir: Path) -> None:
    """Its pidfile lies in our folder, but it may not be signalled: the daemon starts all the same."""
    RunFiles(run_dir, "m").write_pid(PidRecord(7, "5", "b1", "m"))
    processes, clock = FakeProcesses({7: "5"}), FakeClock()
    processes.foreign = {7}

    async def scenario() -> None:
        children = make(run_dir, clock, processes)
        reaping = asyncio.create_task(children.reap(children.orphans()[0]))
        await clock.advance(30.0)
        await reaping

    run(scenario)
    assert processes.signals == []


def test_a_recycled_pid_is_no_orphan(run_dir: Path) -> None:
    """A pidfile whose start time is not the process's is stale: the stranger lives, the file goes."""
    RunFiles(run_dir, "old").write_pid(PidRecord(7, "5", "b1", "old"))
    processes = FakeProcesses({7: "6"})
    assert make(run_dir, processes=processes).orphans() == []
    assert list(run_dir.iterdir()) == []
    assert processes.signals == []


def test_our_own_children_are_no_orphans(tmp_path: Path, run_dir: Path) -> None:
    """A running daemon does not take its children for somebody else's; foreign and broken pidfiles are passed over."""
    (run_dir / "foreign.pid").write_text("123")
    (run_dir / "broken.pid").write_text('{"pid": "x"}')

    async def scenario() -> None:
        children = make(run_dir)
        child = await served(children, a_plan(tmp_path))
        assert children.orphans() == []
        assert [orphan.pid for orphan in make(run_dir).orphans()] == [child.pid]
        assert await ended(child) == 0

    run(scenario)
    assert (run_dir / "foreign.pid").exists()


def on_a_socket(plan: LaunchPlan, run_dir: Path, **more: Any) -> LaunchPlan:
    return plan._replace(socket=socket_path(str(run_dir), plan.key), auth=False)._replace(**more)


def test_the_words_of_a_child_on_a_port_are_what_they_always_were(tmp_path: Path, run_dir: Path) -> None:
    """Nothing about sockets may change them (contract): host, port and key file, behind the plan's own words."""

    async def scenario() -> None:
        plan = a_plan(tmp_path)
        child = await served(make(run_dir), plan)
        key_file = str(RunFiles(run_dir, plan.key).key_file)
        assert child.argv == (
            *(*plan.words, "--host", "127.0.0.1", "--port", str(child.port)),
            *("--api-key-file", key_file),
        )
        assert await ended(child) == 0

    run(scenario)


def test_a_child_on_a_socket(tmp_path: Path, run_dir: Path) -> None:
    """It listens on its file and nowhere else, asks for no key, and the file is its owner's alone and goes with it."""

    async def scenario() -> None:
        plan = on_a_socket(a_plan(tmp_path), run_dir)
        child = await served(make(run_dir), plan)
        assert child.argv == (*plan.words, "--host", plan.socket)
        assert child.port == 0
        path = Path(plan.socket)
        assert stat.S_ISSOCK(path.stat().st_mode)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert path == RunFiles(run_dir, plan.key).socket
        assert (await child.upstream.fetch(ChildCall(b"GET", b"/slots"), 10)).status == 200
        assert not RunFiles(run_dir, plan.key).key_file.exists()
        assert await ended(child) == 0
        assert [file.name for file in run_dir.iterdir()] == ["org%2Fmodel%3Atag.log"]

    run(scenario)


def test_a_child_on_a_socket_may_have_a_key(tmp_path: Path, run_dir: Path) -> None:
    """Where configuration wants one: then others who could open the file are refused."""

    async def scenario() -> None:
        plan = on_a_socket(a_plan(tmp_path), run_dir, auth=True)
        child = await served(make(run_dir), plan)
        assert child.argv[-4:-1] == ("--host", plan.socket, "--api-key-file")
        stranger = door(plan.socket, "", plan.model)
        assert (await stranger.fetch(ChildCall(b"GET", b"/v1/models"), 10)).status == 401
        await stranger.aclose()
        assert await ended(child) == 0

    run(scenario)


def test_a_child_on_a_port_may_go_without_a_key(tmp_path: Path, run_dir: Path) -> None:
    """No file, no word; and one that a successor has meanwhile is not taken along at its end."""

    async def scenario() -> None:
        plan = a_plan(tmp_path)._replace(auth=False)
        child = await served(make(run_dir), plan)
        assert "--api-key-file" not in child.argv
        files = RunFiles(run_dir, plan.key)
        assert not files.key_file.exists()
        files.write_key("successor")
        assert await ended(child) == 0
        assert files.key_file.exists()

    run(scenario)


def test_a_kind_that_takes_no_key_gets_none(tmp_path: Path, run_dir: Path) -> None:
    """D21: whatever the plan wants."""

    async def scenario() -> None:
        children = make(run_dir)
        children.specs = {EngineKind.LLAMACPP: replace(LLAMACPP, key_file_flag="")}
        child = await served(children, a_plan(tmp_path))
        assert child.argv[-2:] == ("--port", str(child.port))
        assert list(run_dir.glob("*.apikey")) == []
        assert await ended(child) == 0

    run(scenario)


def test_a_socket_that_was_left_behind_is_no_obstacle(tmp_path: Path, run_dir: Path) -> None:
    """A file where nobody listens cannot be bound: it is removed before the next child of the same name."""

    async def scenario() -> None:
        plan = on_a_socket(a_plan(tmp_path), run_dir)
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(plan.socket)
        child = await served(make(run_dir), plan)
        assert await ended(child) == 0
        assert not Path(plan.socket).exists()

    run(scenario)


def test_sockets_of_the_dead_are_swept_when_orphans_are_looked_for(tmp_path: Path, run_dir: Path) -> None:
    """With a stale pidfile or without any; those of the living stay."""

    async def scenario() -> None:
        children = make(run_dir)
        plan = on_a_socket(a_plan(tmp_path), run_dir)
        child = await served(children, plan)
        for name in ("gone", "nobody"):
            with socket.socket(socket.AF_UNIX) as dead:
                dead.bind(socket_path(str(run_dir), name))
        RunFiles(run_dir, "gone").write_pid(PidRecord(2**22 + 1, "0", "b1", "gone"))
        later = make(run_dir)
        assert [orphan.key for orphan in later.orphans()] == [plan.key]
        assert [path.name for path in run_dir.glob("*.sock")] == [Path(plan.socket).name]
        assert await ended(child) == 0

    run(scenario)


def test_an_orphan_s_socket_goes_with_it(tmp_path: Path, run_dir: Path) -> None:
    """Reaped by the next daemon, file and all."""

    async def scenario() -> None:
        child = await served(make(run_dir), on_a_socket(a_plan(tmp_path), run_dir))
        later = make(run_dir)
        (orphan,) = later.orphans()
        ending = asyncio.ensure_future(child.wait())  # it is still this process's child: somebody has to bury it
        await later.reap(orphan)
        await ending
        assert list(run_dir.glob("*.sock")) == []
        await child.aclose()

    run(scenario)


def test_whether_it_sleeps_is_read_in_its_log(tmp_path: Path, run_dir: Path) -> None:
    """The last that it said about that counts, until much else was said; a kind that never sleeps does not."""

    async def scenario() -> None:
        child = await served(make(run_dir), a_plan(tmp_path))
        log = next(run_dir.glob("*.log"))

        def says(*lines: str) -> bool:
            with log.open("a") as file:
                file.write("".join(f"{line}\n" for line in lines))
            return bool(child.asleep())

        falls, wakes = LLAMACPP.sleep_words
        assert not child.asleep()
        assert says(f"srv  handle_sleep: {falls}", "srv  log_server_r: done request: GET /health 200")
        assert not says(f"srv  handle_sleep: {wakes}")
        assert says(falls)
        assert not says(*["srv  update_slots: busy"] * 30)
        assert await ended(child) == 0

    run(scenario)
