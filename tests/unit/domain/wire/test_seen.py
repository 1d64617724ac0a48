"""What is known of an answer that nobody kept."""

from blazar.domain.wire.seen import Seen


def test_of_what_nobody_told_nothing_is_known() -> None:
    """No tokens, no calls, and no text, which is not an empty one."""
    assert Seen(words=True, thought=False, finish="stop") == (True, False, "stop", 0, (), None)
