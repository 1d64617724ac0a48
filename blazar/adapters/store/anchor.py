"""Paths inside the data folder are stored relative to it and read as absolute ones, so that it can be moved (contract).

Imports no ORM: thin verbs read rows by it, too.
"""

import os
from pathlib import Path
from typing import Any


class Anchor:
    """The data folder as it is called now."""

    def __init__(self, data: Path) -> None:
        self._data = str(data.absolute())

    def stored(self, path: str) -> str:
        inside = os.path.normpath(path)
        return inside.removeprefix(self._data + os.sep)

    def live(self, stored: str) -> str:
        """Joining leaves a path that is absolute already as it is."""
        return str(Path(self._data, stored))

    def stored_words(self, words: tuple[str, ...], server: str) -> list[Any]:
        """A command for JSON: the server's own path as null, other paths of ours in a list of one, since any text may be a word."""
        return [None if word == server else self._stored_word(word) for word in words]

    def live_words(self, stored: list[Any], server: str) -> tuple[str, ...]:
        """What `stored_words` was given, at the folder's place of now; `server` is the live path."""
        return tuple(self._live_word(word, server) for word in stored)

    def _stored_word(self, word: str) -> str | list[str]:
        inside = self.stored(word) if Path(word).is_absolute() else word
        return word if inside == word or Path(inside).is_absolute() else [inside]

    def _live_word(self, word: Any, server: str) -> str:
        if word is None:
            return server
        return self.live(word[0]) if isinstance(word, list) else str(word)

    def rescued(self, path: str, tag: str) -> str:
        """The stored form of an absolute path of ours, written under whatever name the folder had; as it is where it is none.

        It is ours where it stands inside the folder of now, or where it is gone and the same build stands here.
        """
        if not Path(path).is_absolute():
            return path
        inside = self.stored(path)
        if inside != os.path.normpath(path):
            return inside
        _, engines, rest = path.rpartition(f"/engines/{tag}/")
        moved = f"engines/{tag}/{rest}"
        ours = bool(engines) and not os.path.lexists(path) and Path(self.live(moved)).is_file()
        return moved if ours else path
