"""The catalogs of models and engines on SQLite. Rows come in and go out as domain records.

Importing this costs a third of a second (SQLModel): thin verbs must not.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path

from sqlmodel import Session, col, select

from blazar.adapters.store.database import Database
from blazar.adapters.store.tables import EngineRow, ModelRow
from blazar.application.ports.catalog import ModelCatalog
from blazar.application.ports.engines import EngineCatalog
from blazar.domain import teaching
from blazar.domain.errors import Conflict, EngineNotFound
from blazar.domain.kinds import RANK, EngineKind, Provenance, Weights
from blazar.domain.records import Engine, Model


class Anchor:
    """Paths inside the data folder are stored relative to it and read as absolute ones (contract)."""

    def __init__(self, data: Path) -> None:
        self._data = str(data.absolute())

    def stored(self, path: str) -> str:
        inside = os.path.normpath(path)
        return inside.removeprefix(self._data + os.sep)

    def live(self, stored: str) -> str:
        """Joining leaves a path that is absolute already as it is."""
        return str(Path(self._data, stored))


class SqliteModelCatalog(ModelCatalog):
    """The `models` table."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._anchor = Anchor(database.path.parent)

    def find_model(self, name: str) -> Model | None:
        with self._database.reading() as session:
            row = session.get(ModelRow, name)
            return self._record(row) if row else None

    def list_models(self) -> list[Model]:
        with self._database.reading() as session:
            return [self._record(row) for row in session.exec(select(ModelRow).order_by(col(ModelRow.name)))]

    def add_model(self, model: Model) -> None:
        with self._database.writing() as session:
            if session.get(ModelRow, model.name):
                raise Conflict(teaching.name_taken(model.name))
            session.add(self._row(model))

    def remove_model(self, name: str) -> bool:
        with self._database.writing() as session:
            row = session.get(ModelRow, name)
            if row:
                session.delete(row)
            return row is not None

    def revision(self) -> int:
        return self._database.revision()

    def _row(self, model: Model) -> ModelRow:
        return ModelRow(
            name=model.name,
            files=json.dumps([self._anchor.stored(file) for file in model.files]),
            sizes=json.dumps(model.sizes),
            weights=model.weights,
            arch=model.arch,
            quant=model.quant,
            parameters=model.parameters,
            ctx_train=model.ctx_train,
            embedding_length=model.embedding_length,
            pooling=model.pooling,
            template=model.template,
            owned=model.owned,
            digest=model.digest,
            imported_at=model.imported_at,
            folder=self._anchor.stored(model.folder) if model.folder else "",
            components=json.dumps([[role, self._anchor.stored(file)] for role, file in model.components]),
        )

    def _record(self, row: ModelRow) -> Model:
        return Model(
            name=row.name,
            files=tuple(self._anchor.live(file) for file in json.loads(row.files)),
            sizes=tuple(json.loads(row.sizes)),
            weights=Weights(row.weights),
            arch=row.arch,
            quant=row.quant,
            parameters=row.parameters,
            ctx_train=row.ctx_train,
            embedding_length=row.embedding_length,
            pooling=row.pooling,
            template=row.template,
            owned=row.owned,
            digest=row.digest,
            imported_at=row.imported_at,
            folder=self._anchor.live(row.folder) if row.folder else "",
            components=tuple((role, self._anchor.live(file)) for role, file in json.loads(row.components)),
        )


class SqliteEngineCatalog(EngineCatalog):
    """The `engines` table. Every writing method leaves exactly one active build to each kind that has any."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._anchor = Anchor(database.path.parent)

    def find_engine(self, tag: str) -> Engine | None:
        with self._database.reading() as session:
            row = session.get(EngineRow, tag)
            return self._record(row) if row else None

    def list_engines(self) -> list[Engine]:
        order = (EngineRow.kind, col(EngineRow.active).desc(), col(EngineRow.installed_at).desc(), EngineRow.tag)
        with self._database.reading() as session:
            return [self._record(row) for row in session.exec(select(EngineRow).order_by(*order))]

    def add_engine(self, engine: Engine) -> None:
        with self._database.writing() as session:
            before = session.get(EngineRow, engine.tag)
            old_kind = before.kind if before else None
            kept = before is not None and before.active and before.kind == engine.kind
            row = session.merge(self._row(engine, active=kept))
            session.flush()
            holder = _active_of(session, engine.kind)
            # An official build takes over from an embedded wheel, which serves only while it is alone (D20).
            if engine.active or holder is None or _preference(row)[0] < _preference(holder)[0]:
                _activate(session, row)
            if old_kind is not None and old_kind != engine.kind:
                _hand_over(session, old_kind)

    def set_active(self, kind: EngineKind, tag: str) -> None:
        with self._database.writing() as session:
            row = session.get(EngineRow, tag)
            if row is None or row.kind != kind:
                raise EngineNotFound(tag, sorted(one.tag for one in _rows_of(session, kind)))
            _activate(session, row)

    def remove_engine(self, tag: str) -> None:
        with self._database.writing() as session:
            row = session.get(EngineRow, tag)
            if row is None:
                raise EngineNotFound(tag, sorted(session.exec(select(EngineRow.tag))))
            session.delete(row)
            session.flush()
            _hand_over(session, row.kind)

    def _row(self, engine: Engine, *, active: bool) -> EngineRow:
        words = [None if word == engine.server_path else word for word in engine.command]
        return EngineRow(
            tag=engine.tag,
            kind=engine.kind,
            provenance=engine.provenance,
            server_path=self._anchor.stored(engine.server_path),
            command=json.dumps(words),
            version=engine.version,
            active=active,
            installed_at=engine.installed_at,
            release=engine.release,
            source=engine.source,
            digest=engine.digest,
            pinned=engine.pinned,
            architectures=json.dumps(engine.architectures),
            used_at=engine.used_at,
            superseded_at=engine.superseded_at,
        )

    def _record(self, row: EngineRow) -> Engine:
        server = self._anchor.live(row.server_path)
        return Engine(
            tag=row.tag,
            kind=EngineKind(row.kind),
            provenance=Provenance(row.provenance),
            server_path=server,
            version=row.version,
            active=row.active,
            installed_at=row.installed_at,
            command=tuple(server if word is None else word for word in json.loads(row.command)),
            release=row.release,
            source=row.source,
            digest=row.digest,
            pinned=row.pinned,
            architectures=tuple(json.loads(row.architectures)),
            used_at=row.used_at,
            superseded_at=row.superseded_at,
        )


def _rows_of(session: Session, kind: str) -> Sequence[EngineRow]:
    return session.exec(select(EngineRow).where(EngineRow.kind == kind)).all()


def _active_of(session: Session, kind: str) -> EngineRow | None:
    return next((row for row in _rows_of(session, kind) if row.active), None)


def _preference(row: EngineRow) -> tuple[int, float, str]:
    """Smallest first: rank, then newest."""
    return RANK[Provenance(row.provenance)], -row.installed_at, row.tag


def _activate(session: Session, row: EngineRow) -> None:
    """Make `row` the only active one of its kind. Two statements: the index would refuse two for a moment."""
    for other in _rows_of(session, row.kind):
        other.active = False
    session.flush()
    row.active = True
    session.flush()


def _hand_over(session: Session, kind: str) -> None:
    """Where a kind has builds and none is active, the best one becomes it."""
    rows = _rows_of(session, kind)
    if rows and not any(row.active for row in rows):
        _activate(session, min(rows, key=_preference))
