"""JSON Schema."""

from typing import Any, Protocol


class Schemas(Protocol):
    """Judges schemas, and texts by a schema. Follows no reference out of the schema. Called in a thread."""

    def flaw(self, schema: Any) -> str | None:
        """Why this is not a JSON Schema, or None."""
        ...

    def breach(self, schema: Any, text: str, *, lenient: bool = False) -> str | None:
        """Where the text is no JSON of the schema, in words that name nothing of the text; None: nowhere, as far as can be told in little time.

        A schema that nobody can judge by is broken by every text, or, `lenient`, by none.
        """
        ...
