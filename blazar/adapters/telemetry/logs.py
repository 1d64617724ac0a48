"""The daemon's own log: everything that `logging` carries, teed to run/daemon.log and stderr by threads of their own.

`serve` owns the file under every launcher (contract). It is rotated only at start, so that `logs -f` can follow it. Tracebacks
go to the file; a person at the terminal gets the sentence.
"""

import logging
import os
import sys
from pathlib import Path
from typing import TextIO

from blazar.adapters.telemetry.flusher import Flusher
from blazar.adapters.telemetry.lines import Access, Line, access_text, line_text, traceback_text
from blazar.adapters.telemetry.rotation import GrowingFile
from blazar.application.config.log_filter import LogFilter
from blazar.application.ports.clock import Clock
from blazar.application.ports.telemetry import Served
from blazar.domain.harmless import without_secrets

ROTATE_AT = 10 * 2**20
"""Bytes at which the file is set aside when the daemon starts (contract)."""

QUIET = ("httpx", "httpcore", "hypercorn.access")
"""Loggers that repeat at info what our own lines say; a filter that names one turns it up again."""

ACCESS = "blazar.access"

logging.addLevelName(5, "TRACE")


class _Handler(logging.Handler):
    """Puts the message together and hands it over; a traceback is formatted later, it reads source files."""

    def __init__(self, flusher: Flusher[Line | Access]) -> None:
        super().__init__()
        self._flusher = flusher

    def emit(self, record: logging.LogRecord) -> None:
        try:
            message = record.getMessage()
        except (TypeError, ValueError):  # arguments that do not fit: the text alone is better than no line
            message = str(record.msg)
        self._flusher.put(Line(record.created, record.levelno, record.name, message, record.exc_info))


def _descriptor_of(stream: TextIO | None) -> int | None:
    """The open descriptor behind a stream, where there is one."""
    if stream is None:
        return None
    try:
        descriptor = stream.fileno()
        os.fstat(descriptor)
    except (ValueError, OSError):
        return None
    return descriptor


class DaemonLog:
    """The log while it is open. Everything that logs goes on using the standard library's loggers."""

    def __init__(self, path: Path, wanted: LogFilter, clock: Clock, stderr: TextIO | None = None) -> None:
        self._file = GrowingFile(path, ROTATE_AT)
        self._wanted = wanted
        self._clock = clock
        self._stderr: TextIO | None = stderr if stderr is not None else sys.stderr
        self._to_file: Flusher[Line | Access] = Flusher("log-file", self._write_file)
        # Apart from the file's: a launcher that never reads its pipe must not stop the file.
        self._to_stderr: Flusher[str] = Flusher("log-stderr", self._write_stderr)
        self._handler = _Handler(self._to_file)
        self._levels: dict[str | None, int] = {}
        self._tells_access = False

    @property
    def dropped(self) -> int:
        """Lines that could not be kept."""
        return self._to_file.dropped

    def open(self) -> "DaemonLog":
        """Rotate, take over the root logger, begin to write. Raises OSError when the file cannot be written."""
        self._file.rotate_if_full()
        descriptor = _descriptor_of(self._stderr)
        if descriptor is None or self._file.is_file_of(descriptor):
            self._stderr = None  # closed, or the launcher sent it to this very file: every line would stand there twice
        self.filter_by(self._wanted)
        logging.getLogger().addHandler(self._handler)
        self._to_file.start()
        self._to_stderr.start()
        return self

    def filter_by(self, wanted: LogFilter) -> None:
        """From now on these levels hold; loggers that are no longer named get their own back."""
        self._give_back()
        self._set_level(None, wanted.level)
        for name in QUIET:
            self._set_level(name, max(logging.WARNING, wanted.level))
        for name, level in wanted.loggers:
            self._set_level(name, level)
        self._tells_access = logging.getLogger(ACCESS).isEnabledFor(logging.INFO)

    def on_served(self, served: Served) -> None:
        """The access line of one request, formatted off the hot path."""
        if self._tells_access:
            self._to_file.put(Access(served.ended or self._clock.wall(), served))

    def close(self) -> None:
        """Write what is there, give the root logger back."""
        logging.getLogger().removeHandler(self._handler)
        self._give_back()
        self._to_file.stop()
        self._to_stderr.stop(within=2.0)
        self._file.close()

    def _give_back(self) -> None:
        for name, level in self._levels.items():
            logging.getLogger(name).setLevel(level)
        self._levels.clear()

    def _set_level(self, name: str | None, level: int) -> None:
        logger = logging.getLogger(name)
        self._levels.setdefault(name, logger.level)
        logger.setLevel(level)

    def _write_file(self, batch: list[Line | Access]) -> None:
        texts = []
        for item in batch:
            if isinstance(item, Access):
                text, detail = access_text(item), ""
            else:
                text, detail = line_text(item), traceback_text(item.raised)
            text, detail = without_secrets(text), without_secrets(detail)
            texts.append(f"{text}\n{detail}")
            if self._stderr is not None:
                self._to_stderr.put(text)
        self._file.append("".join(texts).encode(errors="backslashreplace"))

    def _write_stderr(self, batch: list[str]) -> None:
        if self._stderr is None:
            return
        try:
            self._stderr.write("".join(f"{text}\n" for text in batch))
            self._stderr.flush()
        except (OSError, ValueError):  # the terminal is gone; the file goes on
            self._stderr = None
