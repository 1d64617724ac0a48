"""Who asked for what and how it ended: one JSON line a generation request, never its content.

Bounded and never in the way: a disk that is slow or full costs lines, which are counted, and no request waits for it.
"""

import asyncio
from pathlib import Path
from typing import Final

import msgspec

from blazar.adapters.telemetry.flusher import BOUND, Flusher
from blazar.adapters.telemetry.lines import stamp
from blazar.adapters.telemetry.rotation import GrowingFile
from blazar.application.ports.clock import Clock
from blazar.application.ports.telemetry import Served
from blazar.domain.names import LONGEST_NAME

ROTATE_AT = 16 * 2**20
"""Bytes of one generation of the file (setup document, `audit_log`)."""

GENERATION: Final = frozenset(
    {
        "/v1/chat/completions",
        "/v1/completions",
        "/v1/responses",
        "/v1/images/generations",
        "/v1/embeddings",
        "/v1/rerank",
        "/v1/reranking",
        "/rerank",
        "/reranking",
        "/v1/messages",
        "/api/chat",
        "/api/generate",
        "/api/embed",
        "/api/embeddings",
    }
)
"""The paths whose requests are generation requests: a model computed something. A batch's lines come by these, each for itself.

Not those that only cut texts into tokens, or count them.
"""


class AuditLine(msgspec.Struct, frozen=True, gc=False):
    """The fields of one line, in their order: those of the specification first.

    `work` to `load_ms` are what a queue must know to be played again: class, bound, and of the time in `ms` what was none of an engine's.
    """

    ts: str
    trace: str
    key: str
    method: str
    path: str
    model: str
    status: int
    ms: float
    priority: str
    queue_depth: int
    work: str = ""
    deadline_ms: float = 0.0
    queue_ms: float = 0.0
    load_ms: float = 0.0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    outcome: str = ""


def audit_line(at: float, served: Served) -> AuditLine:
    """What is kept of a request."""
    return AuditLine(
        ts=stamp(at),
        trace=served.trace,
        key=served.key,
        method=served.method,
        path=_text(served.path.partition("?")[0]),
        model=_text(served.model[:LONGEST_NAME]),  # no model has a longer name, so nothing that exists is cut
        status=served.status,
        ms=_milliseconds(served.seconds),
        priority=served.priority,
        queue_depth=served.queue_depth,
        work=served.work,
        deadline_ms=_milliseconds(served.wait_bound),
        queue_ms=_milliseconds(served.queue_seconds),
        load_ms=_milliseconds(served.load_seconds),
        prompt_tokens=served.prompt_tokens,
        completion_tokens=served.completion_tokens,
        outcome=served.outcome,
    )


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 1)


def _computed(served: Served) -> bool:
    """Whether a model had to compute for it: it had a place, or an answer that another one's place made.

    Who was refused before that, or only looked, writes no line: anybody could fill the file.
    """
    return (
        served.placed
        or bool(served.instance)
        or any(code == "cache" and facts.get("outcome") == "hit" for _, code, facts in served.notes)
    )


def _text(text: str) -> str:
    """JSON carries no lone surrogate, and a client can send one in a name."""
    return text.encode(errors="replace").decode()


class AuditLog:
    """<data>/log/audit.jsonl."""

    def __init__(self, path: Path, clock: Clock, rotate_at: int = ROTATE_AT, bound: int = BOUND) -> None:
        self._file = GrowingFile(path, rotate_at)
        self._wall = clock.wall
        self._flusher: Flusher[tuple[float, Served]] = Flusher("audit", self._write, bound)

    @property
    def dropped(self) -> int:
        """Lines that could not be kept (`audit_dropped`)."""
        return self._flusher.dropped

    async def start(self) -> None:
        """Begin to write."""
        self._flusher.start()

    def on_served(self, served: Served) -> None:
        """Hand one request over; other requests than generations are nobody's business, nor is what had no place at a model."""
        if _computed(served) and served.method == "POST" and served.path.partition("?")[0] in GENERATION:
            self._flusher.put((served.ended or self._wall(), served))

    async def aclose(self) -> None:
        """Write what is there and let go of the file."""
        await asyncio.to_thread(self._flusher.stop)
        self._file.close()

    def _write(self, batch: list[tuple[float, Served]]) -> None:
        self._file.rotate_if_full()
        encode = msgspec.json.encode
        rows = [encode(audit_line(at, served)) for at, served in batch]
        self._file.append(b"\n".join(rows) + b"\n")
