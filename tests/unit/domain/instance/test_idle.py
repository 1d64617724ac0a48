"""keep_alive in every spelling (case L11)."""

import json
import math

import pytest

from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.instance.idle import FOREVER, LONGEST_STAY, idle_deadline, parse_keep_alive


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("10m", 600.0),
        (3600, 3600.0),
        ("3600", 3600.0),
        (-1, FOREVER),
        ("-1", FOREVER),
        ("-1m", FOREVER),
        (-300, FOREVER),
        (0, 0.0),
        ("0", 0.0),
        ("0s", 0.0),
        ("1h30m", 5400.0),
        (1.5, 1.5),
        ("1.5", 1.5),
        ("1.5h", 5400.0),
        (".5s", 0.5),
        ("1.s", 1.0),
        ("300ms", 0.3),
        ("24h", 86_400.0),
        ("+5m", 300.0),
        ("2h45m30.5s", 9930.5),
        ("1000000us", 1.0),
        ("1000000µs", 1.0),
        ("1000000μs", 1.0),
        ("1000000000ns", 1.0),
        (10**400, FOREVER),
        (1e300, FOREVER),
        ("1000000h", FOREVER),
        (LONGEST_STAY, LONGEST_STAY),
        (math.inf, FOREVER),
    ],
)
def test_every_spelling_is_understood(value, seconds):
    """Numbers are seconds, text is a Go duration or a number, any negative stays for ever."""
    assert parse_keep_alive(value) == pytest.approx(seconds)


@pytest.mark.parametrize("value", ["-0s", "-0h0m", "-.0s"])
def test_odd_a_sign_before_nothing_means_nothing(value):
    """Any other negative stays for ever."""
    assert parse_keep_alive(value) == 0.0


@pytest.mark.parametrize(
    "value",
    [
        "",
        "abc",
        "m",
        "10x",
        "1h 30m",
        " 10m",
        "10m ",
        "--1m",
        "1e3",
        "5m5",
        "١m",
        "nan",
        "-",
        "1" * 80,
        math.nan,
        True,
        False,
        [],
        {},
        [5],
        {"a": True, "ü": None},
    ],
)
def test_anything_else_is_refused_in_words(value):
    """The sentence names what was sent as it was sent (JSON, not Python's), the field is known."""
    with pytest.raises(Malformed) as caught:
        parse_keep_alive(value)
    assert str(caught.value) == teaching.keep_alive_wrong(
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    )
    assert caught.value.field == "keep_alive"


def test_a_deadline_counts_from_the_last_request():
    """Never while busy, never for ever."""
    assert idle_deadline(100.0, 60.0) == 160.0
    assert idle_deadline(100.0, 0.0) == 100.0
    assert idle_deadline(None, 60.0) is None
    assert idle_deadline(100.0, FOREVER) is None
