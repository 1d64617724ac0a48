"""Which row of a catalog a name means: as it is written, in another spelling, or as the reference that it was pulled by. One rule for all dialects.

Asks nobody, and answers only rows that are there.
"""

from collections.abc import Collection

from blazar.domain.errors import Malformed
from blazar.domain.names import LONGEST_NAME, resolve, untagged
from blazar.domain.records import Model
from blazar.domain.references import HF, LONGEST, RemoteRef, candidates, pull_reference
from blazar.domain.weight_names import quant_of


def row_named(name: str, rows: Collection[Model]) -> Model | None:
    """A name comes first: a reference means a row only where none is called so."""
    known = {row.name: row for row in rows}
    return known.get(resolve(name, known) if len(name) <= LONGEST_NAME else name) or _by_origin(name, rows)


def meant(name: str, rows: Collection[Model]) -> str:
    """The name of that row; the input itself on a miss."""
    found = row_named(name, rows)
    return name if found is None else found.name


def _by_origin(name: str, rows: Collection[Model]) -> Model | None:
    """What was pulled by this very reference, the latest; else the only version of what it leaves open."""
    pulled = [(row, reference) for row in rows if row.origin is not None and (reference := row.origin.reference)]
    if not pulled or len(name) > LONGEST:
        return None
    hosts = {reference.partition("/")[0] for _, reference in pulled}
    tries = _read(untagged(name), hosts)
    origins = [(row, ref) for row, reference in pulled for ref in _read(reference, hosts)[-1:]]
    for asked in tries:
        if same := [row for row, ref in origins if _key(ref) == _key(asked)]:
            return max(same, key=_pulled_at)
    for asked in tries:
        near = [row for row, ref in origins if _leaves_open(asked, ref)]
        if near and len({row.origin.artefact for row in near if row.origin is not None}) == 1:
            return max(near, key=_pulled_at)
    return None


def _read(reference: str, hosts: Collection[str]) -> tuple[RemoteRef, ...]:
    try:
        return candidates(pull_reference(reference, hosts))
    except Malformed:
        return ()


def _key(ref: RemoteRef) -> tuple[str, ...]:
    """Of an address case counts; registries' names are told apart without."""
    if ref.registry != HF:
        return (ref.registry, ref.file or ref.repo.lower(), ref.tag.lower(), ref.host.lower())
    return (ref.registry, ref.repo.lower(), (ref.file or ref.tag).lower())


def _leaves_open(asked: RemoteRef, origin: RemoteRef) -> bool:
    """Whether a repository was named without saying which file of it, and that one is of it."""
    if asked.registry != HF or asked.file or (origin.registry, origin.repo.lower()) != (HF, asked.repo.lower()):
        return False
    tag = asked.tag.lower()
    return not tag or tag in (origin.tag.lower(), quant_of(origin.tag).lower())


def _pulled_at(row: Model) -> float:
    return row.origin.pulled_at if row.origin is not None else 0.0
