"""Whether a model's child may be tried with its projector again, after one failed to load with it. Only counts; knows no clock."""

from blazar.domain.errors import SpawnFailed

AGAIN_AFTER = 300.0
"""Seconds in which pictures are refused without a try: each try stops the child that serves text."""


class Sight:
    """What became of the last child that was started with a projector."""

    __slots__ = ("_failed", "_until")

    def __init__(self) -> None:
        self._failed, self._until = "", 0.0

    def on_failed_load(self, why: str, now: float) -> None:
        """The projector may be why; text goes on without it."""
        self._failed, self._until = why, now + AGAIN_AFTER

    def refusal(self, now: float) -> SpawnFailed | None:
        """What a request with pictures is told now; None: it may try."""
        return SpawnFailed(self._failed) if now < self._until else None

    def forget(self) -> None:
        """Somebody changed something, or says that it is worth a try."""
        self._failed, self._until = "", 0.0
