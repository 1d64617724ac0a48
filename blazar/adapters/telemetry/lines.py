"""How log lines look: one line an event, whatever text a client sent. Formats, decides nothing."""

import logging
import traceback
from datetime import UTC, datetime
from functools import lru_cache
from types import TracebackType
from typing import NamedTuple

from blazar.application.ports.telemetry import Served

Raised = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None] | None

# A newline or an escape sequence in a path or a message would forge lines and colour terminals.
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029)}

_WIDEST = 256


class Line(NamedTuple):
    """One record of the logging module, its message already put together."""

    at: float
    level: int
    logger: str
    message: str
    raised: Raised


class Access(NamedTuple):
    """One finished request, not formatted yet."""

    at: float
    served: Served


def clean(text: str) -> str:
    """`text` on one line without control characters."""
    return text if text.isprintable() else text.translate(_CONTROLS)


def _short(text: str) -> str:
    """What a client may fill a log with, at most: a path may be 64 KiB long and the name of no model 50 MiB."""
    return text if len(text) <= _WIDEST else f"{text[:_WIDEST]}…"


def stamp(at: float) -> str:
    """Unix seconds as UTC with milliseconds."""
    second, fraction = divmod(round(at * 1e6), 10**6)
    return f"{_second(second)}.{fraction // 1000:03d}Z"


@lru_cache(maxsize=4)
def _second(second: int) -> str:
    """Formatting a date costs more than the rest of a line, and lines come by the hundred a second."""
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def line_text(line: Line) -> str:
    """`time LEVEL logger message`."""
    return f"{stamp(line.at)} {logging.getLevelName(line.level)} {line.logger} {clean(line.message)}"


def access_text(access: Access) -> str:
    """The line of one request. The query stays out: clients put secrets there (case J12)."""
    served = access.served
    words = [
        f"{stamp(access.at)} INFO blazar.access {served.method} {_short(served.path.partition('?')[0])} {served.status}",
        f"{served.seconds * 1000:.1f}ms",
        *([f"model={_short(served.model)}"] if served.model else ()),
        *([f"dialect={served.dialect}"] if served.dialect else ()),
        *([f"key={served.key}"] if served.key else ()),
        *([f"queue={served.queue_seconds * 1000:.1f}ms"] if served.queue_seconds > 0 else ()),
        *(
            [f"first={served.first_byte_seconds * 1000:.1f}ms"]
            if served.stream and served.first_byte_seconds > 0
            else ()
        ),
        *([f"tokens={served.prompt_tokens}+{served.completion_tokens}"] if served.completion_tokens else ()),
        *(["left"] if served.left else ()),
        f"peer={served.peer}",
        f"trace={served.trace}",
    ]
    return clean(" ".join(words))


def traceback_text(raised: Raised) -> str:
    """The traceback, indented so that no line of it passes for a log line; "" without one."""
    if not raised or raised[0] is None:
        return ""
    return "".join(f"  {row}\n" for row in "".join(traceback.format_exception(*raised)).splitlines())
