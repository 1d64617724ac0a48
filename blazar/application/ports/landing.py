"""The folders in which pulls arrive: what of one is there, whose turn it is, and what lies elsewhere under our roof already."""

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from typing import Protocol


class Landing(Protocol):
    """Blocking. Everything raises `StoreTrouble` where the disk refuses."""

    def folder(self, key: str) -> str:
        """Where the files of that artefact arrive; made by `claim`."""
        ...

    def claim(self, keys: Collection[str], waiting: Callable[[], None]) -> AbstractContextManager[None]:
        """These folders are ours alone until the end, whoever else pulls the same; `waiting` is called until they are."""
        ...

    def size(self, path: str) -> int:
        """Bytes of a file, -1 where there is none."""
        ...

    def held(self, path: str) -> int:
        """Bytes of the disk that what came of a file takes while it is incomplete."""
        ...

    def digest(self, path: str, check: Callable[[], None]) -> str:
        """SHA-256 of what lies there now, "" where it cannot be read. `check` is called now and then; what it raises ends it."""
        ...

    def drop(self, path: str) -> None:
        """Take one file away that lies there whole."""
        ...

    def adopt(self, source: str, target: str) -> bool:
        """Have a file that is here lie there, too, at the cost of a directory entry; False where that cannot be."""
        ...

    def clear(self, folder: str) -> None:
        """Take a folder away with all that is in it."""
        ...

    def note_at(self, path: str) -> str:
        """Where that note lies."""
        ...

    def note_of(self, path: str) -> str:
        """What was noted beside a file or folder, "" for nothing."""
        ...

    def keep_note(self, path: str, text: str) -> None:
        """Note it, whole or not at all."""
        ...
