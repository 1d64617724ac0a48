"""Numbers that an engine would take for others."""

from typing import Any

import pytest

from blazar.domain.wire.reach import FIELDS, beyond, within_reach
from blazar.domain.wire.request import ENDLESS


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("value", [2**31, 2**32 + 5, 2**64, 1e10, 4294967301.0])
def test_more_than_an_engine_holds_is_as_many_as_there_are(field: str, value: float) -> None:
    """It would count 2**32 + 5 as 5."""
    body = {field: value, "messages": []}
    assert within_reach(body)
    assert body == {field: ENDLESS, "messages": []}


@pytest.mark.parametrize("value", [0, 1, -1, 5, 2**31 - 1, -(2**31), 0.5, None, "9" * 30, True, [2**40], {}])
def test_what_it_holds_stays(value: Any) -> None:
    """What is no number is for others to judge."""
    body = {"max_tokens": value, "seed": value}
    assert not within_reach(body)
    assert body == {"max_tokens": value, "seed": value}


def test_too_little_is_the_least() -> None:
    """The engine refuses it by itself; what must not happen is that it wraps to something that it takes."""
    body = {"max_tokens": -(2**32) + 7}
    assert within_reach(body)
    assert body["max_tokens"] == -(2**31)


@pytest.mark.parametrize("seed", [2**32 - 1, 2**31, 2**63, -(2**31) - 1, 1e12])
def test_a_large_seed_stays_a_seed(seed: float) -> None:
    """2**32 - 1 is -1 to an engine, so chance: the same seed would give another answer each time."""
    one, same, other = {"seed": seed}, {"seed": seed}, {"seed": seed - 1 if seed < 0 else seed + 1}
    for body in (one, same, other):
        assert within_reach(body)
    assert one == same != other
    assert 0 <= one["seed"] < ENDLESS


def test_only_what_wraps_is_beyond() -> None:
    """The scan before a parse asks this."""
    assert [beyond(value) for value in (2**31, -(2**31) - 1, 2**31 - 1, None, "x", True)] == [True, True, *[False] * 4]
