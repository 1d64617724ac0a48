"""Command lines held byte for byte: what a configuration, a model and a machine are compiled to, with the reason of every word.

One file a case, in a folder a kind (`tests/fixtures/argv/README.md`). `BLAZAR_GOLDEN=write` writes what they come to now; read
the difference against the documents before it is kept.
"""

import os

import pytest

from tests.support.golden_argv import CASES, Case

WRITE = os.environ.get("BLAZAR_GOLDEN") == "write"
ENOUGH = 40


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_is_compiled_to_its_words(case: Case) -> None:
    """Words, variables, decisions and notes; or the sentence of the refusal."""
    came = case.compiled()
    if WRITE:
        case.keep(came)
    else:
        assert came == case.expected


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_word_has_its_reason(case: Case) -> None:
    """The decisions' words in their order are the argv after the program's own, and each says why."""
    came = case.compiled()
    said = [word for decision in came.get("decisions", ()) for word in decision["words"]]
    assert said == came.get("argv", [])[case.program :]
    assert all(decision["reason"] for decision in came.get("decisions", ()))


def test_there_are_enough_cases() -> None:
    """And each has a name of its own, in the words of what it shows."""
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names) >= ENOUGH
