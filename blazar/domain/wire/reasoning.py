"""Thinking: how each dialect's wish becomes the child's words, and taking `<think>` text out of an answer.

llama-server separates reasoning by itself; the splitter is for engines and templates where the tags leak into the
content (case D12), for streams and whole texts alike.
"""

from typing import Any, Final

from blazar.domain.errors import Malformed
from blazar.domain.teaching import field_must
from blazar.domain.wire.delta import Reasoning, Text

OPEN: Final = "<think>"
CLOSE: Final = "</think>"
EFFORTS: Final = ("minimal", "low", "medium", "high", "xhigh", "max")

LONGEST_GUESS: Final = 64 * 1024
"""Characters held while it is unknown whether a pre-opened tag is ever closed; beyond it the text is taken for thinking,
so that a long thought streams and the hold stays bounded."""


class ThinkSplitter:
    """Feed content, get text and reasoning. Tags may be cut anywhere.

    A tag counts only at the start of the answer: one in the middle is something that the answer is about. With
    `prefilled` the template itself opened the tag: if it is never closed, the model answered directly and all of it is
    the answer (case D13).
    """

    __slots__ = ("_guessing", "_held", "_state")

    def __init__(self, *, prefilled: bool = False) -> None:
        self._held = ""
        self._guessing = prefilled
        self._state = "thinking" if prefilled else "start"

    def feed(self, text: str) -> list[Text | Reasoning]:
        """What is certain by now."""
        if self._state == "answer":
            return [Text(text)] if text else []
        self._held += text
        if self._state == "start":
            return self._at_start()
        if self._state == "after":
            return self._after_close()
        return self._in_thought()

    def flush(self) -> list[Text | Reasoning]:
        """The rest, at the end of the answer."""
        held, self._held = self._held, ""
        if not held:
            return []
        return [Reasoning(held)] if self._state == "thinking" and not self._guessing else [Text(held)]

    def _at_start(self) -> list[Text | Reasoning]:
        begun = self._held.lstrip()
        if begun.startswith(OPEN):
            self._state = "thinking"
            self._held = begun[len(OPEN) :]
            return self._in_thought()
        if OPEN.startswith(begun):
            return []
        self._state = "answer"
        held, self._held = self._held, ""
        return [Text(held)]

    def _in_thought(self) -> list[Text | Reasoning]:
        thought, mark, rest = self._held.partition(CLOSE)
        if mark:
            self._state, self._held, self._guessing = "after", rest, False
            said: list[Text | Reasoning] = [Reasoning(thought)] if thought else []
            return said + self._after_close()
        if self._guessing:
            if len(self._held) < LONGEST_GUESS:
                return []
            self._guessing = False
        sure = len(self._held) - _overlap(self._held, CLOSE)
        thought, self._held = self._held[:sure], self._held[sure:]
        return [Reasoning(thought)] if thought else []

    def _after_close(self) -> list[Text | Reasoning]:
        # Templates put blank lines between thought and answer; they belong to neither.
        held = self._held.lstrip("\n")
        self._held = ""
        if not held:
            return []
        self._state = "answer"
        return [Text(held)]


def split(text: str, *, prefilled: bool = False) -> tuple[str, str]:
    """(reasoning, answer) of a whole text, by the same rules."""
    splitter = ThinkSplitter(prefilled=prefilled)
    parts = [*splitter.feed(text), *splitter.flush()]
    return (
        "".join(part.text for part in parts if isinstance(part, Reasoning)),
        "".join(part.text for part in parts if isinstance(part, Text)),
    )


def ask_to_think(
    body: dict[str, Any], think: bool | None, effort: str | None = None, budget: int | None = None
) -> None:
    """Write the wish into a child's chat body; None leaves the template's own default.

    A template without the switch ignores it, so this is safe for every model.
    """
    if think is None:
        return
    kwargs: dict[str, Any] = {**(body.get("chat_template_kwargs") or {}), "enable_thinking": think}
    if think and effort:
        kwargs["reasoning_effort"] = effort
    body["chat_template_kwargs"] = kwargs
    if think and budget is not None:
        body["thinking_budget_tokens"] = budget


def read_think(value: Any, field: str = "think") -> tuple[bool | None, str | None]:
    """Ollama's `think`: a switch, or an effort that implies it. (None, None) when nothing was said."""
    if value is None or isinstance(value, bool):
        return value, None
    if isinstance(value, str) and value.lower() in EFFORTS:
        return True, value.lower()
    raise Malformed(field_must(field, "think"), field)


def _overlap(text: str, mark: str) -> int:
    """How many characters at the end of `text` may be the beginning of `mark`."""
    for size in range(min(len(text), len(mark) - 1), 0, -1):
        if text.endswith(mark[:size]):
            return size
    return 0
