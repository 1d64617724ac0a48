"""What slots say about a child that says nothing."""

from typing import Any

import pytest

from blazar.domain.instance.progress import Look, busy_slots, judged


def slot(number: int = 0, busy: bool = True, **facts: Any) -> dict[str, Any]:
    """As llama-server b11434 lists it, shortened."""
    return {"id": number, "is_processing": busy, **facts}


def working(tokens: int, read: int = 9, task: int = 1) -> dict[str, Any]:
    """One that tells how far it is."""
    return slot(id_task=task, n_prompt_tokens_processed=read, next_token=[{"n_decoded": tokens}])


@pytest.mark.parametrize(
    ("first", "second", "look"),
    [
        ([slot(busy=False)], [slot(busy=False)], Look.WEDGED),
        ([slot(busy=False)], [slot()], Look.BUSY),
        ([slot()], [slot(busy=False)], Look.BUSY),
        ([working(3)], [working(4)], Look.BUSY),
        ([working(0, read=512)], [working(0, read=1024)], Look.BUSY),
        ([working(3, task=1)], [working(3, task=2)], Look.BUSY),
        ([working(3)], [working(3)], Look.WEDGED),
        ([working(3), slot(1)], [working(3), slot(1)], Look.BUSY),
    ],
)
def test_two_looks(first: list[Any], second: list[Any], look: Look) -> None:
    """At rest twice, or the same counts twice, is wedged; whatever moves, began or ended is busy."""
    seen = [busy_slots(said) for said in (first, second)]
    assert seen[0] is not None
    assert seen[1] is not None
    assert judged(seen[0], seen[1]) is look


def test_odd_a_slot_that_tells_nothing_but_that_it_works_is_believed() -> None:
    """Nothing says that it stands still."""
    seen = busy_slots([slot()])
    assert seen is not None
    assert judged(seen, seen) is Look.BUSY


@pytest.mark.parametrize("said", [None, {}, [], ["x"], [{"id": 0}], {"error": {"code": 501}}])
def test_what_is_no_list_of_slots_says_nothing(said: Any) -> None:
    """Then nobody is given up for it."""
    assert busy_slots(said) is None


@pytest.mark.parametrize("told", [[], None, "x", [7]])
def test_counts_of_another_shape_are_none(told: Any) -> None:
    """Other builds nest them otherwise, or not at all."""
    seen = busy_slots([slot(next_token=told)])
    assert seen == {(0, None, None, None)}
