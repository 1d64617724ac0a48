"""The rows themselves."""

from pathlib import Path

import pytest
from sqlalchemy import text

from blazar.adapters.store.database import Database
from blazar.adapters.store.tables import Row
from blazar.domain.errors import StoreTrouble


def test_the_six_tables_of_the_specification() -> None:
    """These and no other, whatever else in this process uses SQLModel."""
    assert set(Row.metadata.tables) == {"engines", "models", "profiles", "loras", "key_usage", "bench_history"}


def test_a_name_with_a_replica_mark_cannot_be_stored(tmp_path: Path) -> None:
    """`#` is grammar (contract), and the file says so too."""
    database = Database(tmp_path / "blazar.db")
    statement = (
        "INSERT INTO models VALUES ('a#1', '[]', '[]', 'gguf', '', '', 0, 0, 0, NULL, 0, 0, '', 0, '', '[]', '', '')"
    )

    def insert() -> None:
        with database.writing() as session:
            session.connection().execute(text(statement))

    with pytest.raises(StoreTrouble, match="models_name_without_replica"):
        insert()
    database.close()
