"""Files that clients sent and batches made: what they are called, whose they are, how long they are kept. Holds no bytes itself."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from blazar.application.ports.clock import Clock
from blazar.application.ports.entropy import Entropy
from blazar.application.ports.kept_files import Intake, KeptFiles, Reading
from blazar.application.ports.saved import Keeping, Saved, SavedStore
from blazar.domain import teaching
from blazar.domain.errors import NotFound
from blazar.domain.wire.openai_batches import BATCH_FILE_LIFE
from blazar.domain.wire.paging import Page, follows

PROCESSED: Final = "processed"
NO_BOUND: Final = 2**62
"""Files are bounded by the disk alone, and go when they expire."""


class FileNote(NamedTuple):
    """One file. Times are Unix seconds; `expires_at` 0 is never. `name` is what its sender calls it, never a path."""

    id: str
    owner: str
    name: str
    purpose: str
    size: int
    created_at: float = 0.0
    expires_at: float = 0.0


class FilePage(NamedTuple):
    """Part of a listing, and whether there is more behind it."""

    files: tuple[FileNote, ...]
    more: bool


@dataclass(frozen=True, slots=True)
class FileShelf:
    """Blocking: call it off the loop."""

    store: SavedStore
    kept: KeptFiles
    clock: Clock
    entropy: Entropy

    def keep(self, intake: Intake, owner: str, name: str, purpose: str, lives: int) -> FileNote:
        """An upload that is complete; from now on it is listed. `lives` in seconds, 0: as its purpose has it."""
        note = FileNote(f"file-{self.entropy.token(16)}", owner, name, purpose, intake.size)
        # The bytes first: a crash between the two leaves a file that nobody knows, and the next start sweeps it.
        intake.keep(note.id)
        return self.enrol(note, lives or (BATCH_FILE_LIFE if purpose == "batch" else 0))

    def enrol(self, note: FileNote, lives: int) -> FileNote:
        """A kept file's row, made now; in place of one that was."""
        now = self.clock.wall()
        facts = json.dumps({"name": note.name, "purpose": note.purpose, "bytes": note.size}, ensure_ascii=True)
        until = now + lives if lives else 0.0
        row = Saved(Keeping.FILE, note.id, note.owner, now, status=PROCESSED, facts=facts, expires_at=until)
        self.store.add(row)
        return _note(row)

    def find(self, id_: str, owner: str) -> FileNote:
        """Raises `NotFound`, also for somebody else's (case A29) and for one that has expired."""
        row = self.store.find(Keeping.FILE, id_, owner)
        if row is None or self._expired(row):
            raise NotFound(teaching.file_not_found(id_))
        return _note(row)

    def page(self, owner: str, page: Page, purpose: str = "") -> FilePage:
        """A part of the listing, of one purpose or of all. Raises `Malformed` for a page that begins nowhere."""
        if page.after:
            follows(page, there=self.store.find(Keeping.FILE, page.after, owner) is not None)
        found: list[FileNote] = []
        step = page._replace(limit=max(page.limit, 100))
        while len(found) <= page.limit:
            rows = self.store.page(Keeping.FILE, owner, step)
            notes = [_note(row) for row in rows if not self._expired(row)]
            found += [note for note in notes if purpose in ("", note.purpose)]
            if len(rows) < step.limit:
                break
            step = step._replace(after=rows[-1].id)
        return FilePage(tuple(found[: page.limit]), len(found) > page.limit)

    def open(self, id_: str, owner: str) -> tuple[FileNote, Reading]:
        """To be read; raises `NotFound`."""
        note = self.find(id_, owner)
        reading = self.kept.open(id_)
        if reading is None:
            raise NotFound(teaching.file_not_found(id_))
        return note, reading

    def remove(self, id_: str, owner: str) -> None:
        """Gone; raises `NotFound`. The row first: what a crash leaves is swept."""
        self.find(id_, owner)
        self.store.remove(Keeping.FILE, id_, owner)
        self.kept.remove(id_)

    def expire(self) -> Sequence[str]:
        """What has had its time goes; the ids."""
        rows = self.store.with_status(Keeping.FILE, (PROCESSED,))
        if not any(self._expired(row) for row in rows):
            return ()  # a store that holds nothing is not even made
        gone = self.store.trim(Keeping.FILE, NO_BOUND, self.clock.wall())
        for id_ in gone:
            self.kept.remove(id_)
        return gone

    def known(self) -> set[str]:
        """Ids of all owners."""
        return {row.id for row in self.store.with_status(Keeping.FILE, (PROCESSED,))}

    def _expired(self, row: Saved) -> bool:
        return 0 < row.expires_at <= self.clock.wall()


def _note(row: Saved) -> FileNote:
    facts: dict[str, Any] = json.loads(row.facts)
    return FileNote(row.id, row.owner, facts["name"], facts["purpose"], facts["bytes"], row.created_at, row.expires_at)
