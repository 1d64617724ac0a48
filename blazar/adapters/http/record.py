"""The one small object that the layers and the lane share about a request. Filled in as the request goes."""

from typing import TYPE_CHECKING, Any, Final

from blazar.application.ports.telemetry import CLIENT_LEFT, Served
from blazar.domain import teaching
from blazar.domain.errors import AnswerBroken, BlazarError, ChildDied, EngineSaid, OverQuota
from blazar.domain.harmless import without_secrets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from blazar.domain.tab import Tab

RECORD: Final = "blazar.record"
"""Where it lies in the ASGI scope."""
LONGEST: Final = 600
"""Characters that are kept of why a request was refused."""


class RequestRecord:
    """Facts for the access log, the counters and the audit line. Times are monotonic seconds."""

    __slots__ = (
        "accepted",
        "cached_tokens",
        "child_status",
        "completion_tokens",
        "dialect",
        "engine",
        "first_byte",
        "first_word",
        "instance",
        "key",
        "known",
        "left",
        "lined_up",
        "load_seconds",
        "model",
        "notes",
        "parent",
        "placed",
        "priority",
        "prompt_tokens",
        "queue_depth",
        "queue_seconds",
        "refusal",
        "started",
        "status",
        "stream",
        "tab",
        "trace",
        "wait_bound",
        "warnings",
        "weight",
        "work",
    )

    def __init__(self, trace: str, started: float) -> None:
        self.trace = trace
        self.started = started
        self.first_byte = 0.0
        self.first_word = 0.0  # of a stream: what only keeps a connection open is none
        self.queue_seconds = 0.0
        self.queue_depth = 0
        self.lined_up = 0.0  # when it got in line; 0: it did not
        self.key = ""
        self.weight = 1.0  # of its key: twice the weight, twice the turns (D16)
        self.tab: Tab | None = None  # where its key's account is charged; None without keys
        self.priority = "normal"  # as admission took it, after a demotion
        self.wait_bound = 0.0  # seconds that it may stand in line
        self.placed = False  # it had a place at a child
        self.left = False  # its client went before the answer had ended
        self.accepted = False  # the work is done behind its answer, and has a record of its own
        self.work = ""  # the class of it that the queue ranked: tool, interactive, raw_long
        self.notes: list[tuple[float, str, dict[str, Any]]] = []
        self.model = ""  # what was asked for, until it is known what that means
        self.known = False
        self.dialect = ""
        self.status = 0
        self.stream = False
        self.prompt_tokens = 0
        self.cached_tokens = 0  # of those of the prompt
        self.completion_tokens = 0
        self.parent = b""  # its caller's `traceparent`
        self.instance = ""  # the key of the child that served it
        self.engine = ""  # and the build of that
        self.load_seconds = 0.0
        self.child_status = 0
        self.warnings: Sequence[str] = ()
        self.refusal = ""

    def line_up(self, waiting: int, at: float) -> None:
        """It gets in line, behind so many. `at` is monotonic."""
        self.queue_depth, self.lined_up = waiting, at

    def note(self, at: float, code: str, /, **facts: Any) -> None:
        """Something out of the ordinary that belongs into this request's story (`why`): a reroute, a retry, a repair, a finding.

        `at` is monotonic. Most requests have none: what every request has are the fields above.
        """
        self.notes.append((at, code, facts))

    def call_it(self, model: str) -> None:
        """What the name that was asked for means."""
        self.model, self.known = model, True

    def refuse(self, error: BlazarError) -> None:
        """Why it is not answered, in our own words: an engine's may quote what was asked, and are only for its caller."""
        if isinstance(error, EngineSaid):
            said = teaching.why_engine_refused(error.status)
        elif isinstance(error, ChildDied):
            said = teaching.why_engine_ended()
        elif isinstance(error, AnswerBroken):
            said = teaching.why_answer_refused(error.codes)
        else:
            said = str(error)
        self.refusal = said[:LONGEST]
        if isinstance(error, OverQuota):
            self.note(self.started, "over_quota", limit=error.limit)

    def served(self, method: str, path: str, dialect: str, peer: str, end: float, *, ended: float = 0.0) -> Served:
        """Everything that is told of it once it has ended: at `end`, monotonic, which was `ended` in Unix time (0: now)."""
        started, stream = self.started, self.stream
        first = self.first_word if stream else self.first_byte
        return Served(
            trace=self.trace,
            key=self.key,
            method=method,
            path=without_secrets(path),
            dialect=self.dialect or dialect,
            model=without_secrets(self.model),
            status=self.status or CLIENT_LEFT,
            seconds=end - started,
            queue_seconds=self.queue_seconds,
            first_byte_seconds=first - started if first else 0.0,
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            stream=stream,
            peer=peer,
            priority=self.priority,
            queue_depth=self.queue_depth,
            work=self.work,
            instance=self.instance,
            engine=self.engine,
            load_seconds=self.load_seconds,
            child_status=self.child_status,
            refusal=without_secrets(self.refusal),
            warnings=self.warnings,
            cached_tokens=self.cached_tokens,
            parent=self.parent,
            notes=[(at - started, code, facts) for at, code, facts in self.notes] if self.notes else (),
            known=self.known,
            placed=self.placed,
            wait_bound=self.wait_bound,
            left=self.left,
            accepted=self.accepted,
            ended=ended,
        )


def record_of(scope: Any) -> RequestRecord:
    """The record of an ASGI scope; the request_log layer put it there."""
    record = scope[RECORD]
    assert isinstance(record, RequestRecord)
    return record
