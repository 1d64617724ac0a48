"""JSON Schema."""

from typing import Any, Protocol


class Schemas(Protocol):
    """Judges schemas, and texts by a schema. Follows no reference out of the schema. Called in a thread."""

    def flaw(self, schema: Any) -> str | None:
        """Why this is not a JSON Schema, or None."""
        ...

    def agrees(self, schema: Any, text: str) -> bool:
        """Whether the text is JSON of this schema, as far as that can be told in little time."""
        ...
