"""A batch as the store keeps it: its facts as JSON, its state as the status. Decides nothing."""

import json
from dataclasses import asdict
from typing import Any, Final

from blazar.application.ports.saved import Change, Keeping, Saved
from blazar.domain.batches import Batch, Flaw, Spent, State, Tally
from blazar.domain.kinds import Dialect
from blazar.domain.wire.anthropic_batches import KEPT

KINDS: Final = {Dialect.OPENAI: Keeping.BATCH, Dialect.ANTHROPIC: Keeping.MESSAGE_BATCH}
_COLUMNS: Final = ("id", "owner", "dialect", "created_at", "state")


def row_of(batch: Batch) -> Saved:
    """What is added to the store."""
    kind = KINDS[batch.dialect]
    forgotten = batch.created_at + KEPT if kind is Keeping.MESSAGE_BATCH else 0.0
    return Saved(
        kind,
        batch.id,
        batch.owner,
        batch.created_at,
        status=batch.state.value,
        facts=facts_of(batch),
        expires_at=forgotten,
    )


def change_of(batch: Batch) -> Change:
    """What becomes of its row."""
    return Change(status=batch.state.value, facts=facts_of(batch))


def facts_of(batch: Batch) -> str:
    """Everything that is no column."""
    facts = {name: value for name, value in asdict(batch).items() if name not in _COLUMNS}
    return json.dumps(facts, ensure_ascii=False, separators=(",", ":"))


def batch_of(row: Saved) -> Batch:
    """The batch again."""
    facts: dict[str, Any] = json.loads(row.facts)
    facts["tally"] = Tally(*facts["tally"])
    facts["spent"] = Spent(*facts.get("spent", ()))  # rows of earlier versions have none
    facts["flaws"] = tuple(Flaw(*flaw) for flaw in facts["flaws"])
    dialect = Dialect.OPENAI if row.kind is Keeping.BATCH else Dialect.ANTHROPIC
    return Batch(
        id=row.id, owner=row.owner, dialect=dialect, created_at=row.created_at, state=State(row.status), **facts
    )
