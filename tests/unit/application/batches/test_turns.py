"""When a batch may ask."""

import pytest

from blazar.application.batches.turns import Turns
from tests.unit.adapters.http.gateway import VIEW

FREE = VIEW._replace(model="m", key="m", slots=2, in_flight=1)
FULL = FREE._replace(in_flight=2)


@pytest.mark.parametrize(
    ("views", "free"),
    [
        ([], True),
        ([FREE], True),
        ([FULL], False),
        ([FULL, FREE._replace(key="m#2")], True),
        ([FREE._replace(waiting=1)], False),
        ([FULL._replace(model="other", key="other")], True),
        ([FREE, FULL._replace(model="other", waiting=1)], False),
    ],
)
def test_nobody_is_kept_waiting(views: list, free: bool) -> None:
    """A free place, or a model that is not loaded, and nobody in line anywhere."""
    assert Turns(lambda: views).free("m") is free


def test_a_model_may_be_spelled_as_clients_do() -> None:
    """With the tag that ollama's clients add."""
    assert Turns(lambda: [FULL]).free("m:latest") is False
