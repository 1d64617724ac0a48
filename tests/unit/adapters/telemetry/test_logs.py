"""The daemon log: both places, one line an event, rotation, levels."""

import io
import logging
import os
import sys

import pytest

from blazar.adapters.telemetry import logs
from blazar.adapters.telemetry.lines import clean
from blazar.adapters.telemetry.logs import DaemonLog
from blazar.application.config.log_filter import parse_filter
from tests.fakes.clock import FakeClock
from tests.fakes.telemetry import a_served


class Both:
    """A log in a folder, stderr in a file beside it; `run` logs inside and answers both texts."""

    def __init__(self, folder, wanted=""):
        self.path, self.errors = folder / "run" / "daemon.log", folder / "stderr"
        self.wanted = wanted

    def run(self, act):
        with self.errors.open("w") as stderr:
            log = DaemonLog(self.path, parse_filter(self.wanted), FakeClock(), stderr).open()
            try:
                act(log)
            finally:
                log.close()
        return self.path.read_text(), self.errors.read_text()


@pytest.fixture
def both(tmp_path):
    return Both(tmp_path)


def test_a_line_stands_in_both_places(both):
    """Time, level, logger and message, the same in the file and on stderr."""
    file, errors = both.run(lambda log: logging.getLogger("blazar.x").info("loaded %s", "tiny"))
    assert file == errors
    assert file.endswith("Z INFO blazar.x loaded tiny\n")
    assert file[10] == "T"


def test_a_traceback_stays_in_the_file(both):
    """A person at the terminal gets the sentence; the file has the rest, indented."""

    def act(log):
        try:
            int("boom")
        except ValueError:
            logging.getLogger("blazar").exception("it broke")

    file, errors = both.run(act)
    assert errors.count("\n") == 1
    assert "ERROR blazar it broke\n  Traceback" in file
    assert "\n  ValueError: invalid literal" in file


def test_text_of_clients_cannot_forge_lines(both):
    """Newlines and escape sequences in messages and paths are shown, not obeyed."""

    def act(log):
        logging.getLogger("blazar").warning("name %s", "a\nfake line\x1b[31m")
        log.on_served(a_served(path="/x\r\nGET /y"))

    file, _ = both.run(act)
    assert file.count("\n") == 2
    assert r"a\x0afake line\x1b[31m" in file
    assert r"POST /x\x0d\x0aGET /y 200" in file


def test_text_of_clients_cannot_fill_the_log(both):
    """A path may be 64 KiB long and a name that nothing has may be as long as a body."""
    file, _ = both.run(lambda log: log.on_served(a_served(path="/" + "x" * 60_000, model="y" * 1_000_000)))
    assert len(file) < 1000
    assert " model=yyy" in file


def test_an_access_line(both):
    """One request, one line: who, what, how long, how much."""
    file, _ = both.run(lambda log: log.on_served(a_served()))
    assert file == (
        "2027-01-15T08:00:00.000Z INFO blazar.access POST /v1/chat/completions 200 250.0ms model=tiny dialect=openai "
        "key=editor queue=10.0ms first=50.0ms tokens=12+34 peer=127.0.0.1 trace=plm-0011-1\n"
    )


def test_a_bare_access_line(both):
    """What a request has not is left out."""
    served = a_served(
        key="", model="", dialect="", stream=False, queue_seconds=0, completion_tokens=0, path="/healthz", method="GET"
    )
    file, _ = both.run(lambda log: log.on_served(served))
    assert file.endswith("INFO blazar.access GET /healthz 200 250.0ms peer=127.0.0.1 trace=plm-0011-1\n")


def test_a_query_is_not_logged(both):
    """A key in a query string never reaches the log (case J12)."""
    file, errors = both.run(lambda log: log.on_served(a_served(path="/v1/realtime?api_key=sk-x")))
    assert "/v1/realtime 200" in file
    assert "sk-x" not in file + errors


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        ("", ["info", "access"]),
        ("debug", ["debug", "info", "access"]),
        ("error", []),
        ("info,blazar.access=off", ["info"]),
        ("off,blazar.x=trace", ["trace", "debug", "info"]),
        ("info,httpx=info", ["info", "access", "httpx"]),
    ],
)
def test_the_filter_decides(tmp_path, wanted, told):
    """Levels for all and for single loggers; chatter of libraries only on demand."""

    def act(log):
        logger = logging.getLogger("blazar.x")
        logger.log(5, "trace")
        logger.debug("debug")
        logger.info("info")
        log.on_served(a_served())
        logging.getLogger("httpx").info("httpx")

    file, _ = Both(tmp_path, wanted).run(act)
    words = ["access" if "blazar.access" in line else line.rsplit(" ", 1)[1] for line in file.splitlines()]
    assert words == told


