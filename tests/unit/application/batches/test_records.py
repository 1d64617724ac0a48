"""A batch as the store keeps it."""

import json
from dataclasses import replace

import pytest

from blazar.application.batches.records import batch_of, change_of, row_of
from blazar.application.ports.saved import Keeping
from blazar.domain.batches import Flaw, Spent, State, Tally
from blazar.domain.kinds import Dialect
from blazar.domain.wire.anthropic_batches import KEPT
from tests.support.batching import a_batch


@pytest.mark.parametrize("dialect", [Dialect.OPENAI, Dialect.ANTHROPIC])
def test_a_batch_comes_back_as_it_was(dialect: Dialect) -> None:
    """Every field of it."""
    batch = a_batch(
        dialect=dialect,
        state=State.CANCELLING,
        metadata={"é": "1"},
        tally=Tally(3, 1),
        stamps={"cancelling_at": 1.5},
        flaws=(Flaw("c", "m", "p", 2),),
        output_file_id="o",
        output_lives=3600,
        spent=Spent(9, 3, 5, 2),
        model="m",
    )
    assert batch_of(row_of(batch)) == batch


def test_a_row_of_an_earlier_version_is_read() -> None:
    """Nothing was counted then."""
    row = row_of(a_batch())
    facts = {name: value for name, value in json.loads(row.facts).items() if name not in ("spent", "model")}
    assert batch_of(replace(row, facts=json.dumps(facts))) == a_batch()


def test_a_row_can_be_found_by_its_state() -> None:
    """What a restart looks for."""
    assert row_of(a_batch()).status == "validating"
    assert change_of(a_batch(state=State.FAILED)).status == "failed"


def test_message_batches_are_forgotten_in_time() -> None:
    """Their results are kept for as long as the API keeps them; OpenAI's batches stay."""
    assert row_of(a_batch(dialect=Dialect.ANTHROPIC)).expires_at == 1000.0 + KEPT
    assert row_of(a_batch()).expires_at == 0
    assert (row_of(a_batch()).kind, row_of(a_batch(dialect=Dialect.ANTHROPIC)).kind) == (
        Keeping.BATCH,
        Keeping.MESSAGE_BATCH,
    )
