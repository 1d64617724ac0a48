"""Batches of both dialects: which states there are, what an answer makes of a request, when one is asked again. No wire shapes.

validating   the lines are looked at       → in_progress · failed (a line is wrong) · cancelling
in_progress  line after line is asked      → finalizing (all answered) · cancelling · expired (its time is over)
cancelling   the line under way is drained → cancelled
finalizing   the files are written         → completed
any          its papers are gone from disk → failed
completed, failed, cancelled, expired are final. A restart goes on with whatever is not, where its journal ends.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, NamedTuple

from blazar.domain.kinds import Dialect


class State(StrEnum):
    """OpenAI's words; Anthropic's three are made of them."""

    VALIDATING = "validating"
    IN_PROGRESS = "in_progress"
    FINALIZING = "finalizing"
    CANCELLING = "cancelling"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


NEXT: Final[dict[State, frozenset[State]]] = {
    State.VALIDATING: frozenset({State.IN_PROGRESS, State.FAILED, State.CANCELLING}),
    State.IN_PROGRESS: frozenset({State.FINALIZING, State.CANCELLING, State.EXPIRED, State.FAILED}),
    State.CANCELLING: frozenset({State.CANCELLED, State.FAILED}),
    State.FINALIZING: frozenset({State.COMPLETED, State.FAILED}),
    State.COMPLETED: frozenset(),
    State.FAILED: frozenset(),
    State.CANCELLED: frozenset(),
    State.EXPIRED: frozenset(),
}

ACTIVE: Final = tuple(state for state, following in NEXT.items() if following)
"""Those with work to do."""

CANCELLABLE: Final = tuple(state for state, following in NEXT.items() if State.CANCELLING in following)


class Fate(StrEnum):
    """What became of one request. The value stands before its line in the journal."""

    SUCCEEDED = "s"
    ERRORED = "f"
    CANCELED = "c"
    EXPIRED = "x"


class Tally(NamedTuple):
    """How many requests a batch has, and what became of how many."""

    total: int = 0
    succeeded: int = 0
    errored: int = 0
    canceled: int = 0
    expired: int = 0

    @property
    def open(self) -> int:
        """Without a result so far."""
        return max(0, self.total - self.succeeded - self.errored - self.canceled - self.expired)

    def plus(self, fate: Fate, more: int = 1) -> "Tally":
        """So many more of these."""
        name = _COUNTED[fate]
        return self._replace(**{name: getattr(self, name) + more})


_COUNTED: Final = {
    Fate.SUCCEEDED: "succeeded",
    Fate.ERRORED: "errored",
    Fate.CANCELED: "canceled",
    Fate.EXPIRED: "expired",
}


class Spent(NamedTuple):
    """Tokens of its answers. `prompt` includes `cached`, `completion` those that were `thought`."""

    prompt: int = 0
    cached: int = 0
    completion: int = 0
    thought: int = 0

    def plus(self, more: "Spent") -> "Spent":
        """Both together."""
        return Spent(*map(sum, zip(self, more, strict=True)))


class Flaw(NamedTuple):
    """Why an input file is no batch. `line` counts from 1; 0 means the file."""

    code: str
    message: str
    param: str = ""
    line: int = 0


MOST_FLAWS: Final = 100
"""Told of one file: a person mends the first few, then sends it again."""


@dataclass(frozen=True, slots=True)
class Batch:
    """One batch. Times are Unix seconds; `expires_at` ends its window, `stamps` says when it entered a state.

    `output_lives` are the seconds that its files are kept (0: as long as anybody wants them).
    """

    id: str
    owner: str
    dialect: Dialect
    endpoint: str
    created_at: float
    expires_at: float
    state: State = State.VALIDATING
    input_file_id: str = ""
    window: str = "24h"
    output_lives: int = 0
    metadata: Mapping[str, str] | None = None
    tally: Tally = Tally()  # noqa: RUF009 - immutable
    stamps: Mapping[str, float] = field(default_factory=dict)
    flaws: tuple[Flaw, ...] = ()
    output_file_id: str = ""
    error_file_id: str = ""
    spent: Spent = Spent()  # noqa: RUF009 - immutable
    model: str = ""
    """The one that all its requests name; empty where they name several."""

    @property
    def over(self) -> bool:
        """Nothing will happen to it any more."""
        return not NEXT[self.state]


class Line(NamedTuple):
    """One request of a batch."""

    custom_id: str
    body: Mapping[str, Any]

    @property
    def model(self) -> str:
        """As it is spelled there; empty where none is named, which the lane refuses."""
        model = self.body.get("model")
        return model if isinstance(model, str) else ""


_DECODER: Final = json.JSONDecoder()
_ID_FIELD: Final = '"custom_id":'
_ID_WITHIN: Final = 8192
"""Bytes of a result line that hold its id: 512 characters, each of them an escape, behind a short id of ours."""


def custom_id_in(result: bytes) -> str:
    """Whose result a line of the journal is. Not parsed as a whole: a line may hold a thousand vectors."""
    head = result[:_ID_WITHIN].decode("ascii", "replace")
    return str(_DECODER.raw_decode(head, head.index(_ID_FIELD) + len(_ID_FIELD))[0])


class Answered(NamedTuple):
    """The whole answer to one request; `retry_after` in seconds as it was said (0: not said)."""

    status: int
    body: bytes
    request_id: str
    retry_after: float = 0.0

    @property
    def fate(self) -> Fate:
        return Fate.SUCCEEDED if 200 <= self.status < 300 else Fate.ERRORED


MOST_TRIES: Final = 3
LONGEST_PAUSE: Final = 60.0
_USED_UP: Final = 429
_PASSING: Final = frozenset({_USED_UP, 502, 503})
"""Not now, or a child that died: nobody waits for this answer, so it is asked again before it counts as failed."""


def pause_before_next(answered: Answered, tries: int) -> float | None:
    """Seconds until the same request is asked again, after so many tries; None: this answer is the last word.

    So is a limit that is used up for longer than anybody pauses: that of a day, for which others must not wait.
    """
    if answered.status not in _PASSING or tries >= MOST_TRIES:
        return None
    if answered.status == _USED_UP and answered.retry_after > LONGEST_PAUSE:
        return None
    return min(LONGEST_PAUSE, max(answered.retry_after, 2.0 ** (tries - 1)))
