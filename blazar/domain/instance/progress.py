"""Whether a child that has sent nothing for long is computing or wedged, by what it says of its slots. Pure.

Reads llama-server's `/slots`. What cannot be read decides nothing: a child is given up only by what it said, or by its silence here too.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

_COUNTS: Final = ("id_task", "n_prompt_tokens_processed", "n_decoded")
"""What grows while a slot works: other work, tokens read, tokens written (server-context.cpp)."""

Looked = frozenset[tuple[Any, ...]]
"""The busy slots, each with how far it has come."""


class Look(StrEnum):
    """What came of looking."""

    BUSY = "busy"  # it computes
    WEDGED = "wedged"  # its slots rest, or stand still, or it does not answer even this
    UNKNOWN = "unknown"  # it does not tell


def busy_slots(said: Any) -> Looked | None:
    """The slots that work; None where this is no list of slots."""
    if not isinstance(said, list) or not said or not all(isinstance(slot, Mapping) for slot in said):
        return None
    if not all("is_processing" in slot for slot in said):
        return None
    return frozenset(_far(slot) for slot in said if slot["is_processing"])


def judged(first: Looked, second: Looked) -> Look:
    """Two looks, a moment apart. ODD: a slot that tells nothing but that it works is believed."""
    if not first and not second:
        return Look.WEDGED
    stands = first == second and all(count is not None for _, *counts in second for count in counts)
    return Look.WEDGED if stands else Look.BUSY


def _far(slot: Mapping[str, Any]) -> tuple[Any, ...]:
    told = slot.get("next_token")
    if isinstance(told, list):
        told = told[0] if told else None
    flat = {**slot, **(told if isinstance(told, Mapping) else {})}
    return (flat.get("id"), *(_plain(flat.get(name)) for name in _COUNTS))


def _plain(value: Any) -> int | None:
    return value if isinstance(value, int) else None
