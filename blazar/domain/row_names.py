"""Which row of a catalog a name means: as it is written, in another spelling, or as the reference that it was pulled by. One rule for all dialects.

Asks nobody, and answers only rows that are there.
"""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from blazar.domain.errors import BlazarError, Malformed, ModelNotFound, SeveralModels
from blazar.domain.names import LONGEST_NAME, near, resolve, twin, untagged
from blazar.domain.records import Model
from blazar.domain.references import (
    HF,
    LONGEST,
    URL,
    RemoteRef,
    at_home,
    candidates,
    catalog_name,
    pull_reference,
    unescaped,
)
from blazar.domain.weight_names import SUFFIX, quant_of, shard_of

_DYNAMIC = "ud-"
"""Begins quantisations of one publisher, who is asked for them without it, too."""


class _Pulled(NamedTuple):
    """A row and what it was pulled as. `hub` is where, `path` the file of its repository (Hugging Face's; "": unknown)."""

    row: Model
    ref: RemoteRef
    hub: str = ""
    path: str = ""

    @property
    def at(self) -> float:
        return self.row.origin.pulled_at if self.row.origin is not None else 0.0

    @property
    def artefact(self) -> str:
        return self.row.origin.artefact if self.row.origin is not None else ""

    def is_version_of(self, other: "_Pulled") -> bool:
        """Whether both are the same model of the same registry, however old each is."""
        one, two = self.path.lower(), other.path.lower()
        return _key(self.ref) == _key(other.ref) or (bool(one) and one == two and _repo(self.ref) == _repo(other.ref))


def row_named(name: str, rows: Collection[Model]) -> Model | None:
    """A name comes first: a reference means a row only where none is called so. None too where it means several models."""
    called = _called(name, rows)
    if called is not None:
        return called
    found = _by_reference(name, rows)
    return found[0].row if found and all(map(found[0].is_version_of, found)) else None


def meant(name: str, rows: Collection[Model]) -> str:
    """The name of that row; the input itself on a miss."""
    found = row_named(name, rows)
    return name if found is None else found.name


def rows_of(ref: RemoteRef, rows: Collection[Model], address: str = "") -> tuple[Model, ...]:
    """All rows that were pulled as that model, in whatever words, the one that it stands for first. `address` as `Origin` has it.

    A row that was pulled as a file is none of another file, even if that is the only one of its quantisation by now.
    """
    path = _file_at(address, ref)[1].lower()
    pulled = [one for row in rows for one in _pulled(row, _hosts([row]))]

    def fits(one: _Pulled) -> bool:
        if _is_same(ref, one):
            return True
        any_file = quant_of(one.ref.tag) == one.ref.tag.upper() or not path or not one.path
        return _answers(ref, one) and (any_file or path == one.path.lower())

    return tuple(one.row for one in _ranked([one for one in pulled if fits(one)]))


def spelled_as_here(ref: RemoteRef, rows: Collection[Model]) -> RemoteRef:
    """In the letters by which it was pulled before: here case says nothing, and a registry may tell names apart by it."""
    if ref.registry == URL:
        return ref
    here = [one.ref for row in rows for one in _pulled(row, _hosts([row]))]
    same = (one for one in here if _key(one) == _key(ref))
    beside = (ref._replace(repo=one.repo) for one in here if (*_repo(one), one.host) == (*_repo(ref), ref.host))
    return next(same, None) or next(beside, ref)


def row_called(name: str, rows: Collection[Model]) -> Model | None:
    """The row of that very name, but for case and `:latest`: a tag where the catalog has a dash may mean another model elsewhere."""
    known = {row.name: row for row in rows}
    return known.get(name) or known.get(twin(name, known))


def not_one(name: str, rows: Collection[Model], known: Collection[str] | None = None) -> BlazarError:
    """Why a name means no row. `known` are names that the caller may hear of; None: all."""
    several = sorted(one.row.name for one in _by_reference(name, rows) if known is None or one.row.name in known)
    if len(several) > 1 and _called(name, rows) is None:
        return SeveralModels(name, several)
    return ModelNotFound(name, near(name, [row.name for row in rows] if known is None else known))


def only_one(name: str, rows: Collection[Model]) -> Model:
    """The row of what shall be lost: raises where a reference means several equally, be they versions of one model."""
    called = _called(name, rows)
    if called is not None:
        return called
    found = _by_reference(name, rows)
    if len(found) != 1:
        raise not_one(name, rows)
    return found[0].row


def _called(name: str, rows: Collection[Model]) -> Model | None:
    known = {row.name: row for row in rows}
    return known.get(resolve(name, known) if len(name) <= LONGEST_NAME else name)


