"""Which row a pull is for: the one that its word is the name of, else one of what was pulled so before, else a new one. Asks nobody.

A name of the catalog comes before a reference, here as everywhere: what a row is called stands for what it was pulled by.
"""

from collections.abc import Collection

from blazar.application.models.arrivals import address_of
from blazar.application.models.pulling import Wish
from blazar.application.ports.remote import Parcel
from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.harmless import public
from blazar.domain.names import twin
from blazar.domain.records import Model
from blazar.domain.references import client_name, is_kept
from blazar.domain.row_names import row_called, rows_of


def wanted_name(wish: Wish) -> str:
    """What somebody chose to call it; "" where a client only asks for it afterwards as it did before."""
    return "" if wish.name == client_name(wish.reference) else wish.name


def row_of_word(wish: Wish, rows: Collection[Model]) -> Model | None:
    """The row that is called as the word says, which is pulled by its origin then. Raises `Malformed` where it has none.

    With a name of its own for what comes, the word of a row that was never pulled may still be a reference.
    """
    row = row_called(wish.reference.strip(), rows)
    if row is None:
        return None
    if row.origin is None:
        chosen = wanted_name(wish)
        if chosen and chosen != row.name:
            return None
        raise Malformed(teaching.pull_row_not_pulled(row.name), "model")
    if is_kept(row.origin.reference):
        raise Malformed(teaching.pull_row_address_kept(row.name, public(row.origin.reference)), "model")
    return row


def row_name(wish: Wish, parcel: Parcel, usual: str, rows: Collection[Model]) -> str:
    """What the row of `parcel` is called that this pull is for: as was said, as is usual, as it is already, else as a new one."""
    chosen = wanted_name(wish)
    if chosen:
        return _spelled(chosen, rows)
    here = [row.name for row in rows_of(parcel.ref, rows, address_of(parcel))]
    ways = [_spelled(name, rows) for name in (wish.name, usual) if name]
    return next((name for name in (*ways, *here) if name in here), ways[0])


def left_behind(name: str, parcel: Parcel, artefact: str, rows: Collection[Model]) -> tuple[str, ...]:
    """Other rows of the same that are another version of it: a copy stays what it was when it was made."""
    others = (row for row in rows_of(parcel.ref, rows, address_of(parcel)) if row.name != name)
    return tuple(row.name for row in others if row.origin is not None and row.origin.artefact != artefact)


def _spelled(name: str, rows: Collection[Model]) -> str:
    """As the catalog has it already, if in other letters alone."""
    return twin(name, {row.name for row in rows}) or name
