"""The measurements of engine builds on SQLite: rows are only ever added."""

from blazar.adapters.store.database import Database
from blazar.adapters.store.tables import BenchRow
from blazar.application.ports.benches import BenchHistory


class SqliteBenchHistory(BenchHistory):
    """The `bench_history` table."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, engine: str, model: str, decode_tps: float, at: float) -> None:
        row = BenchRow(
            engine=engine,
            model=model,
            prompt_tokens_per_second=0.0,  # prompts are not timed: no gate looks at them
            decode_tokens_per_second=decode_tps,
            measured_at=at,
        )
        with self._database.writing() as session:
            session.add(row)
