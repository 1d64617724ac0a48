"""Chat completions that are to be kept (`store: true`). The answer passes as it is; what is kept is read out of a copy of it, later."""

import json
from collections.abc import Sequence
from typing import Any, Final

from blazar.adapters.http.lane import codec
from blazar.adapters.http.lane.job import Job, Keeps
from blazar.application.kept.keep_answer import KEPT_SECONDS
from blazar.application.ports.saved import Keeping, Saved
from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.wire.normalise import drop_nulls
from blazar.domain.wire.responses import check_metadata
from blazar.domain.wire.responses_items import Recalled
from blazar.domain.wire.sse import DONE_PAYLOAD
from blazar.domain.wire.stored_chat import packed_chat, stored_chat

_END: Final = 16
"""Bytes in which the last event of a stream stands, however its lines end."""


class KeptChat(Keeps):
    """Made only for a request that asks for it: nothing of this is on the way of the others."""

    stores = True
    background = False
    collects = True
    previous = ""
    references: Sequence[str] = ()
    files: Sequence[str] = ()

    def __init__(self, job: Job, store: Any, raw: bytes) -> None:
        if store is not True:
            raise Malformed(teaching.field_must("store", "boolean"), "store")
        self._job, self.stream = job, job.stream
        self._request = codec.body_object(raw)
        drop_nulls(self._request)
        check_metadata(self._request.get("metadata"))

    @property
    def warnings(self) -> Sequence[str]:
        """The job's own: they leave with its head."""
        return self._job.warnings

    @warnings.setter
    def warnings(self, warnings: Sequence[str]) -> None:
        self._job.warnings = warnings

    def recall(self, recalled: Recalled) -> None:
        """A chat request brings its whole conversation along."""

    def ends(self, data: bytes) -> bool:
        return not self.stream or data[-_END:].rstrip().endswith(DONE_PAYLOAD)

    def saved(self, owner: str, sent: bytes, now: float) -> Saved | None:
        stored = stored_chat(self._request, sent, stream=self.stream, usage=self.usage)
        if stored is None:
            return None
        facts = json.dumps(stored.completion["metadata"])
        body, id_ = packed_chat(stored), stored.completion["id"]
        model = self._job.model
        return Saved(Keeping.COMPLETION, id_, owner, now, model, "", facts, body, now + KEPT_SECONDS)
