"""The generator of covering rows, which decides what the live argv test tries."""

import random

from tests.support.pairwise import Row, covering_rows, missing_pairs


def test_every_pair_of_values_stands_in_a_row():
    """For parameters of mixed sizes, in far fewer rows than their product."""
    parameters = {f"p{i}": list(range(2 + i % 3)) for i in range(20)}
    rows = covering_rows(parameters)
    assert missing_pairs(rows, parameters) == []
    assert len(rows) < 60


def test_what_excludes_each_other_is_never_in_one_row():
    """And everything else is still covered."""

    def allowed(row: Row) -> bool:
        return not (row.get("a") == 1 and row.get("b") == 1)

    parameters = {"a": [0, 1], "b": [0, 1], "c": [0, 1, 2]}
    rows = covering_rows(parameters, allowed)
    assert all(allowed(row) for row in rows)
    assert missing_pairs(rows, parameters, allowed) == []


def test_random_spaces_are_covered():
    """Whatever the sizes are; the same space gives the same rows."""
    chance = random.Random(7)
    for _ in range(20):
        parameters = {f"p{i}": list(range(chance.randint(1, 5))) for i in range(chance.randint(2, 12))}
        rows = covering_rows(parameters)
        assert missing_pairs(rows, parameters) == []
        assert rows == covering_rows(parameters)
