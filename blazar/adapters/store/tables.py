"""The six tables, version 6. Private to the store: rows never leave it, `domain.records` do.

Lists are JSON texts; paths inside the data folder are relative to it, so that the folder can be moved (contract).
"""

from sqlalchemy import CheckConstraint, Index, text
from sqlalchemy.orm import registry
from sqlmodel import Field, SQLModel


class Row(SQLModel, registry=registry()):
    """Our own set of tables, whatever else uses SQLModel in this process."""


class EngineRow(Row, table=True):
    """One engine build. `command` repeats `server_path` as null, which is anchored when it is read."""

    __tablename__ = "engines"
    # The other half of "never zero active" is kept by the catalog: never two.
    __table_args__ = (Index("engines_one_active", "kind", unique=True, sqlite_where=text("active")),)

    tag: str = Field(primary_key=True)
    kind: str = Field(sa_column_kwargs={"server_default": "llamacpp"})
    provenance: str
    server_path: str
    command: str
    version: str
    active: bool
    installed_at: float
    release: str = Field(default="", sa_column_kwargs={"server_default": ""})
    source: str = Field(default="", sa_column_kwargs={"server_default": ""})
    digest: str = Field(default="", sa_column_kwargs={"server_default": ""})
    pinned: bool = Field(default=False, sa_column_kwargs={"server_default": text("0")})
    architectures: str = Field(default="[]", sa_column_kwargs={"server_default": "[]"})
    used_at: float = Field(default=0.0, sa_column_kwargs={"server_default": text("0")})
    superseded_at: float = Field(default=0.0, sa_column_kwargs={"server_default": text("0")})


class ModelRow(Row, table=True):
    """One catalogued model."""

    __tablename__ = "models"
    __table_args__ = (CheckConstraint("instr(name, '#') = 0", name="models_name_without_replica"),)

    name: str = Field(primary_key=True)
    files: str
    sizes: str
    weights: str
    arch: str
    quant: str
    parameters: int
    ctx_train: int
    embedding_length: int
    pooling: int | None
    template: bool
    owned: bool
    digest: str
    imported_at: float
    folder: str = Field(default="", sa_column_kwargs={"server_default": ""})
    components: str = Field(default="[]", sa_column_kwargs={"server_default": "[]"})
    draft: str = Field(default="", sa_column_kwargs={"server_default": ""})
    origin: str = Field(default="", sa_column_kwargs={"server_default": ""})


class ProfileRow(Row, table=True):
    """The launch words that were compiled for one model on one engine build."""

    __tablename__ = "profiles"

    model: str = Field(primary_key=True, foreign_key="models.name", ondelete="CASCADE")
    engine: str = Field(primary_key=True, foreign_key="engines.tag", ondelete="CASCADE")
    argv: str
    compiled_at: float


class LoraRow(Row, table=True):
    """An adapter that may be laid over a model."""

    __tablename__ = "loras"

    name: str = Field(primary_key=True)
    model: str = Field(foreign_key="models.name", ondelete="CASCADE", index=True)
    path: str
    scale: float
    digest: str
    added_at: float


class KeyUsageRow(Row, table=True):
    """What one key used on one UTC day (`2026-01-31`): absolute numbers, replaced whole (contract)."""

    __tablename__ = "key_usage"

    key: str = Field(primary_key=True)
    day: str = Field(primary_key=True)
    requests: int
    prompt_tokens: int
    completion_tokens: int


class BenchRow(Row, table=True):
    """One measurement. It outlives its engine and model, or a comparison with the build before would be impossible."""

    __tablename__ = "bench_history"

    id: int | None = Field(default=None, primary_key=True)
    engine: str = Field(index=True)
    model: str
    prompt_tokens_per_second: float
    decode_tokens_per_second: float
    measured_at: float
