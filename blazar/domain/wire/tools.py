"""Tool calls: which fragment belongs to which call, and fragments → whole calls.

Engines number calls in every way there is: no index, one index for all, the call told twice. `CallTracker` gives each
call one stable number from 0 (cases A1, A2, A9). Nothing here guesses at arguments: a cut call that was "repaired" into
valid JSON would be run by an agent with half a path in it.
"""

import json
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from blazar.domain.wire.chunk import CallPiece
from blazar.domain.wire.delta import ToolFragment
from blazar.domain.wire.quoting import dump


class Call(NamedTuple):
    """One whole tool call; `arguments` is JSON text as the model wrote it."""

    id: str
    name: str
    arguments: str


class _Open:
    """A call being told."""

    __slots__ = ("absorbed", "born", "id", "name", "number", "parts", "pieces")

    def __init__(self, number: int, call_id: str | None, born: int) -> None:
        self.number = number
        self.id = call_id
        self.name: str | None = None
        self.parts: list[str] = []
        self.pieces = 0
        self.born = born
        self.absorbed = False

    def value(self) -> dict[str, Any] | None:
        """The arguments, if they are complete by now."""
        return _object("".join(self.parts))

    def whole(self) -> bool:
        # The look at the last character keeps the parse off the path of every fragment.
        return bool(self.parts) and self.parts[-1].rstrip().endswith("}") and self.value() is not None


class CallTracker:
    """Gives every fragment its call's number; drops what was told already, and with `alone` all calls but the first.

    `parallel_tool_calls: false` promises no more than one, and llama.cpp b11434 holds to it with some chat formats only.
    """

    __slots__ = ("_alone", "_by_id", "_by_index", "_calls", "_chunk", "_current")

    def __init__(self, *, alone: bool = False) -> None:
        self._alone = alone
        self._calls: list[_Open] = []
        self._by_id: dict[str, _Open] = {}
        self._by_index: dict[int, _Open] = {}
        self._current: _Open | None = None
        self._chunk = 0

    @property
    def count(self) -> int:
        """How many calls there were so far."""
        return len(self._calls)

    def told(self) -> list[tuple[str, str]]:
        """Name and arguments of every call that was opened."""
        return [(call.name, "".join(call.parts)) for call in self._calls if call.name is not None]

    def take(self, pieces: Sequence[CallPiece], *, last: bool) -> list[ToolFragment]:
        """One chunk's fragments; `last`: this chunk also says why the answer ended."""
        self._chunk += 1
        fragments: list[ToolFragment] = []
        for piece in pieces:
            function = piece.function
            name = (function.name or None) if function else None
            arguments = _text(function.arguments) if function else ""
            call_id = piece.id or None
            call = self._find(piece.index, call_id, name, arguments)
            if call is None:
                if name is None and call_id is None:
                    continue  # arguments of nothing: there is no call they could belong to
                call = self._told_before(name, arguments, last=last)
                if call is not None:
                    call.absorbed = True
                    if piece.index is not None:
                        self._by_index.setdefault(piece.index, call)
                    continue
                call = self._open(piece.index, call_id)
            elif arguments.startswith("{") and call.whole() and _object(arguments) == call.value():
                continue
            self._current = call
            self._add(call, name, arguments, fragments)
        return [fragment for fragment in fragments if fragment.call == 0] if self._alone else fragments

    def _find(self, index: int | None, call_id: str | None, name: str | None, arguments: str) -> _Open | None:
        """The open call that a fragment continues, or None when it begins one."""
        if call_id is not None and call_id in self._by_id:
            return self._by_id[call_id]
        if index is not None:
            held = self._by_index.get(index)
            if held is None:
                return None
            if name and call_id and held.id and call_id != held.id:
                return None  # two calls under one index (A2)
        else:
            held = self._current
            if held is None or (name and call_id):
                return None
        # A name again, with arguments, after a complete call: the next call of an engine that numbers nothing.
        begins = bool(name) and held.name is not None and (held.name != name or (bool(arguments) and held.whole()))
        return None if begins else held

    def _told_before(self, name: str | None, arguments: str, *, last: bool) -> _Open | None:
        """An earlier call that this whole one repeats (A9).

        A model may well call the same thing twice, so this wants a reason to believe in a second parser: the repeat comes
        with the finish, or it comes in one piece on a stream that tells its calls in several.
        """
        value = _object(arguments) if name else None
        if value is None:
            return None
        for call in self._calls:
            if call.absorbed or call.born == self._chunk or call.name != name:
                continue
            if (last or call.pieces > 1) and call.value() == value:
                return call
        return None

    def _open(self, index: int | None, call_id: str | None) -> _Open:
        call = _Open(len(self._calls), call_id, self._chunk)
        self._calls.append(call)
        if call_id is not None:
            self._by_id[call_id] = call
        if index is not None:
            self._by_index[index] = call
        return call

    @staticmethod
    def _add(call: _Open, name: str | None, arguments: str, fragments: list[ToolFragment]) -> None:
        call.pieces += 1
        if arguments:
            call.parts.append(arguments)
        if call.name is not None:
            if arguments:
                fragments.append(ToolFragment(call.number, None, None, arguments))
        elif name is not None:
            # Every dialect opens a call by its name, so what came before it waits here.
            call.name = name
            fragments.append(ToolFragment(call.number, call.id, name, "".join(call.parts)))


