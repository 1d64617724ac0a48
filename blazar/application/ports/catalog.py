"""The durable catalog of models. Synchronous: one SQLite read is about 100 µs and never on the hot path."""

from typing import Protocol

from blazar.domain.records import Model


class ModelCatalog(Protocol):
    """Rows by name. `revision` changes whenever anybody, in any process, committed (D29)."""

    def find_model(self, name: str) -> Model | None: ...

    def list_models(self) -> list[Model]:
        """All rows, by name."""
        ...

    def add_model(self, model: Model) -> None:
        """Insert; raises `Conflict` when the name is taken."""
        ...

    def replace_model(self, model: Model) -> None:
        """Put the row in the place of the one of that name, if any, in one step: no reader finds none."""
        ...

    def remove_model(self, name: str, known: Model | None = None) -> bool:
        """Whether there was such a row. With `known`, only while it is still that one: another version may have been entered meanwhile."""
        ...

    def revision(self) -> int: ...
