"""What changed between two command lines, flag by flag (case I12). Compares words only: which of the two is right, it does not say."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from blazar.domain.launch import flags_of

Same = Callable[[str, str], bool]


class Change(NamedTuple):
    """One flag that stands on both lines and says another thing. A switch has no words of its own: "" unless it was turned round."""

    flag: str
    was: str
    now: str


class Difference(NamedTuple):
    """Flags with their values as one text each, in the order of the line that has them."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[Change, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether both lines say the same."""
        return not (self.added or self.removed or self.changed)


class _Said(NamedTuple):
    """One occurrence: a flag as it is spelled, and the words up to the next."""

    flag: str
    values: tuple[str, ...]

    @property
    def text(self) -> str:
        return " ".join((self.flag, *self.values))


def difference(was: Sequence[str], now: Sequence[str], same: Same | None = None) -> Difference:
    """`same` tells whether two spellings set one thing (`Manifest.same`); without it spellings are compared as they stand.

    Where a flag may be said several times its occurrences are compared in order: the engine may add them up (case I5).
    The program's own words stand on neither line: an engine may be started as `python -m …`.
    """
    before, after = _grouped(was, now, same)
    added: list[str] = []
    removed: list[str] = []
    changed: list[Change] = []
    for flag in dict.fromkeys((*before, *after)):
        old, new = before.get(flag, []), after.get(flag, [])
        if [one.values for one in old] == [one.values for one in new] and _turned(old) == _turned(new):
            continue
        if len(old) == len(new) == 1:
            changed.append(_change(old[0], new[0]))
        elif (gone := _missing(old, new)) == (came := _missing(new, old)) == []:
            changed.append(Change(new[0].flag, _joined(old), _joined(new)))  # the same ones in another order
        else:
            removed += gone
            added += came
    return Difference(tuple(added), tuple(removed), tuple(changed))


def occurrences(words: Sequence[str]) -> list[tuple[str, tuple[str, ...]]]:
    """Every flag with its values, in order. A negative number is a value here too (`flags_of`)."""
    found: list[tuple[str, list[str]]] = []
    for word in words:
        if flags_of((word,)):
            flag, joined, value = word.partition("=")
            found.append((flag, [value] if joined else []))
        elif found:
            found[-1][1].append(word)
    return [(flag, tuple(values)) for flag, values in found]


_Groups = dict[str, list[_Said]]


def _grouped(was: Sequence[str], now: Sequence[str], same: Same | None) -> tuple[_Groups, _Groups]:
    """Both lines by option; one that is spelled in two ways goes by the first of them."""
    names: list[str] = []
    both: tuple[_Groups, _Groups] = ({}, {})
    for words, groups in zip((was, now), both, strict=True):
        for flag, values in occurrences(words):
            name = flag if flag in names else next((one for one in names if same is not None and same(one, flag)), flag)
            if name not in names:
                names.append(name)
            groups.setdefault(name, []).append(_Said(flag, values))
    return both


def _turned(said: Sequence[_Said]) -> list[bool]:
    """Which of them say no: two spellings of a pair are the same option and not the same answer."""
    return [one.flag.startswith("--no-") for one in said]


def _change(old: _Said, new: _Said) -> Change:
    if _turned([old]) != _turned([new]):
        return Change(new.flag, old.text, new.text)
    return Change(new.flag, " ".join(old.values), " ".join(new.values))


def _missing(these: Sequence[_Said], others: Sequence[_Said]) -> list[str]:
    """The texts that `others` have not, or not as often; the last ones of several equal."""
    left = Counter((one.values, *_turned([one])) for one in others)
    found = []
    for one in these:
        key = (one.values, *_turned([one]))
        if left[key]:
            left[key] -= 1
        else:
            found.append(one.text)
    return found


def _joined(said: Sequence[_Said]) -> str:
    return ", ".join(" ".join(one.values) for one in said)
