"""The daemon as a process: started, joined, refused, stopped."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from blazar.adapters.cli import background
from blazar.adapters.cli.background import (
    REPORT,
    Bind,
    ensure_daemon,
    last_line,
    reporting,
    start_daemon,
    started_with,
    stop_daemon,
)
from blazar.adapters.cli.exits import NotStarted, exit_code
from blazar.adapters.cli.locate import Note, find_target, read_note
from blazar.domain import teaching
from blazar.domain.errors import BindConflict, Busy, Fault, Refusal, Unreachable
from tests.fakes.processes import FakeProcesses
from tests.support.command_line import FakeRoot, StubDaemon

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the stub reads /proc")
WATCHDOG = 60.0
STUB = Path(__file__).parent / "stub_daemon.py"


class StubbornRoot(FakeRoot):
    """A fake root whose program is the stub, and which finds daemons as the real one does."""

    def as_program(self, mode: str) -> None:
        self.env = dict(os.environ)
        self.program = (sys.executable, "-S", str(STUB), mode, str(self.places.run))

    def target(self) -> background.Any:
        return find_target(None, {}, self.places.run, self.processes) if self.note is None else super().target()


@pytest.fixture
def own(tmp_path: Path) -> Iterator[StubbornRoot]:
    """Its daemon is gone at the end, by its pid."""
    root = StubbornRoot(tmp_path)
    yield root
    note = read_note(root.places.run, root.processes)
    if note is not None:
        os.kill(note.pid, signal.SIGKILL)


# The Popen object of a daemon that outlives it is dropped on purpose; here the test's process waits for it.
@pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning")
class TestStarting:
    def test_it_returns_when_the_daemon_is_ready(self, own: StubbornRoot) -> None:
        """The note names the process that was started; its words carry address, port and file."""
        own.as_program("fine")
        note = start_daemon(own, Bind("127.0.0.1", 0, "/c.toml"), WATCHDOG)
        assert note == read_note(own.places.run, own.processes)
        words = json.loads((own.places.run / "words.json").read_text())
        assert words == ["serve", "--host", "127.0.0.1", "--port", "0", "--config", "/c.toml"]
        assert words[1:] == started_with(note.pid)
        assert os.getsid(note.pid) == note.pid  # Ctrl-C here does not reach it
        stop_daemon(own.processes, note, WATCHDOG)
        assert own.processes.start_time(note.pid) == ""

    def test_what_it_reports_is_passed_on_with_its_exit_code(self, own: StubbornRoot) -> None:
        """Exit 3 of a bind conflict stays 3, and the sentence is the daemon's."""
        own.as_program("taken")
        with pytest.raises(NotStarted, match=r"^127\.0\.0\.1:1 is taken by another program$") as failed:
            start_daemon(own, Bind(), WATCHDOG)
        assert exit_code(failed.value) == 3

    def test_the_last_log_line_explains_the_rest(self, own: StubbornRoot) -> None:
        """Where it said nothing on the pipe, its log did."""
        own.as_program("logged")
        with pytest.raises(NotStarted, match=r"exit code 1.*it said last"):
            start_daemon(own, Bind(), WATCHDOG)

    def test_an_old_log_explains_nothing(self, own: StubbornRoot) -> None:
        """The last line of an earlier daemon is not this one's reason; death by a signal is exit 1."""
        (own.places.run / "daemon.log").write_text("goodbye\n")
        own.as_program("killed")
        with pytest.raises(NotStarted) as failed:
            start_daemon(own, Bind(), WATCHDOG)
        assert "goodbye" not in str(failed.value)
        assert exit_code(failed.value) == 1

    def test_a_slow_start_is_left_alone(self, own: StubbornRoot) -> None:
        """After the bound the verb gives up, the daemon does not."""
        own.as_program("slow")
        with pytest.raises(Busy, match="goes on starting"):
            start_daemon(own, Bind(), 1.0)
        while (note := read_note(own.places.run, own.processes)) is None:
            pass
        assert own.processes.start_time(note.pid) != ""


