"""What the chat endpoints make of a child's refusal: sizes in our words, or another try with schemas that it can take."""

from typing import Any, Final

from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.wire.refusal import refused_grammar, too_long
from blazar.domain.wire.relax import Relaxing

_BOUND_BY: Final = {"ctx": teaching.prompt_too_long, "": teaching.prompt_over_training}


class SecondTry:
    """The further attempts at one request."""

    __slots__ = ("_format_field", "_relaxing")

    def __init__(self, format_field: str) -> None:
        self._format_field = format_field
        self._relaxing: Relaxing | None = None

    def may(self, status: int, raw: bytes, window_key: str = "ctx") -> bool:
        """Whether another try could help. Raises `Malformed` where the prompt is too long (B5, B6); it advises what binds."""
        if (sizes := too_long(raw)) is not None:
            raise Malformed(_BOUND_BY.get(window_key, teaching.prompt_over_share)(*sizes))
        return refused_grammar(status, raw)

    @property
    def eased(self) -> bool:
        """Whether the answer is held to less than the caller wanted: then there is no receipt (D19)."""
        return self._relaxing is not None and self._relaxing.eased

    def amend(self, body: dict[str, Any]) -> tuple[str, ...]:
        """Change the child's body for the next try; its warnings, none when nothing is left to try (C14, C15, E4, E5)."""
        if self._relaxing is None:
            self._relaxing = Relaxing(self._format_field)
        return self._relaxing.next(body)
