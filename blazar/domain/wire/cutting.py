"""Inputs of an embedding cut to the model's window, in the model's own tokens (M2, B19). Asked for by `truncate: true`, never done else.

The child's tokeniser is asked text by text, only about those that may be too long; what fits stays the text it was.
"""

from typing import Any, Final

SPARE: Final = 8
"""Tokens that a tokeniser may add of its own: beginning, end, a space in front."""
BYTES_PER_TOKEN: Final = 256
"""More text than this per token of the window is not even tokenised: no vocabulary has longer words on average."""


class Cutting:
    """Texts and token lists in; `ask` says what to tokenise next, `take` takes its tokens, `inputs` is the outcome."""

    def __init__(self, given: Any, window: int) -> None:
        alone = isinstance(given, str) or _tokens(given)
        self.inputs: list[Any] = [given] if alone else list(given)
        self.window = window
        self.cut = 0
        self._marks: list[int] | None = None  # what the tokeniser adds to an empty text
        self._due = []
        for at, item in enumerate(self.inputs):
            if isinstance(item, list):
                self._shorten(at, item, tail=False)
            elif len(item.encode("utf-8", "replace")) + SPARE > window:
                self._due.append(at)

    def ask(self) -> str | None:
        """The next text to tokenise with its marks; None when all is known."""
        if not self._due:
            return None
        return "" if self._marks is None else self.inputs[self._due[0]][: self.window * BYTES_PER_TOKEN]

    def take(self, tokens: list[int]) -> None:
        """The tokens of the text that was asked about."""
        if self._marks is None:
            self._marks = tokens
            return
        marks = self._marks
        # An end mark is kept at the end: a model that was trained with one reads a cut text as unfinished without it.
        ends = bool(marks) and tokens[-1:] == [marks[-1]] and (len(marks) > 1 or tokens[:1] != [marks[-1]])
        self._shorten(self._due.pop(0), tokens, tail=ends)

    def _shorten(self, at: int, tokens: list[int], *, tail: bool) -> None:
        if len(tokens) <= self.window:
            return
        self.inputs[at] = [*tokens[: self.window - 1], tokens[-1]] if tail else tokens[: self.window]
        self.cut += 1


def _tokens(given: Any) -> bool:
    return isinstance(given, list) and bool(given) and all(isinstance(item, int) for item in given)
