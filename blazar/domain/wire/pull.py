"""Steps of a pull as lines of ollama's `/api/pull`. What a client has read of a file never becomes less, whatever comes.

`file`, `note`, `model`, `fresh`, `path`, `notes` and `unserved` are additions; clients pass over what they do not know.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, Protocol

SUCCESS: Final = "success"


class Said(Protocol):
    """One step; bytes."""

    @property
    def status(self) -> str: ...

    @property
    def digest(self) -> str: ...

    @property
    def total(self) -> int: ...

    @property
    def completed(self) -> int: ...

    @property
    def file(self) -> str: ...

    @property
    def note(self) -> str: ...


class _Seen(NamedTuple):
    total: int = 0
    completed: int = 0


class PullLines:
    """The lines of one client."""

    def __init__(self) -> None:
        self._seen: dict[str, _Seen] = {}

    def line(self, step: Said) -> dict[str, Any]:
        """One step. Fields of files are on lines about files alone: clients tell the two apart by `digest`."""
        said: dict[str, Any] = {"status": step.status}
        if step.digest:
            seen = self._files(step)
            said["digest"] = step.digest
            if seen.total:  # a client divides by it
                said["total"] = seen.total
            said["completed"] = seen.completed
        if step.file:
            said["file"] = step.file
        if step.note:
            said["note"] = step.note
        return said

    def _files(self, step: Said) -> _Seen:
        """ODD: a part that is fetched again stands still until there is more than before: clients draw what they are told."""
        before = self._seen.get(step.digest, _Seen())
        total = before.total or (max(step.total, before.completed) if step.total else 0)
        completed = max(before.completed, step.completed)
        seen = self._seen[step.digest] = _Seen(total, min(completed, total) if total else completed)
        return seen


def succeeded(
    model: str, *, fresh: bool, path: str = "", notes: Sequence[str] = (), unserved: str = ""
) -> dict[str, Any]:
    """The last line. `model` is what the catalog calls it, "" where what came is no model by itself and lies at `path`."""
    said: dict[str, Any] = {"status": SUCCESS, "fresh": fresh}
    if model:
        said["model"] = model
    if path:
        said["path"] = path
    if notes:
        said["notes"] = list(notes)
    if unserved:
        said["unserved"] = unserved
    return said
