"""What a key may say about itself."""

from typing import Annotated

import pytest
from pydantic import ValidationError

from blazar.application.config.knob import Keys, Knob, Words, knob_of, shaped
from blazar.domain import teaching


class Some(Keys):
    """A group."""

    count: Annotated[int, Knob(env=("A", "B"), per_model=True)] = 3
    """How many."""
    words: Words = ()
    """Which."""
    name: Annotated[str, shaped("[a-z]+", "environment")] = ""
    """Who."""


def test_metadata_is_found_beside_the_type():
    """And is empty where nothing is said; the sentence is the field's description."""
    assert knob_of(Some.model_fields["count"]) == Knob(("A", "B"), per_model=True)
    assert knob_of(Some.model_fields["words"]) == Knob()
    assert Some.model_fields["count"].description == "How many."


def test_a_group_is_strict_closed_and_unchangeable():
    """`"3"` is a mistake that a person should see, and so is a key that nobody declared."""
    for value in ({"count": "3"}, {"words": ["a", 1]}, {"other": 1}):
        with pytest.raises(ValidationError):
            Some.model_validate(value)
    with pytest.raises(ValidationError):
        Some().count = 4


def test_a_list_of_texts_is_a_tuple():
    """TOML knows no tuple; only the container is lenient."""
    assert Some.model_validate({"words": ["a", "b"]}).words == ("a", "b")


def test_a_shaped_text_matches_as_a_whole_or_is_empty():
    """The sentence is ours."""
    assert Some(name="abc").name == "abc"
    assert Some(name="").name == ""
    with pytest.raises(ValidationError) as caught:
        Some(name="abc1")
    (error,) = caught.value.errors()
    assert (error["type"], error["msg"]) == ("blazar", teaching.config_wants("environment"))
