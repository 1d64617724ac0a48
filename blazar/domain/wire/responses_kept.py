"""What is kept of a response, and the pages in which its input is listed."""

import json
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from blazar.domain import teaching
from blazar.domain.wire.quoting import dump

"""The service's own numbers."""
UNFINISHED: Final = frozenset({"queued", "in_progress"})


class KeptResponse(NamedTuple):
    """A response, the input items that were its own, and the id of the one before it ("": it began a conversation)."""

    response: dict[str, Any]
    items: Sequence[dict[str, Any]] = ()
    previous: str = ""


def packed(kept: KeptResponse) -> bytes:
    """As it is written down."""
    return dump({"response": kept.response, "input": list(kept.items), "previous": kept.previous})


def unpacked(body: bytes) -> KeptResponse:
    """What was written down."""
    read = json.loads(body)
    return KeptResponse(read["response"], read["input"], read["previous"])


def turns(chain: Sequence[KeptResponse]) -> list[dict[str, Any]]:
    """The items of a conversation, oldest first: what was asked and what was answered. `chain` is newest first."""
    return [item for kept in reversed(chain) for item in (*kept.items, *kept.response.get("output", ()))]


def lost(response: dict[str, Any]) -> dict[str, Any]:
    """A response that nobody works on any more: the daemon that did has ended."""
    return {
        **response,
        "status": "failed",
        "error": {"code": "server_error", "message": teaching.response_lost()},
    }
