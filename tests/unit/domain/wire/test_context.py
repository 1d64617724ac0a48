"""`context`: a conversation as numbers."""

import zlib
from typing import Any

import pytest

from blazar.domain.errors import Malformed
from blazar.domain.wire import context
from blazar.domain.wire.context import packed, unpacked

SAID = [{"role": "system", "content": "S"}, {"role": "user", "content": "é\n🙂"}]


@pytest.mark.parametrize("answer", ["", "a", "ab", "abc", "x" * 10_000])
def test_what_was_packed_is_unpacked(answer: str) -> None:
    """Whatever its length; the numbers are small, as tokens are."""
    numbers = packed(SAID, answer)
    assert unpacked(numbers) == [*SAID, {"role": "assistant", "content": answer}]
    assert all(0 <= number < 2**24 for number in numbers)


def test_of_pictures_nothing_stays() -> None:
    """Only the text beside them."""
    parts: list[Any] = [{"type": "text", "text": "what?"}, {"type": "image_url", "image_url": {"url": "data:"}}]
    assert unpacked(packed([{"role": "user", "content": parts}], "a"))[0] == {"role": "user", "content": "what?"}


GOOD = packed(SAID, "a")


@pytest.mark.parametrize(
    "numbers",
    [
        [1, 2],
        [1, 2, 3, 4],
        GOOD[:-3],
        [*GOOD[:1], 2**40, *GOOD[2:4]],
        [*GOOD[:2], -1],
        [*GOOD[:2], 2**24],
        [*GOOD[:2], "1"],
        [GOOD[0], "1", 5],
        [GOOD[0], -5, *GOOD[2:]],
    ],
)
def test_odd_ollama_s_numbers_are_tokens_of_its_prompt(numbers: list[Any]) -> None:
    """Tokens of another server, or a context cut short: going on without it would be another conversation."""
    with pytest.raises(Malformed, match="'context'"):
        unpacked(numbers)


def test_a_bomb_is_no_context(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unpacking ends at a bound."""
    monkeypatch.setattr(context, "MOST_BYTES", 100)
    with pytest.raises(Malformed):
        unpacked(packed(SAID, "x" * 1000))


@pytest.mark.parametrize("text", [b"{}", b'[["user"]]', b'[["tool","x"]]', b'[["user",1]]', b"[" * 5000, b"1"])
def test_other_json_is_no_conversation(text: bytes) -> None:
    """However well it is packed."""
    raw = zlib.compress(text)
    padded = raw + bytes(-len(raw) % 3)
    numbers = [GOOD[0], len(raw), *(int.from_bytes(padded[at : at + 3], "big") for at in range(0, len(padded), 3))]
    with pytest.raises(Malformed):
        unpacked(numbers)
