"""Times as ollama clients read them."""

from datetime import UTC, datetime
from typing import Final

FOREVER: Final = "2299-12-31T23:59:59Z"
"""`expires_at` of a model that stays. Ollama's own client prints "Forever" for anything that far away, and "Stopping"
for a time in the past, so a zero time would mislead."""


def rfc3339(unix: float) -> str:
    """Unix seconds as RFC 3339 in UTC with microseconds."""
    return datetime.fromtimestamp(unix, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def to_the_second(unix: float) -> str:
    """The same for people."""
    return datetime.fromtimestamp(unix, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def nanoseconds(seconds: float) -> int:
    """Seconds as whole nanoseconds, never negative."""
    return max(0, round(seconds * 1e9))
