"""The one small object that the layers and the lane share about a request. Filled in as the request goes."""

from typing import Any, Final

RECORD: Final = "blazar.record"
"""Where it lies in the ASGI scope."""


class RequestRecord:
    """Facts for the access log, the counters and the audit line. Times are monotonic seconds."""

    __slots__ = (
        "completion_tokens",
        "dialect",
        "first_byte",
        "key",
        "model",
        "notes",
        "priority",
        "prompt_tokens",
        "queue_depth",
        "queue_seconds",
        "started",
        "status",
        "stream",
        "trace",
        "weight",
        "work",
    )

    def __init__(self, trace: str, started: float) -> None:
        self.trace = trace
        self.started = started
        self.first_byte = 0.0
        self.queue_seconds = 0.0
        self.queue_depth = 0
        self.key = ""
        self.weight = 1.0  # of its key: twice the weight, twice the turns (D16)
        self.priority = "normal"  # as admission took it, after a demotion
        self.work = ""  # the class of it that the queue ranked: tool, interactive, raw_long
        self.notes: list[tuple[float, str, dict[str, Any]]] = []
        self.model = ""
        self.dialect = ""
        self.status = 0
        self.stream = False
        self.prompt_tokens = 0
        self.completion_tokens = 0

    def note_depth(self, waiting: int) -> None:
        """How many waited for the model when this request came."""
        self.queue_depth = waiting

    def note(self, at: float, code: str, **facts: Any) -> None:
        """Something out of the ordinary that belongs into this request's story (`why`): a reroute, a retry, a repair, a finding.

        `at` is monotonic. Most requests have none: what every request has are the fields above.
        """
        self.notes.append((at, code, facts))


def record_of(scope: Any) -> RequestRecord:
    """The record of an ASGI scope; the request_log layer put it there."""
    record = scope[RECORD]
    assert isinstance(record, RequestRecord)
    return record
