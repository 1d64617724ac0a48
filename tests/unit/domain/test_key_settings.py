"""What may be said of a key."""

from typing import Any

import pytest

from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.key_settings import LONGEST_MODEL, MOST, MOST_MODELS, SETTINGS, checked_settings


def test_settings_come_out_in_the_order_of_the_file() -> None:
    """Whatever the order in which they were said; a weight is a fraction there."""
    said = {"weight": 2, "max_concurrent": 1, "daily_tokens": 5, "tpm": 4, "rpm": 3, "models": ["m", "remote:x", "m"]}
    found = checked_settings(said)
    assert tuple(found) == SETTINGS
    assert found == {**said, "models": ["m", "remote:x"], "weight": 2.0}
    assert type(found["weight"]) is float


def test_nothing_takes_a_setting_away() -> None:
    """Null models are all models; an empty list, which may mean none, is refused."""
    assert checked_settings({"rpm": None, "models": None}) == {"models": None, "rpm": None}
    with pytest.raises(Malformed) as refused:
        checked_settings({"models": []})
    assert str(refused.value) == teaching.key_models_empty()
    assert checked_settings({"models": None, "weight": None}) == {"models": None, "weight": None}
    assert checked_settings({}) == {}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *((limit, value) for limit in ("rpm", "tpm", "daily_tokens", "max_concurrent") for value in (0, -1, 1.5, True)),
        ("rpm", "7"),
        ("rpm", MOST + 1),
        ("weight", 0),
        ("weight", -1.0),
        ("weight", True),
        ("weight", "1"),
        ("weight", float("nan")),
        ("weight", float("inf")),
        ("weight", 10**400),
        ("models", "m"),
        ("models", {"m": 1}),
        ("models", [""]),
        ("models", [" m"]),
        ("models", ["m\n"]),
        ("models", ["\x1b[2J"]),
        ("models", [1]),
        ("models", ["x" * (LONGEST_MODEL + 1)]),
        ("models", ["m"] * (MOST_MODELS + 1)),
    ],
)
def test_what_no_file_could_say_is_refused_with_its_field(field: str, value: Any) -> None:
    """Before anything is done."""
    with pytest.raises(Malformed) as refused:
        checked_settings({field: value})
    assert refused.value.field == field
    assert f"'{field}' must be" in str(refused.value)


@pytest.mark.parametrize("models", [[""], ["m", " "]])
def test_an_empty_name_is_told_as_one(models: list[str]) -> None:
    """It is not the length of the list that is wrong."""
    with pytest.raises(Malformed) as refused:
        checked_settings({"models": models})
    assert str(refused.value) == teaching.key_model_unnamed()


@pytest.mark.parametrize("field", ["rmp", "name", "key", "secret", "x" * 500])
def test_a_setting_that_does_not_exist_is_no_silent_one(field: str) -> None:
    """A limit with a slip in its name would be none; a secret is never chosen by who asks."""
    with pytest.raises(Malformed) as refused:
        checked_settings({"rpm": 1, field: 1})
    assert refused.value.field == field
    assert len(str(refused.value)) < 250
