"""When a host is asked again, and when not."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from blazar.adapters.net import patience
from blazar.adapters.net.patience import BRIEF, LONG, ONCE, Crowded, Failing, asked_for, busy, secs_after
from blazar.domain.errors import Busy

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "secs"),
    [
        ("1", 1),
        (" 7 ", 7),
        ("9" * 40, 3600),
        ("", None),
        ("soon", None),
        ("-1", None),
        ("1.5", None),
        ("٣", None),
        (format_datetime(NOW + timedelta(seconds=30), usegmt=True), 30),
        (format_datetime(NOW - timedelta(days=1), usegmt=True), 0),
        (format_datetime(NOW + timedelta(days=9), usegmt=True), 3600),
        ("Sun, 99 Mar 2026 12:00:30 GMT", None),
        ("Sun, 01 Mar 99999999 12:00:30 GMT", None),
    ],
)
def test_a_host_asks_for_seconds_or_until_a_date(text: str, secs: int | None) -> None:
    """Both are the standard's; anything else says nothing."""
    assert asked_for(text, NOW.timestamp) == secs


def test_what_a_host_asks_for_is_waited_and_no_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the pauses grow, and are not the same for all."""
    monkeypatch.setattr(patience, "PAUSE_SECS", 0.5)
    assert 7 <= LONG.secs(Busy("x", 7), 1) < 8
    first, third = ({LONG.secs(Failing("x"), tries) for _ in range(20)} for tries in (1, 3))
    assert len(first) > 1
    assert max(first) <= 1.0
    assert min(third) >= 2.0
    assert secs_after(Failing("x"), 50, 0.5) <= patience.LONGEST_PAUSE
    assert secs_after(Crowded("x", 60), 1, 0.5) <= 1.0


def test_patience_ends() -> None:
    """After five tries of a pull, after three where somebody looks on, and at once where a host asks for more than is given."""
    for given, tries in ((LONG, 5), (BRIEF, 3), (ONCE, 1)):
        assert given.ends(Failing("x"), tries)
        assert not given.ends(Failing("x"), tries - 1)
    assert LONG.ends(Busy("x", 61), 1)
    assert not LONG.ends(Busy("x", 60), 1)
    assert BRIEF.ends(Busy("x", 6), 1)
    assert not BRIEF.ends(Crowded("x", 60), 1)  # it did not ask for that


def test_a_refusal_without_a_time_names_one_all_the_same() -> None:
    """A person has to be told something."""
    told, untold = (busy(text, lambda secs: f"in {secs} s") for text in ("9", ""))
    assert (str(told), told.retry_after, isinstance(told, Crowded)) == ("in 9 s", 9, False)
    assert (str(untold), untold.retry_after, isinstance(untold, Crowded)) == ("in 60 s", 60, True)
