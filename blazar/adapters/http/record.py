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
        "prompt_tokens",
        "queue_depth",
        "queue_seconds",
        "started",
        "status",
        "stream",
        "trace",
    )

    def __init__(self, trace: str, started: float) -> None:
        self.trace = trace
        self.started = started
        self.first_byte = 0.0
        self.queue_seconds = 0.0
        self.queue_depth = 0
        self.key = ""
        self.model = ""
        self.dialect = ""
        self.status = 0
        self.stream = False
        self.prompt_tokens = 0
        self.completion_tokens = 0

    def note_depth(self, waiting: int) -> None:
        """How many waited for the model when this request came."""
        self.queue_depth = waiting


def record_of(scope: Any) -> RequestRecord:
    """The record of an ASGI scope; the request_log layer put it there."""
    record = scope[RECORD]
    assert isinstance(record, RequestRecord)
    return record
