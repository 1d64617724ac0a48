"""The log filter grammar."""

import pytest
from pydantic_core import PydanticCustomError

from blazar.application.config.log_filter import LogFilter, checked_filter, parse_filter, understood


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", LogFilter()),
        ("debug", LogFilter(10)),
        ("WARN", LogFilter(30)),
        ("off", LogFilter(100)),
        ("info,blazar::access=off", LogFilter(20, (("blazar.access", 100),))),
        ("blazar.events=trace, error", LogFilter(40, (("blazar.events", 5),))),
        ("nonsense", LogFilter()),
        ("a[b]=info,debug", LogFilter(10)),
    ],
)
def test_a_filter_is_read(text, expected):
    """Levels and logger=level, any case, either separator; the unreadable is skipped."""
    assert parse_filter(text) == expected


def test_ours_is_strict_and_others_are_not():
    """A filter of our own must be readable whole; of a shared one the readable part is used."""
    assert checked_filter("info,blazar::x=off") == "info,blazar::x=off"
    for text in ("loud", "info,", "=debug", "a b=info"):
        with pytest.raises(PydanticCustomError):
            checked_filter(text)
    assert understood("info,a[b]=x,blazar=debug") == "info,blazar=debug"
    assert understood("hyper=debug,blazar::serve=warn") == "blazar::serve=warn"
