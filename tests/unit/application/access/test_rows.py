"""Keys as they are shown."""

from blazar.application.access.rows import key_row, told_once, usage_row
from blazar.application.ports.ledger import DayUsage
from blazar.domain.keys import Key

SECRET = "plm_" + "ab" * 24


def test_a_row_has_every_setting_and_no_secret() -> None:
    """Of one of ours the last characters, to tell which one a client has."""
    row = key_row(Key("a", SECRET, ("m",), rpm=1))
    assert row == {
        "name": "a",
        "key": "plm_…abab",
        "models": ["m"],
        "rpm": 1,
        "tpm": None,
        "daily_tokens": None,
        "max_concurrent": None,
        "weight": 1.0,
    }
    assert SECRET not in str(row)


def test_who_made_a_key_sees_it_whole() -> None:
    """Everything else is as in the listing."""
    key = Key("a", SECRET)
    assert told_once(key) == key_row(key) | {"key": SECRET}


def test_a_day_has_its_sum() -> None:
    """Of prompts and answers."""
    assert usage_row(DayUsage("a", "2026-01-31", 3, 40, 2)) == {
        "day": "2026-01-31",
        "requests": 3,
        "prompt_tokens": 40,
        "completion_tokens": 2,
        "total_tokens": 42,
    }
