"""Whether the schema that a caller wants its answer to have is one, and whether a buffered answer has it (D19).

The first is asked before anything is leased, so that a wrong one loads no model.

Must not keep the event loop: the library behind it is imported on the first question, and a judgement takes milliseconds.
"""

import asyncio
from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

from blazar.adapters.http.lane import codec
from blazar.application.ports.schemas import Schemas
from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.wire.structured import Asked

MOST_KNOWN: Final = 1024
"""Schemas remembered as sound, by their digest: programs ask with the same one again and again."""


class SchemaJudge:
    """One per lane."""

    def __init__(self, schemas: Schemas) -> None:
        self._schemas = schemas
        self._sound: set[bytes] = set()

    async def check(self, asked: Asked) -> None:
        """Raise `Malformed`, naming the field, where it is not a JSON Schema."""
        digest = blake2b(codec.encode(asked.schema), digest_size=16).digest()
        if digest in self._sound:
            return
        flaw = await asyncio.to_thread(self._schemas.flaw, asked.schema)
        if flaw is not None:
            raise Malformed(teaching.schema_wrong(asked.field, flaw), asked.field)
        if len(self._sound) >= MOST_KNOWN:
            self._sound.clear()
        self._sound.add(digest)

    async def agrees(self, asked: Asked, texts: Sequence[str]) -> bool:
        """Whether all of these are JSON of the schema."""
        return await asyncio.to_thread(lambda: all(self._schemas.agrees(asked.schema, text) for text in texts))