class CallGatherer:
    """Fragments → whole calls, for dialects that never see fragments (ollama, case B16)."""

    __slots__ = ("_calls",)

    def __init__(self) -> None:
        self._calls: dict[int, tuple[str, str, list[str]]] = {}

    def add(self, fragment: ToolFragment) -> None:
        """Keep one fragment."""
        held = self._calls.get(fragment.call)
        if held is None:
            self._calls[fragment.call] = (fragment.id or "", fragment.name or "", [fragment.arguments])
        else:
            held[2].append(fragment.arguments)

    def calls(self) -> tuple[Call, ...]:
        """All calls in their order."""
        return tuple(Call(call_id, name, "".join(parts)) for call_id, name, parts in self._calls.values())


def arguments_object(arguments: str) -> dict[str, Any]:
    """A call's arguments as the object that ollama and Anthropic clients expect.

    Nothing → `{}`. JSON text that was quoted once too often is unpacked. Anything else (a list, prose, a call cut off
    by the token limit) stands under `raw`: the tool's own schema check then fails where a guess might have run.
    """
    if not arguments.strip():
        return {}
    value = _loads(arguments)
    if isinstance(value, str):
        value = _loads(value)
    return value if isinstance(value, dict) else {"raw": arguments}


def cut_object(arguments: str) -> dict[str, Any]:
    """The arguments of a call that the token limit cut: what of them was told whole. Nothing is completed, so that half a path is none.

    It is what the service's own SDKs make of the same call in a stream, so that a whole answer and a streamed one agree.
    """
    closing, told = _open_at_end(arguments)
    for text in (arguments + closing, arguments[:told] + _open_at_end(arguments[:told])[0]):
        if (value := _object(text)) is not None:
            return value
    return arguments_object(arguments)


def _open_at_end(text: str) -> tuple[str, int]:
    """What closes everything that is open at the end of some JSON, and where the last whole value before that ends."""
    opened: list[str] = []
    told, inside, escaped = 0, False, False
    for at, sign in enumerate(text):
        if inside:
            inside = escaped or sign != '"'
            escaped = sign == "\\" and not escaped
        elif sign == '"':
            inside = True
        elif sign == ",":
            told = at
        elif sign in _CLOSING:
            opened.append(_CLOSING[sign])
            told = at + 1
        elif sign in "]}" and opened:
            opened.pop()
    return "".join(reversed(opened)), told


def strict_object(text: str) -> bool:
    """Whether `text` is a JSON object to every parser: Python's own takes `NaN`, which is none."""
    if text == "{}":
        return True
    try:
        return isinstance(_STRICT.decode(text), dict)
    except (ValueError, RecursionError):
        return False


def is_object(text: str) -> bool:
    """Whether `text` is a whole JSON object."""
    return _object(text) is not None


_CLOSING: Final = {"{": "}", "[": "]"}


def _no_constant(word: str) -> Any:
    raise ValueError(word)


_STRICT: Final = json.JSONDecoder(parse_constant=_no_constant)


def _text(arguments: Any) -> str:
    if arguments is None:
        return ""
    return arguments if isinstance(arguments, str) else dump(arguments).decode()


def _object(text: str) -> dict[str, Any] | None:
    value = _loads(text)
    return value if isinstance(value, dict) else None


def _loads(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
