"""Server-sent events both ways: the data of each event out of bytes, and one event into bytes.

Only `data:` matters on a child's stream. Comments keep a connection alive (llama-server sends `:` every 30 s, case B13),
`event:`, `id:` and `retry:` carry nothing for us; taking any of them for JSON would end the answer.
"""

from typing import Final

from blazar.domain.wire.lines import LONGEST_LINE, LineSplitter

DONE: Final = b"data: [DONE]\n\n"
DONE_PAYLOAD: Final = b"[DONE]"
BOM: Final = b"\xef\xbb\xbf"
"""May stand before the first event; it says nothing (WHATWG, server-sent events)."""


class EventSplitter:
    """Feed slices, get the data of each event they complete. Several `data:` lines of one event are joined by a newline."""

    __slots__ = ("_data", "_first", "_limit", "_lines", "_size", "overflowed")

    def __init__(self, limit: int = LONGEST_LINE) -> None:
        self._lines = LineSplitter(limit)
        self._limit = limit
        self._data: list[bytes] = []
        self._size = 0
        self._first = True
        self.overflowed = False
        """A line or an event was longer than the limit; the stream cannot be read on."""

    def feed(self, data: bytes) -> list[bytes]:
        """Payloads of the events that `data` completes."""
        payloads = self._payloads(self._lines.feed(data))
        if self._lines.overflowed:
            self.overflowed = True
        return payloads

    def flush(self) -> list[bytes]:
        """The last event, if its blank line never came.

        ODD: a last event without its blank line counts, though the standard drops it. Some engines end their stream without
        that line, and dropping `[DONE]` would report a whole answer as a cut one; a half event does not parse and is reported
        as such by the reader.
        """
        payloads = self._payloads(self._lines.flush())
        if self._data and not self.overflowed:
            payloads.append(b"\n".join(self._data))
            self._data.clear()
        return payloads

    def _payloads(self, lines: list[bytes]) -> list[bytes]:
        if self._first and lines:
            self._first = False
            lines[0] = lines[0].removeprefix(BOM)
        payloads: list[bytes] = []
        held = self._data
        for line in lines:
            if not line:
                if held:
                    payloads.append(held[0] if len(held) == 1 else b"\n".join(held))
                    held.clear()
                    self._size = 0
            elif line.startswith(b"data:"):
                held.append(line[6:] if line.startswith(b" ", 5) else line[5:])
                self._size += len(line)
                if self._size > self._limit + 5:
                    # Many lines of one event count as one: the bound is on what is held, not on how it was written.
                    self.overflowed = True
                    break
            elif line == b"data":
                held.append(b"")
        return payloads


def data_of(lines: list[bytes]) -> bytes | None:
    """The data of one event's lines, joined as `EventSplitter` does; None where it has none (a comment, or other fields)."""
    data = [line[6:] if line.startswith(b" ", 5) else line[5:] for line in lines if line.startswith(b"data:")]
    return b"\n".join(data) if data else None


def data_event(payload: bytes) -> bytes:
    """An event without a name. `payload` holds no line end: JSON without indentation never does."""
    return b"data: %b\n\n" % payload


def named_event(name: bytes, payload: bytes) -> bytes:
    """An event with a name, as the Anthropic dialect has them."""
    return b"event: %b\ndata: %b\n\n" % (name, payload)
