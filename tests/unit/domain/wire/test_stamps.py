"""Times."""

import re

from blazar.domain.wire.stamps import FOREVER, nanoseconds, rfc3339, to_the_second


def test_rfc3339() -> None:
    """UTC, microseconds, a Z."""
    assert rfc3339(0) == "1970-01-01T00:00:00.000000Z"
    assert rfc3339(1_800_000_000.25) == "2027-01-15T08:00:00.250000Z"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", FOREVER)


def test_people_read_no_microseconds() -> None:
    """The second that it happened in."""
    assert to_the_second(1_800_000_000.75) == "2027-01-15T08:00:00Z"


def test_nanoseconds() -> None:
    """Whole, and never negative."""
    assert nanoseconds(0.25) == 250_000_000
    assert nanoseconds(-1) == 0
