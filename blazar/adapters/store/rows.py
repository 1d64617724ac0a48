"""What a row of the catalog says, as a domain record: by name, whoever read it, the ORM or plain SQLite. Knows no connection.

A row that this version cannot read, of a kind that a newer one knows or changed by hand, is as good as none and stays where it is:
one of them must not take all others along. Imports no ORM: thin verbs read rows by it, too.
"""

import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, TypeVar

from blazar.adapters.store.anchor import Anchor
from blazar.domain.kinds import EngineKind, Provenance, Weights
from blazar.domain.parcels import Origin
from blazar.domain.records import Engine, Model

VERSION = 6
"""Of the tables that these readers know; `migrations` brings a file to it."""

_ELSEWHERE = (Provenance.LOCAL, Provenance.EMBEDDED)
"""Not ours: their paths are the user's, wherever they lie (contract)."""

_Record = TypeVar("_Record", Model, Engine)


def read_all(record: Callable[[Any, Anchor], _Record], rows: Iterable[Any], anchor: Anchor) -> list[_Record]:
    """Those that can be read."""
    return [found for row in rows if (found := read(record, row, anchor)) is not None]


def read(record: Callable[[Any, Anchor], _Record], row: Any, anchor: Anchor) -> _Record | None:
    """None for no row, and for one that cannot be read."""
    with suppress(ValueError, TypeError, AttributeError, KeyError):
        return record(row, anchor) if row is not None else None
    return None


def strayed(rows: Iterable[Any], anchor: Anchor) -> dict[str, str]:
    """Of rows of `engines`, the tags of those that point where the data folder was once, with the path that they should say."""
    ours = [row for row in rows if read(engine_of, row, anchor) is not None and row.provenance not in _ELSEWHERE]
    paths = {row.tag: (row.server_path, anchor.rescued(row.server_path, row.tag)) for row in ours}
    return {tag: after for tag, (before, after) in paths.items() if after != before}


def model_of(row: Any, anchor: Anchor) -> Model:
    """A row of `models`."""
    return Model(
        name=row.name,
        files=tuple(anchor.live(file) for file in json.loads(row.files)),
        sizes=tuple(json.loads(row.sizes)),
        weights=Weights(row.weights),
        arch=row.arch,
        quant=row.quant,
        parameters=row.parameters,
        ctx_train=row.ctx_train,
        embedding_length=row.embedding_length,
        pooling=row.pooling,
        template=bool(row.template),
        owned=bool(row.owned),
        digest=row.digest,
        imported_at=row.imported_at,
        folder=anchor.live(row.folder) if row.folder else "",
        components=tuple((role, anchor.live(file)) for role, file in json.loads(row.components)),
        draft=anchor.live(row.draft) if row.draft else "",
        origin=_origin_of(row.origin),
    )


def _origin_of(text: str) -> Origin | None:
    """None where it was not pulled. Fields that a newer version adds are not ours to understand."""
    if not text:
        return None
    said = json.loads(text)
    return Origin(
        reference=str(said["reference"]),
        artefact=str(said["artefact"]),
        licence=str(said.get("licence", "")),
        pulled_at=float(said.get("pulled_at", 0.0)),
        marks=tuple(map(str, said.get("marks", ()))),
        address=str(said.get("address", "")),
        draft=str(said.get("draft", "")),
    )


def engine_of(row: Any, anchor: Anchor) -> Engine:
    """A row of `engines`."""
    server = anchor.live(row.server_path)
    return Engine(
        tag=row.tag,
        kind=EngineKind(row.kind),
        provenance=Provenance(row.provenance),
        server_path=server,
        version=row.version,
        active=bool(row.active),
        installed_at=row.installed_at,
        command=anchor.live_words(json.loads(row.command), server),
        release=row.release,
        source=row.source,
        digest=row.digest,
        pinned=bool(row.pinned),
        architectures=tuple(map(str, json.loads(row.architectures))),
        used_at=row.used_at,
        superseded_at=row.superseded_at,
    )
