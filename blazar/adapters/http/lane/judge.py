"""Whether the schema that a caller wants its answer to have is one, and whether a buffered answer has it (D19) and what else is odd about it.

The first is asked before anything is leased, so that a wrong one loads no model.

Must not keep the event loop: the library behind it is imported on the first question, and a judgement takes milliseconds.
"""

import asyncio
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from blazar.adapters.http.lane import codec
from blazar.adapters.http.lane.job import formed
from blazar.application.ports.schemas import Schemas
from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.sentinel import MOST_FINDINGS, Breach, Finding, Wanted, findings, nowhere, seen_in
from blazar.domain.wire.answer import Answer
from blazar.domain.wire.seen import Seen
from blazar.domain.wire.structured import Asked

MOST_KNOWN: Final = 1024
"""Schemas remembered as sound, by their digest: programs ask with the same one again and again."""


class Verdict(NamedTuple):
    """What was found, and whether a receipt for the schema may stand."""

    found: tuple[Finding, ...] = ()
    held: bool = True


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

    async def judge(self, asked: Asked | None, answers: Sequence[Answer], wanted: Wanted | None) -> Verdict:
        """`asked` is the schema that a receipt would vouch for, `wanted` what the sentinel holds the answers to; None: not asked."""
        seens = [] if wanted is None else [seen_in(answer) for answer in answers]
        texts = [text for answer in answers for text in formed(asked, answer)] if asked is not None else []
        if asked is None and not _judges(wanted, seens):
            return Verdict(_found(seens, wanted, nowhere))
        return await asyncio.to_thread(self._judge, asked, texts, seens, wanted)

    async def look_back(self, seen: Seen, wanted: Wanted) -> tuple[Finding, ...]:
        """What is odd about a stream that has ended."""
        if not _judges(wanted, [seen]):
            return findings(seen, wanted)
        return await asyncio.to_thread(findings, seen, wanted, self._schemas.breach)

    def _judge(
        self, asked: Asked | None, texts: Sequence[str], seens: Sequence[Seen], wanted: Wanted | None
    ) -> Verdict:
        known: dict[tuple[int, str, bool], str | None] = {}  # what a receipt and an observation both ask

        def breach(schema: Any, text: str, *, lenient: bool) -> str | None:
            key = (id(schema), text, lenient)
            if key not in known:
                known[key] = self._schemas.breach(schema, text, lenient=lenient)
            return known[key]

        held = asked is None or all(breach(asked.schema, text, lenient=False) is None for text in texts)
        return Verdict(_found(seens, wanted, breach), held)


def _judges(wanted: Wanted | None, seens: Sequence[Seen]) -> bool:
    """Whether anything in there has to have a schema: only that takes a thread."""
    return wanted is not None and (
        wanted.schema is not None or (bool(wanted.tools) and any(seen.calls for seen in seens))
    )


def _found(seens: Sequence[Seen], wanted: Wanted | None, breach: Breach) -> tuple[Finding, ...]:
    if wanted is None:
        return ()
    return tuple(finding for seen in seens for finding in findings(seen, wanted, breach))[:MOST_FINDINGS]
