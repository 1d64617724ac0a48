"""JSON Schema."""

from typing import Any, Protocol


class Schemas(Protocol):
    """Judges schemas, not documents."""

    def flaw(self, schema: Any) -> str | None:
        """Why this is not a JSON Schema, or None."""
        ...
