"""The catalogs that load no ORM to read: SQLite is asked directly, and the catalogs on the ORM do what writes.

The ORM takes a third of a second to import, half of what `blazar engine list` would cost, and a fifth of an idle daemon's memory.
Where the file is not there, of another version or not to be read, the database is opened: it makes it, brings it up to date, or
says what is wrong.
"""

from collections.abc import Callable
from pathlib import Path

from blazar.adapters.store.anchor import Anchor
from blazar.adapters.store.database import Database
from blazar.adapters.store.glance import rows_in
from blazar.adapters.store.rows import engine_of, model_of, read_all, strayed
from blazar.application.ports.catalog import ModelCatalog
from blazar.application.ports.engines import EngineCatalog, Judge
from blazar.domain.kinds import EngineKind
from blazar.domain.records import Engine, Model


class SwiftModelCatalog(ModelCatalog):
    """The `models` table. `opened` gives the database at that path, for what this does not do alone."""

    def __init__(self, database: Path, opened: Callable[[], Database]) -> None:
        self._database, self._opened = database, opened

    def find_model(self, name: str) -> Model | None:
        rows = rows_in(self._database, "SELECT * FROM models WHERE name = ?", name)
        if rows is None:
            return self._whole().find_model(name)
        return next(iter(read_all(model_of, rows, Anchor(self._database.parent))), None)

    def list_models(self) -> list[Model]:
        rows = rows_in(self._database, "SELECT * FROM models ORDER BY name")
        return self._whole().list_models() if rows is None else read_all(model_of, rows, Anchor(self._database.parent))

    def add_model(self, model: Model) -> None:
        self._whole().add_model(model)

    def replace_model(self, model: Model) -> None:
        self._whole().replace_model(model)

    def remove_model(self, name: str, known: Model | None = None) -> bool:
        return self._whole().remove_model(name, known)

    def revision(self) -> int:
        return self._opened().revision()

    def _whole(self) -> ModelCatalog:
        from blazar.adapters.store.catalog import SqliteModelCatalog

        return SqliteModelCatalog(self._opened())


class SwiftEngineCatalog(EngineCatalog):
    """The `engines` table, likewise."""

    def __init__(self, database: Path, opened: Callable[[], Database]) -> None:
        self._database, self._opened = database, opened

    def find_engine(self, tag: str) -> Engine | None:
        rows = rows_in(self._database, "SELECT * FROM engines WHERE tag = ?", tag)
        if rows is None:
            return self._whole().find_engine(tag)
        return next(iter(read_all(engine_of, rows, Anchor(self._database.parent))), None)

    def list_engines(self) -> list[Engine]:
        rows = rows_in(self._database, "SELECT * FROM engines ORDER BY kind, active DESC, installed_at DESC, tag")
        if rows is None:
            return self._whole().list_engines()
        return read_all(engine_of, rows, Anchor(self._database.parent))

    def add_engine(self, engine: Engine) -> None:
        self._whole().add_engine(engine)

    def set_active(self, kind: EngineKind, tag: str, at: float = 0.0) -> None:
        self._whole().set_active(kind, tag, at)

    def amend_engine(self, tag: str, change: Callable[[Engine], Engine]) -> Engine:
        return self._whole().amend_engine(tag, change)

    def remove_engine(self, tag: str, judge: Judge | None = None) -> None:
        self._whole().remove_engine(tag, judge)

    def heal_paths(self) -> list[str]:
        rows = rows_in(self._database, "SELECT * FROM engines")
        if rows is not None and not strayed(rows, Anchor(self._database.parent)):
            return []
        return self._whole().heal_paths()

    def _whole(self) -> EngineCatalog:
        from blazar.adapters.store.catalog import SqliteEngineCatalog

        return SqliteEngineCatalog(self._opened())
