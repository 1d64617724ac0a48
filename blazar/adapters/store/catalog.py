"""The catalogs of models and engines on SQLite. Rows come in and go out as domain records (`rows`).

Importing this costs a third of a second (SQLModel): `swift` spares it verbs and a daemon that only read.
"""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlmodel import Session, col, select

from blazar.adapters.store.anchor import Anchor
from blazar.adapters.store.database import Database
from blazar.adapters.store.rows import engine_of, model_of, read, read_all, strayed
from blazar.adapters.store.tables import EngineRow, ModelRow
from blazar.application.ports.catalog import ModelCatalog
from blazar.application.ports.engines import EngineCatalog, Judge
from blazar.domain import teaching
from blazar.domain.errors import Conflict, EngineNotFound
from blazar.domain.kinds import RANK, EngineKind, Provenance
from blazar.domain.records import Engine, Model


class SqliteModelCatalog(ModelCatalog):
    """The `models` table."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._anchor = Anchor(database.path.parent)

    def find_model(self, name: str) -> Model | None:
        with self._database.reading() as session:
            return read(model_of, session.get(ModelRow, name), self._anchor)

    def list_models(self) -> list[Model]:
        with self._database.reading() as session:
            rows = session.exec(select(ModelRow).order_by(col(ModelRow.name)))
            return read_all(model_of, rows, self._anchor)

    def add_model(self, model: Model) -> None:
        with self._database.writing() as session:
            if read(model_of, session.get(ModelRow, model.name), self._anchor) is not None:
                raise Conflict(teaching.name_taken(model.name))
            session.merge(self._row(model))

    def replace_model(self, model: Model) -> None:
        with self._database.writing() as session:
            session.merge(self._row(model))

    def remove_model(self, name: str, known: Model | None = None) -> bool:
        with self._database.writing() as session:
            row = session.get(ModelRow, name)
            found = read(model_of, row, self._anchor)
            if row is None or (known is not None and found is not None and not found.is_entry(known)):
                return False
            session.delete(row)
            return True

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
            draft=self._anchor.stored(model.draft) if model.draft else "",
            origin=json.dumps(model.origin._asdict(), ensure_ascii=False) if model.origin else "",
        )


class SqliteEngineCatalog(EngineCatalog):
    """The `engines` table. Every writing method leaves exactly one active build to each kind that has any."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._anchor = Anchor(database.path.parent)

    def find_engine(self, tag: str) -> Engine | None:
        with self._database.reading() as session:
            return read(engine_of, session.get(EngineRow, tag), self._anchor)

    def list_engines(self) -> list[Engine]:
        order = (EngineRow.kind, col(EngineRow.active).desc(), col(EngineRow.installed_at).desc(), EngineRow.tag)
        with self._database.reading() as session:
            rows = session.exec(select(EngineRow).order_by(*order))
            return read_all(engine_of, rows, self._anchor)

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

    def set_active(self, kind: EngineKind, tag: str, at: float = 0.0) -> None:
        with self._database.writing() as session:
            row = session.get(EngineRow, tag)
            if row is None or row.kind != kind:
                raise EngineNotFound(tag, sorted(one.tag for one in _rows_of(session, kind)))
            before = _active_of(session, kind)
            if at and before is not None and before.tag != tag:
                before.used_at = math.nextafter(at, 0.0)
            row.used_at = at or row.used_at
            _activate(session, row)

    def amend_engine(self, tag: str, change: Callable[[Engine], Engine]) -> Engine:
        with self._database.writing() as session:
            before = read(engine_of, session.get(EngineRow, tag), self._anchor)
            if before is None:
                raise EngineNotFound(tag, sorted(session.exec(select(EngineRow.tag))))
            after = replace(change(before), tag=tag, kind=before.kind, active=before.active)
            session.merge(self._row(after, active=before.active))
        return after

    def heal_paths(self) -> list[str]:
        with self._database.reading() as session:
            healed = strayed(session.exec(select(EngineRow)), self._anchor)
        if healed:  # else nothing is written: a start must not need to
            with self._database.writing() as session:
                for row in session.exec(select(EngineRow).where(col(EngineRow.tag).in_(healed))):
                    words = [None if word == row.server_path else word for word in json.loads(row.command)]
                    row.server_path, row.command = healed[row.tag], json.dumps(words)
        return sorted(healed)

    def remove_engine(self, tag: str, judge: Judge | None = None) -> None:
        with self._database.writing() as session:
            row = session.get(EngineRow, tag)
            if row is None:
                raise EngineNotFound(tag, sorted(session.exec(select(EngineRow.tag))))
            if judge is not None:
                rows = session.exec(select(EngineRow))
                judge(read_all(engine_of, rows, self._anchor))
            session.delete(row)
            session.flush()
            _hand_over(session, row.kind)

    def _row(self, engine: Engine, *, active: bool) -> EngineRow:
        words = self._anchor.stored_words(engine.command, engine.server_path)
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


def _rows_of(session: Session, kind: str) -> Sequence[EngineRow]:
    return session.exec(select(EngineRow).where(EngineRow.kind == kind)).all()


def _active_of(session: Session, kind: str) -> EngineRow | None:
    return next((row for row in _rows_of(session, kind) if row.active), None)


def _preference(row: EngineRow) -> tuple[int, float, str]:
    """Smallest first: rank, then newest. What this version does not know comes last."""
    rank = RANK[Provenance(row.provenance)] if row.provenance in set(Provenance) else len(RANK)
    return rank, -row.installed_at, row.tag


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
