"""What clients had kept: responses, stored completions, files, batches. Bodies are opaque; only who owns what is known here.

A file of its own holds it, beside the catalog: the daemon looks the catalog over whenever anybody has written to it.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol

from blazar.domain.wire.paging import Page


class Keeping(StrEnum):
    """What kind of thing is kept. Ids are unique within one."""

    RESPONSE = "response"
    COMPLETION = "completion"
    FILE = "file"
    BATCH = "batch"
    MESSAGE_BATCH = "message_batch"


@dataclass(frozen=True, slots=True)
class Saved:
    """One thing that is kept. `owner` is the name of the key that had it kept ("" on a gateway without keys).

    Times are Unix seconds; `expires_at` 0 is never. `facts` is a small JSON text that listings show, `body` the bulk, which
    listings leave empty. `status` is the word of its dialect (`in_progress`, `completed`, …; "" where it has none).
    """

    kind: Keeping
    id: str
    owner: str
    created_at: float
    model: str = ""
    status: str = ""
    facts: str = "{}"
    body: bytes = b""
    expires_at: float = 0.0

    @property
    def size(self) -> int:
        """Bytes that it takes."""
        return len(self.body) + len(self.facts.encode())


class Change(NamedTuple):
    """What becomes of a thing; None leaves that part as it is."""

    status: str | None = None
    facts: str | None = None
    body: bytes | None = None


class SavedStore(Protocol):
    """Blocking: call it off the loop. Every method raises `StoreTrouble` where the disk will not."""

    def add(self, saved: Saved) -> None:
        """Keep it, in place of one with the same kind and id."""
        ...

    def find(self, kind: Keeping, id_: str, owner: str) -> Saved | None:
        """With its body. Somebody else's is as good as none (case A29)."""
        ...

    def page(self, kind: Keeping, owner: str, page: Page) -> Sequence[Saved]:
        """Without bodies, by age. An `after` that is not there: nothing."""
        ...

    def change(self, kind: Keeping, id_: str, change: Change, expected: Collection[str] = ()) -> bool:
        """Whether it is there and, where `expected` names any, had one of these statuses: then it is changed, in one step."""
        ...

    def remove(self, kind: Keeping, id_: str, owner: str) -> bool:
        """Whether there was one."""
        ...

    def with_status(self, kind: Keeping, statuses: Collection[str]) -> Sequence[Saved]:
        """Of all owners, oldest first, with bodies: what a restart goes on with."""
        ...

    def trim(self, kind: Keeping, most_bytes: int, now: float, spared: Collection[str] = ()) -> Sequence[str]:
        """Drop what has expired, then the oldest until `most_bytes` hold the rest; the ids of what went. `spared` are statuses that stay."""
        ...
