"""A whole file whose digest differs: its pieces are fetched again and replaced where they differ, until it is what was promised (case H1).

No registry tells digests of pieces, so that which one is bad shows in no other way. Bytes that may have suffered go first: those
of an earlier run, and those around a connection that broke.
"""

from blazar.adapters.net.partials import PIECE_MOST, Span
from blazar.adapters.net.promises import promised
from blazar.adapters.net.transfers import Transfer
from blazar.application.ports.downloads import Told


class Mending(Transfer):
    """Once through the file at most; each round is a piece for every connection, and a look whether it is whole now."""

    def _begin(self) -> int:
        self.conditional = False
        return self._rules.connections(self._partial.size) if self.ranges else 1

    def _bring(self, count: int, told: Told) -> str:
        pieces = self._pieces()
        digest = ""
        while pieces and digest != promised(self._wanted):
            self._todo, pieces = pieces[:count], pieces[count:]
            self._lowest = self._partial.size
            self._watch([self._start(self._work) for _ in self._todo], told)
            if self._lowest < self._partial.size:
                self._rolling.rewind(self._lowest)
                digest = self._hashed(self._start(self._hash), told)
        return digest

    def _pieces(self) -> list[Span]:
        size = self._partial.size
        if not self.ranges:
            return [Span(0, size, 0)]
        spans = sorted(self._partial.spans, key=lambda span: not span.doubtful)
        cuts = [
            (at, min(at + PIECE_MOST, span.end)) for span in spans for at in range(span.start, span.end, PIECE_MOST)
        ]
        return [Span(start, end, start) for start, end in cuts]

    def _next(self) -> Span | None:
        if not self._todo:
            return None
        span = self._todo.pop(0)
        self._busy.append(span)
        return span

    def _put(self, span: Span, part: bytes) -> None:
        if self._partial.read(span.at, len(part)) != part:
            self._partial.overwrite(part, span.at)
            with self._lock:
                self._lowest = min(self._lowest, span.at)
        span.at += len(part)
