"""Tool calls read out of raw text: `<tool_call>` envelopes as `raw_tools` asks for them (case D6). Pure.

Where a call ends says a scan that knows strings, so that braces in one end nothing. What turns out to be no whole call of a tool that the
request has stays text, to the letter: nothing here guesses, because what is found is run.
"""

import json
from collections.abc import Collection
from typing import Any, Final

from blazar.domain.wire.delta import Text, ToolFragment
from blazar.domain.wire.grammar import CLOSE, OPEN
from blazar.domain.wire.quoting import dump

LONGEST: Final = 1024 * 1024
"""Characters that are held while an envelope is open; what is longer is text."""
_BLANK: Final = " \t\r\n"

Found = Text | ToolFragment


class CallFinder:
    """Feed text, get text and whole calls; tags and calls may be cut anywhere. At most `most` calls are told (0: any number)."""

    __slots__ = ("_at", "_depth", "_escaped", "_held", "_in_string", "_most", "_names", "_state", "count")

    def __init__(self, names: Collection[str], most: int = 0) -> None:
        self._names, self._most = names, most
        self.count = 0
        self._held = ""
        self._state = "text"
        self._at = self._depth = 0
        self._in_string = self._escaped = False

    def feed(self, text: str) -> list[Found]:
        """What is certain by now."""
        self._held += text
        out: list[Found] = []
        while self._step(out):
            pass
        return out

    def flush(self) -> list[Found]:
        """The end of the answer: what is still held is text. Blanks between or behind calls are nobody's."""
        held, self._held = self._held, ""
        if self._state == "after" and CLOSE.startswith(held.strip(_BLANK)):
            return []
        if self._state in ("open", "call"):
            held = OPEN + held
        self._state = "text"
        return [Text(held)] if held and (held.strip(_BLANK) or not self.count) else []

    def _step(self, out: list[Found]) -> bool:
        """Go on as far as one state allows; whether the next one may go further."""
        if self._state == "text":
            return self._in_text(out)
        if self._state == "open":
            return self._in_envelope(out)
        if self._state == "call":
            return self._in_call(out)
        return self._behind_call()

    def _in_text(self, out: list[Found]) -> bool:
        before, tag, rest = self._held.partition(OPEN)
        if tag:
            self._say(before.rstrip(_BLANK) if self.count else before, out)
            self._held, self._state, self._at = rest, "open", 0
            return True
        sure = len(self._held) - _overlap(self._held)
        # Blanks behind a call wait: they are text only if text follows.
        if not (self.count and not self._held[:sure].strip(_BLANK)):
            self._say(self._held[:sure], out)
            self._held = self._held[sure:]
        return False

    def _in_envelope(self, out: list[Found]) -> bool:
        begun = self._held.lstrip(_BLANK)
        if not begun and len(self._held) < LONGEST:
            return False
        if begun.startswith("{"):
            self._state, self._at, self._depth = "call", len(self._held) - len(begun), 0
            self._in_string = self._escaped = False
            return True
        self._give_up(out)
        return True

    def _in_call(self, out: list[Found]) -> bool:
        end = self._scan()
        if not end:
            if len(self._held) > LONGEST:
                self._give_up(out)
            return False
        call = self._call(self._held[:end])
        if call is None:
            self._give_up(out)
            return True
        if not self._most or self.count < self._most:
            out.append(ToolFragment(self.count, None, *call))
            self.count += 1
        self._held, self._state = self._held[end:], "after"
        return True

    def _scan(self) -> int:
        """Where the object ends, or 0; goes on where the last look stopped."""
        held = self._held
        for at in range(self._at, len(held)):
            sign = held[at]
            if self._escaped:
                self._escaped = False
            elif self._in_string:
                if sign == "\\":
                    self._escaped = True
                elif sign == '"':
                    self._in_string = False
            elif sign == '"':
                self._in_string = True
            elif sign in "{[":
                self._depth += 1
            elif sign in "}]":
                self._depth -= 1
                if self._depth == 0:
                    return at + 1
        self._at = len(held)
        return 0

    def _behind_call(self) -> bool:
        """The closing tag, where the model wrote one."""
        rest = self._held.lstrip(_BLANK)
        if rest.startswith(CLOSE):
            self._held, self._state = rest[len(CLOSE) :], "text"
            return True
        if CLOSE.startswith(rest):
            return False
        self._state = "text"
        return True

    def _call(self, text: str) -> tuple[str, str] | None:
        """(name, arguments as JSON), or None where it is no call of a tool that there is."""
        try:
            said = json.loads(text, strict=False)
        except (ValueError, RecursionError):
            return None
        name = said.get("name") if isinstance(said, dict) else None
        if not isinstance(name, str) or name not in self._names:
            return None
        arguments = _arguments(said)
        return None if arguments is None else (name, dump(arguments).decode())

    def _give_up(self, out: list[Found]) -> None:
        """It is no call: the tag was text, and what follows it is looked at as such."""
        self._say(OPEN, out)
        self._state = "text"

    @staticmethod
    def _say(text: str, out: list[Found]) -> None:
        if text:
            out.append(Text(text))


def _arguments(said: dict[str, Any]) -> dict[str, Any] | None:
    """An object; some models call them `parameters`, or write them as a text that holds one. None of all is an empty one."""
    value = said.get("arguments", said.get("parameters"))
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    return {} if value is None else value if isinstance(value, dict) else None


def _overlap(text: str) -> int:
    """How many characters at the end may be the beginning of a tag."""
    for size in range(min(len(text), len(OPEN) - 1), 0, -1):
        if text.endswith(OPEN[:size]):
            return size
    return 0
