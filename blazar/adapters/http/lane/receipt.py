"""Whether a buffered answer may carry its receipt (D19): an engine that was told to write JSON and did not has not kept to it."""

from blazar.adapters.http.lane import codec
from blazar.domain.wire.tools import strict_object


def kept(constraint: str, text: str) -> str:
    """`constraint`, or nothing where `text` is no JSON: cut short by a token limit, or a grammar that was dropped (E1)."""
    if constraint == "json_object":
        return constraint if strict_object(text) else ""
    if constraint != "json_schema":
        return constraint
    try:
        codec.decode(text.encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return ""
    return constraint
