"""What a client has to raise: pytest's own word for it is no `Exception`, and would end a run of the matrix."""

from collections.abc import Callable
from typing import TypeVar

E = TypeVar("E", bound=Exception)


def raised(kind: type[E], ask: Callable[[], object]) -> E:
    """The error of this kind that `ask` ends with; a miss where it answers."""
    try:
        got = ask()
    except kind as error:
        return error
    raise AssertionError(f"it answered {got!r:.200}, and no {kind.__name__}")
