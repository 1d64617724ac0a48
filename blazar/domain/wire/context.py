"""`context` of `/api/generate`: the conversation so far as numbers that a client hands back. Pure.

ODD: ollama's numbers are tokens of its prompt, which no client may look into either. Ours are the messages themselves, packed: they name
roles, hold for every engine and template, and cost no child a call. Numbers that are not ours are refused, not guessed at.
"""

import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from blazar.domain import teaching
from blazar.domain.errors import Malformed

_MARK: Final = 0xB1A2A1
"""What a context of ours begins with; the number of bytes follows, then three bytes a number."""
MOST_BYTES: Final = 16 * 2**20
"""Of text that is unpacked: more is no conversation that any window holds, and might be a bomb."""
_ROLES: Final = frozenset({"system", "user", "assistant"})


def packed(messages: Sequence[Mapping[str, Any]], answer: str) -> list[int]:
    """The conversation with its answer; of pictures nothing stays."""
    said = [[message["role"], _text(message.get("content"))] for message in messages]
    raw = zlib.compress(json.dumps([*said, ["assistant", answer]], separators=(",", ":")).encode(), 1)
    padded = raw + bytes(-len(raw) % 3)
    return [_MARK, len(raw), *(int.from_bytes(padded[at : at + 3], "big") for at in range(0, len(padded), 3))]


def unpacked(numbers: Sequence[Any]) -> list[dict[str, Any]]:
    """The messages in it; raises `Malformed` for anything but what `packed` gave."""
    foreign = Malformed(teaching.field_must("context", "context"), "context")
    if not all(isinstance(number, int) and 0 <= number < 2**24 for number in numbers[2:]) or len(numbers) < 3:
        raise foreign
    if numbers[0] != _MARK or not isinstance(numbers[1], int):
        raise foreign
    raw = b"".join(number.to_bytes(3, "big") for number in numbers[2:])[: max(0, numbers[1])]
    try:
        text = zlib.decompressobj().decompress(raw, MOST_BYTES)
        messages = [{"role": role, "content": content} for role, content in json.loads(text)]
    except (zlib.error, ValueError, TypeError, RecursionError):
        raise foreign from None
    if not messages or not all(said["role"] in _ROLES and isinstance(said["content"], str) for said in messages):
        raise foreign
    return messages


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content or () if isinstance(part, dict))
