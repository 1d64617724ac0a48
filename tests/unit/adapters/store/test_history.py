"""The history of measurements."""

from pathlib import Path

from sqlalchemy import text

from blazar.adapters.store.database import Database
from blazar.adapters.store.history import SqliteBenchHistory


def test_rows_are_added(tmp_path: Path) -> None:
    """Every measurement stays, also of builds and models that are not in the catalog."""
    database = Database(tmp_path / "blazar.db")
    history = SqliteBenchHistory(database)
    history.record("b1", "m", 85.5, 7.0)
    history.record("b1", "m", 90.0, 8.0)
    with database.reading() as session:
        query = "SELECT engine, model, decode_tokens_per_second, measured_at FROM bench_history ORDER BY id"
        rows = [tuple(row) for row in session.connection().execute(text(query))]
    database.close()
    assert rows == [("b1", "m", 85.5, 7.0), ("b1", "m", 90.0, 8.0)]