def test_another_filter_holds_from_then_on(both):
    """Loggers that it does not name get their own level back."""
    both.wanted = "error,blazar.x=trace"

    def act(log):
        logger = logging.getLogger("blazar.x")
        logger.debug("first")
        log.on_served(a_served())
        log.filter_by(parse_filter("info"))
        logger.debug("second")
        logger.info("third")
        log.on_served(a_served())

    file, _ = both.run(act)
    words = ["access" if "blazar.access" in line else line.rsplit(" ", 1)[1] for line in file.splitlines()]
    assert words == ["first", "third", "access"]
    assert logging.getLogger("blazar.x").level == logging.NOTSET


def test_the_root_logger_is_given_back(both):
    """After closing nothing of ours is left in `logging`."""
    root = logging.getLogger()
    before = (root.level, list(root.handlers), logging.getLogger("httpx").level)
    both.run(lambda log: None)
    assert (root.level, list(root.handlers), logging.getLogger("httpx").level) == before


def test_a_large_file_is_set_aside_at_start(both, monkeypatch):
    """At the limit the old file becomes daemon.log.1; below it lines are added to it."""
    monkeypatch.setattr(logs, "ROTATE_AT", 10)
    both.path.parent.mkdir()
    both.path.write_text("short\n")
    file, _ = both.run(lambda log: logging.getLogger("blazar").info("second"))
    assert file.startswith("short\n")
    file, _ = both.run(lambda log: logging.getLogger("blazar").info("third"))
    assert "second" not in file
    assert "second" in both.path.with_name("daemon.log.1").read_text()
    assert logs.ROTATE_AT == 10


def test_the_limit_is_ten_mebibytes():
    """The figure of the contract."""
    assert logs.ROTATE_AT == 10 * 1024 * 1024


def test_the_file_is_its_owners(both):
    """Logs name models, keys and paths: nobody else reads them."""
    both.run(lambda log: None)
    assert both.path.stat().st_mode & 0o077 == 0


def test_stderr_that_is_the_log_is_not_written_twice(tmp_path):
    """A launcher may send stderr to the same file; each line stands there once."""
    path = tmp_path / "daemon.log"
    with path.open("a") as stderr:
        log = DaemonLog(path, parse_filter(""), FakeClock(), stderr).open()
        logging.getLogger("blazar").info("once")
        log.close()
    assert path.read_text().count("once") == 1


@pytest.mark.parametrize("kind", ["closed", "pipe", "memory"])
def test_a_stderr_that_is_gone_stops_nothing(tmp_path, kind):
    """The file goes on when the terminal is closed, its reader has left, or there is no descriptor."""
    stderr = io.StringIO()
    if kind == "closed":
        stderr = (tmp_path / "e").open("w")
        stderr.close()
    elif kind == "pipe":
        reading, writing = os.pipe()
        os.close(reading)
        stderr = os.fdopen(writing, "w", buffering=1)
    path = tmp_path / "daemon.log"
    log = DaemonLog(path, parse_filter(""), FakeClock(), stderr).open()
    logging.getLogger("blazar").info("first")
    log.close()
    if kind == "pipe":
        with pytest.raises(BrokenPipeError):
            stderr.close()
    assert path.read_text().endswith("first\n")


def test_a_folder_that_cannot_be_written_is_told(tmp_path):
    """The daemon learns at once that it has no log, not at the first line."""
    (tmp_path / "run").write_text("a file")
    with pytest.raises(OSError, match="run"):
        DaemonLog(tmp_path / "run" / "daemon.log", parse_filter(""), FakeClock(), sys.__stderr__).open()
    assert not [thread for thread in __import__("threading").enumerate() if thread.name.startswith("log-")]


def test_arguments_that_do_not_fit_are_still_a_line(both):
    """A mistake in a log call costs its arguments, not the line and not the program."""
    record = logging.LogRecord("blazar", logging.INFO, "x.py", 1, "%d tokens", ("many",), None)
    file, _ = both.run(lambda log: log._handler.emit(record))
    assert file.endswith("%d tokens\n")


def test_surrogates_do_not_break_the_file(both):
    """Undecodable names from the file system or a client are written as escapes."""
    file, _ = both.run(lambda log: logging.getLogger("blazar").info("%s", "\udcff"))
    assert r"\udcff" in file


def test_clean_leaves_ordinary_text_alone():
    """Letters of every script pass; separators that some viewers break lines at do not."""
    assert clean("Grüße 世界") == "Grüße 世界"
    assert clean("a\u2028b") == r"a\x2028b"


def test_no_line_and_no_traceback_holds_a_secret(both):
    """Whoever logs it, and wherever it stood."""
    secret = "plm_" + "5ecret" * 8

    def act(log):
        logging.getLogger("blazar").warning("no model %r", secret)
        log.on_served(a_served(model=secret, path=f"/v1/models/{secret}"))
        try:
            int(secret)
        except ValueError:
            logging.getLogger("blazar").exception("it broke")

    for text in both.run(act):
        assert "plm_…" in text
        assert secret not in text
