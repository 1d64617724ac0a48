"""Starting and stopping the parts."""

import asyncio

import pytest

from blazar.composition.lifespan import running


class Part:
    """Writes down what happens to it."""

    def __init__(self, name: str, diary: list[str], *, breaks: bool = False) -> None:
        self.name, self.diary, self.breaks = name, diary, breaks

    async def start(self) -> None:
        if self.breaks:
            raise ValueError(self.name)
        self.diary.append(f"+{self.name}")

    async def aclose(self) -> None:
        self.diary.append(f"-{self.name}")


def test_parts_stop_in_the_reverse_order_of_their_start() -> None:
    """The list is the shutdown plan."""
    diary: list[str] = []

    async def scenario() -> None:
        async with running([Part("a", diary), Part("b", diary)]):
            diary.append("live")

    asyncio.run(scenario())
    assert diary == ["+a", "+b", "live", "-b", "-a"]


def test_a_part_that_fails_to_start_unwinds_those_before_it() -> None:
    """Nothing that started is left running, and the error is the part's own."""
    diary: list[str] = []

    async def scenario() -> None:
        async with running([Part("a", diary), Part("b", diary, breaks=True), Part("c", diary)]):
            diary.append("never")

    with pytest.raises(ValueError, match="b"):
        asyncio.run(scenario())
    assert diary == ["+a", "-a"]
