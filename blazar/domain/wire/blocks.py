"""The blocks of an answer in order, for dialects where one is open at a time: what opens, what grows, what has to wait.

A call is never told in two blocks, nor cut by something else: whatever comes before its arguments are whole waits for them (C4, C5). Decides
no bytes: a dialect's writer is a subclass that says how a block opens, grows and closes.
"""

from abc import ABC, abstractmethod
from typing import Final

from blazar.domain.wire.delta import Reasoning, Text, ToolFragment
from blazar.domain.wire.tools import is_object

CALL: Final = "call"
"""The kind of a block that is a call; the other kinds' names are the writers' own."""

Piece = Text | Reasoning | ToolFragment


class InOrder(ABC):
    """Holds which block is open (`_kind`, "" for none), which call it is, what was said of it, and what waits."""

    __slots__ = ("_call", "_kind", "_parts", "_waiting")

    def __init__(self) -> None:
        self._kind = ""
        self._call = -1
        self._parts: list[str] = []
        self._waiting: list[tuple[str, int, list[Piece]]] = []

    @abstractmethod
    def _open(self, kind: str, first: Piece) -> bytes:
        """Open a block that begins with this piece, without saying the piece."""

    @abstractmethod
    def _grow(self, piece: Piece) -> bytes:
        """More of the open block. The arguments of a call are kept in `_parts`."""

    @abstractmethod
    def _close(self, *, cut: bool = False) -> bytes:
        """Close the open block; `cut`: the answer ended inside it."""

    def _said(self, kind: str, piece: Text | Reasoning) -> bytes:
        """A piece of text or thinking."""
        return self._grow(piece) if self._kind == kind else self._another(kind, -1, piece)

    def _called(self, fragment: ToolFragment) -> bytes:
        """A piece of a call."""
        if self._kind == CALL and self._call == fragment.call:
            grown = self._grow(fragment)
            return grown + self._release() if self._waiting else grown
        if fragment.name is None and not any(number == fragment.call for _, number, _ in self._waiting):
            return b""  # more of a call whose block is closed: it was whole, and a block never opens twice
        return self._another(CALL, fragment.call, fragment)

    def _ended(self, *, cut: bool = False) -> bytes:
        """Nothing follows: what is open is closed, and what still waits is told."""
        out = [self._close(cut=cut and self._torn())] if self._kind else []
        while self._waiting:
            out += self._tell_next()
            out.append(self._close(cut=cut and self._torn()))
        return b"".join(out)

    def _torn(self) -> bool:
        """Whether the end of the answer is the end of this block: it is the last one, or a call that lacks something."""
        return not self._waiting or not self._is_whole()

    def _is_whole(self) -> bool:
        return self._kind != CALL or is_object("".join(self._parts))

    def _another(self, kind: str, call: int, piece: Piece) -> bytes:
        if not self._is_whole():
            self._wait(kind, call, piece)
            return b""
        closed = self._close() if self._kind else b""
        return b"".join((closed, self._begin_block(kind, call, piece), self._grow(piece)))

    def _wait(self, kind: str, call: int, piece: Piece) -> None:
        for_it = self._waiting if kind == CALL else self._waiting[-1:]
        held = next((pieces for each, number, pieces in for_it if (each, number) == (kind, call)), None)
        if held is None:
            self._waiting.append((kind, call, [piece]))
        else:
            held.append(piece)

    def _release(self) -> bytes:
        """What waited for the open call, where that is whole now; the last one stays open and streams."""
        out: list[bytes] = []
        while self._waiting and self._is_whole():
            out.append(self._close())
            out += self._tell_next()
        return b"".join(out)

    def _tell_next(self) -> list[bytes]:
        kind, call, pieces = self._waiting.pop(0)
        return [self._begin_block(kind, call, pieces[0]), *(self._grow(piece) for piece in pieces)]

    def _begin_block(self, kind: str, call: int, first: Piece) -> bytes:
        self._kind, self._call, self._parts = kind, call, []
        return self._open(kind, first)