def _by_reference(name: str, rows: Collection[Model]) -> list[_Pulled]:
    """What a reference means, the newest first: rows pulled by this very one, else of what it leaves open."""
    hosts = _hosts(rows)
    if not hosts or len(name) > LONGEST:
        return []
    pulled = [one for row in rows for one in _pulled(row, hosts)]
    tries = _tries(untagged(name), hosts, {one.hub for one in pulled})
    for fits in (_is_same, _answers, _answers_as_dynamic, _leaves_open):
        for asked in tries:
            if found := [one for one in pulled if fits(asked, one)]:
                return _ranked(found)
    return []


def _ranked(found: Collection[_Pulled]) -> list[_Pulled]:
    """The newest version first; of rows that have it the one that is called as a pull calls it, then the oldest."""
    newest = max(found, key=lambda one: one.at).artefact if found else ""

    def rank(one: _Pulled) -> tuple[bool, bool, float, str]:
        usual = one.row.name == catalog_name(one.ref, one.ref.tag)
        return one.artefact != newest, not usual, one.row.imported_at, one.row.name

    return sorted(found, key=rank)


def _hosts(rows: Collection[Model]) -> set[str]:
    """Of references begin so, if they begin with a host: what was pulled from there need not be configured any more."""
    return {row.origin.reference.partition("/")[0] for row in rows if row.origin is not None}


def _pulled(row: Model, hosts: Collection[str]) -> Iterable[_Pulled]:
    if row.origin is None:
        return
    for ref in _read(row.origin.reference, hosts)[-1:]:
        hub, path = _file_at(row.origin.address, ref)
        yield _Pulled(row, ref, hub, path or _whole(ref.file))


def _file_at(address: str, ref: RemoteRef) -> tuple[str, str]:
    """The hub of an address, and the GGUF file that it is of; a folder is made of others, none of which is the model."""
    hub, there, path = address.partition(f"/{ref.repo}/resolve/main/")
    return (hub, _whole(unescaped(path)) if path.lower().endswith(SUFFIX) else "") if there else ("", "")


def _tries(name: str, hosts: Collection[str], hubs: Collection[str]) -> tuple[RemoteRef, ...]:
    """What may be meant; an address of a hub that some row came from may be a page of it, and another registry's model."""
    words = dict.fromkeys((*(at_home(name, hub) for hub in sorted(hubs)), name))
    return tuple(ref for word in words for ref in _read(word, hosts))


def _read(reference: str, hosts: Collection[str]) -> tuple[RemoteRef, ...]:
    try:
        return candidates(pull_reference(reference, hosts))
    except Malformed:
        return ()


def _key(ref: RemoteRef) -> tuple[str, ...]:
    """Of an address case counts; registries' names are told apart without."""
    if ref.registry != HF:
        return (
            ref.registry,
            ref.kept if ref.registry == URL else ref.file or ref.repo.lower(),
            ref.tag.lower(),
            ref.host.lower(),
        )
    return (ref.registry, ref.repo.lower(), (_whole(ref.file) or ref.tag).lower())


def _repo(ref: RemoteRef) -> tuple[str, str]:
    return ref.registry, ref.repo.lower()


def _is_same(asked: RemoteRef, one: _Pulled) -> bool:
    return _key(asked) == _key(one.ref)


def _answers(asked: RemoteRef, one: _Pulled) -> bool:
    """Whether that row's file is the one that was asked for, or has the quantisation or the name that was."""
    if asked.registry != HF or _repo(asked) != _repo(one.ref) or not (asked.file or asked.tag):
        return False
    if asked.file:
        return _whole(asked.file).lower() == one.path.lower()
    return asked.tag.lower().removesuffix(SUFFIX) in _tags(one)


def _answers_as_dynamic(asked: RemoteRef, one: _Pulled) -> bool:
    words = {word.removeprefix(_DYNAMIC) for word in _tags(one)}
    return asked.registry == HF and _repo(asked) == _repo(one.ref) and not asked.file and asked.tag.lower() in words


def _tags(one: _Pulled) -> set[str]:
    """By what its registry knows that file in references."""
    stem = one.path.rpartition("/")[2].removesuffix(SUFFIX)
    return {word.lower() for word in (one.ref.tag, quant_of(one.ref.tag), stem, quant_of(stem))} - {""}


def _leaves_open(asked: RemoteRef, one: _Pulled) -> bool:
    """Whether a repository was named without saying which file of it, and that one is of it."""
    return asked.registry == HF and not (asked.file or asked.tag) and _repo(asked) == _repo(one.ref)


def _whole(path: str) -> str:
    """The file that a path means; of a set of shards all of it."""
    shard = shard_of(path)
    return path if shard is None else f"{shard.stem}{SUFFIX}"
