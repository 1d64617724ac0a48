"""Who waits, and how what they wait for ends."""

from blazar.application.ops.caller import Caller
from blazar.domain.errors import Refusal

WHY = Refusal("gone")


def test_leaving_stops_what_is_under_way() -> None:
    """With the reason, which is what the work then raises."""
    stopped: list[Exception] = []
    caller = Caller()
    caller.stopped_by(stopped.append)
    caller.leave(WHY)
    assert stopped == [WHY]


def test_what_begins_after_leaving_is_stopped_at_once() -> None:
    """A caller may leave before there is anything to stop."""
    stopped: list[Exception] = []
    caller = Caller()
    caller.leave(WHY)
    caller.stopped_by(stopped.append)
    assert stopped == [WHY]