@pytest.mark.filterwarnings("ignore:subprocess .* is still running:ResourceWarning")
class TestEnsuring:
    def test_a_running_daemon_is_used(self, own: StubbornRoot, stub: StubDaemon) -> None:
        """Nothing is started where one answers."""
        own.use(stub)
        assert ensure_daemon(own, Bind()).url == stub.url

    def test_a_named_daemon_is_not_replaced(self, own: StubbornRoot) -> None:
        """With --host the user means that one: exit 4 when it does not answer."""
        own.as_program("fine")
        own.note, own.explicit = Note(own.url, 1, "0"), True
        with pytest.raises(Unreachable):
            ensure_daemon(own, Bind())
        assert not (own.places.run / "words.json").exists()

    def test_without_one_it_is_started(self, own: StubbornRoot, monkeypatch: pytest.MonkeyPatch) -> None:
        """`run` on a fresh machine needs no `serve` (D3)."""
        monkeypatch.setattr("blazar.adapters.cli.locate.DEFAULT_PORT", 9)
        own.as_program("fine")
        client = ensure_daemon(own, Bind(), WATCHDOG)
        note = read_note(own.places.run, own.processes)
        assert note is not None
        assert client.url == note.url
        stop_daemon(own.processes, note, WATCHDOG)

    def test_the_second_of_two_starters_joins_the_first(
        self, own: StubbornRoot, stub: StubDaemon, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Its own daemon ends with 3 because the folder is taken; then the other's note is there."""
        monkeypatch.setattr("blazar.adapters.cli.locate.DEFAULT_PORT", 9)

        def lose(*_: object) -> Note:
            facts = {"url": stub.url, "pid": os.getpid(), "start_time": own.processes.start_time(os.getpid())}
            (own.places.run / "daemon.json").write_text(json.dumps(facts))
            raise NotStarted("taken", 3)

        monkeypatch.setattr(background, "start_daemon", lose)
        assert ensure_daemon(own, Bind()).url == stub.url
        (own.places.run / "daemon.json").unlink()  # this test's own pid stands in it

    def test_a_daemon_that_never_gets_ready_is_reported(self, own: StubbornRoot, stub: StubDaemon) -> None:
        """The wait is bounded."""
        stub.answers["GET", "/health"] = (503, {"status": "starting"})
        own.use(stub)
        with pytest.raises(Busy, match=teaching.starting()):
            ensure_daemon(own, Bind(), 0.1)

    def test_another_program_at_a_named_address_is_said(self, own: StubbornRoot, stub: StubDaemon) -> None:
        """The user named it, so nothing else is tried."""
        stub.answers["GET", "/health"] = (200, b"hello")
        own.note, own.url, own.explicit = Note(stub.url, 1, "0"), stub.url, True
        with pytest.raises(Fault, match="not a Blazar daemon"):
            ensure_daemon(own, Bind())


class TestStopping:
    def test_a_stubborn_daemon_is_not_killed(self, own: StubbornRoot) -> None:
        """Past the bound the user is told; SIGKILL would orphan nothing, but cut answers."""
        words = [sys.executable, "-S", str(STUB), "stubborn", str(own.places.run)]
        with subprocess.Popen(words) as process:
            while (note := read_note(own.places.run, own.processes)) is None:
                pass
            with pytest.raises(Busy, match="still runs"):
                stop_daemon(own.processes, note, 0.05)
            assert process.poll() is None
            process.kill()

    def test_a_stop_that_takes_long_says_so_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """While answers are under way a silent command looks dead; a quick one says nothing."""
        told: list[str] = []
        processes, note = FakeProcesses({7: "5"}), Note("http://x", 7, "5")
        stop_daemon(processes, note, waiting=lambda: told.append("waiting"))
        assert told == []
        waits = iter([False, True])
        processes = FakeProcesses({7: "5"})
        monkeypatch.setattr(processes, "ended_within", lambda *_: next(waits))
        stop_daemon(processes, note, waiting=lambda: told.append("waiting"))
        assert told == ["waiting"]

    def test_one_that_ends_gets_one_signal(self) -> None:
        """SIGTERM, to that pid."""
        processes = FakeProcesses({7: "5"})
        stop_daemon(processes, Note("http://x", 7, "5"))
        assert processes.signals == [(7, signal.SIGTERM)]

    @pytest.mark.parametrize("running", [{7: "6"}, {}])
    def test_a_pid_that_means_another_process_now_is_not_signalled(self, running: dict[int, str]) -> None:
        """It ended between reading the note and signalling; nothing is done and nothing is said."""
        processes = FakeProcesses(running)
        stop_daemon(processes, Note("http://x", 7, "5"))
        assert processes.signals == []

    def test_another_users_daemon_is_said_so(self) -> None:
        """A refusal, not a traceback."""
        processes = FakeProcesses({7: "5"})
        processes.foreign = {7}
        with pytest.raises(Refusal) as refused:
            stop_daemon(processes, Note("http://x", 7, "5"))
        assert str(refused.value) == teaching.daemon_of_another(7)


class TestReporting:
    def test_a_refusal_goes_to_the_pipe_and_on(self) -> None:
        """The parent prints what the daemon's stderr would have shown."""
        reader, writer = os.pipe()

        def refuse() -> int:
            assert REPORT not in os.environ
            raise BindConflict("taken")

        os.environ[REPORT] = str(writer)
        with pytest.raises(BindConflict):
            reporting(refuse, dict(os.environ))
        assert os.read(reader, 100) == b"taken"
        assert not os.get_inheritable(writer)
        os.close(reader)
        os.close(writer)

    def test_without_a_pipe_nothing_changes(self) -> None:
        """A daemon in the foreground, and a number that is no open file."""
        assert reporting(lambda: 7, {}) == 7
        assert reporting(lambda: 7, {REPORT: "x"}) == 7
        assert reporting(lambda: 7, {REPORT: "987654"}) == 7


def test_the_last_line_of_a_log(tmp_path: Path) -> None:
    """Blank lines at the end do not count; no file is no line."""
    path = tmp_path / "x.log"
    assert last_line(path) == ""
    path.write_bytes(b"a\n" * 5000 + b"the end \xff\n\n")
    assert last_line(path) == "the end \ufffd"
