"""The leave to transfer where nobody counts."""

from blazar.application.models.slots import UNLIMITED
from blazar.domain.errors import Refusal


def _refuse() -> None:
    raise Refusal("nobody waits here")


def test_a_single_pull_waits_for_nobody() -> None:
    """Neither lending nor taking back does anything."""
    UNLIMITED.lend()
    UNLIMITED.take_back(_refuse)
