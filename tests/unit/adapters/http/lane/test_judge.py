"""Judging the schema of a request."""

import asyncio
from typing import Any

import pytest

from blazar.adapters.http.lane import judge
from blazar.adapters.http.lane.judge import SchemaJudge
from blazar.application.ports.schemas import Schemas
from blazar.domain.errors import Malformed
from blazar.domain.wire.answer import Answer
from blazar.domain.wire.delta import Finish, Usage
from blazar.domain.wire.structured import Asked


class Counting(Schemas):
    """Finds a flaw in whatever says so, and counts."""

    def __init__(self) -> None:
        self.asked = 0

    def flaw(self, schema: Any) -> str | None:
        self.asked += 1
        return "it is odd" if schema == "odd" else None

    def breach(self, schema: Any, text: str, *, lenient: bool = False) -> str | None:
        del lenient
        return None if schema == text else "x"


def test_a_sound_schema_is_judged_once() -> None:
    """Programs ask with the same one again and again."""
    schemas = Counting()

    async def go() -> None:
        one = SchemaJudge(schemas)
        for _ in range(5):
            await one.check(Asked("format", {"type": "object"}))
        await one.check(Asked("format", {"type": "string"}))

    asyncio.run(go())
    assert schemas.asked == 2


def test_a_flaw_names_the_field_each_time() -> None:
    """And is not remembered as sound."""

    async def go() -> None:
        one = SchemaJudge(Counting())
        for _ in range(2):
            with pytest.raises(Malformed, match="'format' is not a JSON Schema: it is odd") as refused:
                await one.check(Asked("format", "odd"))
            assert refused.value.field == "format"

    asyncio.run(go())


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inventive clients cost no memory."""
    monkeypatch.setattr(judge, "MOST_KNOWN", 2)
    schemas = Counting()

    async def go() -> None:
        one = SchemaJudge(schemas)
        for number in (1, 2, 3, 3, 1):
            await one.check(Asked("format", {"maximum": number}))

    asyncio.run(go())
    assert schemas.asked == 4


def test_every_text_has_to_have_the_schema() -> None:
    """Of several answers each one; of none there is nothing to object to."""

    async def agrees(*texts: str) -> bool:
        answers = [Answer(text, "", (), Finish("stop"), Usage(1, 1)) for text in texts]
        return (await SchemaJudge(Counting()).judge(Asked("format", "a"), answers, None)).held

    assert asyncio.run(agrees("a", "a"))
    assert not asyncio.run(agrees("a", "b"))
    assert asyncio.run(agrees())
