"""`explain` as a page: the command line flag by flag with its reasons, and what the running child was told otherwise. Prints nothing."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from blazar.adapters.cli.render import clean
from blazar.domain import teaching

_WIDEST = 44
"""Characters up to which a flag keeps its reason on its own line; paths are longer."""


def command_lines(
    argv: Sequence[str], decisions: Sequence[Mapping[str, Any]], endpoint: Sequence[Mapping[str, Any]] = ()
) -> Iterator[str]:
    """The words as a shell takes them, each flag beside its reason, the endpoint's last; what was left out follows with a mark."""
    spoken = [one for one in (*decisions, *endpoint) if one["words"]]
    said = [(shlex.join(map(str, one["words"])), str(one["reason"])) for one in spoken]
    program = list(argv[: max(0, len(argv) - sum(len(one["words"]) for one in decisions))])
    yield "argv"
    if program:
        yield f"  {clean(shlex.join(map(str, program)))}"
    width = max((len(text) for text, _ in said if len(text) <= _WIDEST), default=0)
    for text, reason in said:
        long = len(text) > width
        if long:
            yield f"  {clean(text)}"
        yield f"  {('' if long else clean(text)).ljust(width)}  {clean(reason)}".rstrip()
    left_out = [one for one in decisions if not one["words"]]
    if left_out:
        yield teaching.explain_left_out()
        yield from (f"  {clean(str(one['reason']))}" for one in left_out)


def difference_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """One line for each thing that is otherwise; one that says so where nothing is."""
    env, engine, pid = found["env"], found.get("engine"), int(found["pid"])
    rows = [
        *([teaching.explain_engine(engine["was"], engine["is"])] if engine else []),
        *(f"+ {text}" for text in found["added"]),
        *(f"- {text}" for text in found["removed"]),
        *(f"~ {one['flag']}: {one['was'] or '-'} -> {one['is'] or '-'}" for one in found["changed"]),
        *(f"+ {teaching.config_environment(name)}" for name in env["added"]),
        *(f"- {teaching.config_environment(name)}" for name in env["removed"]),
        *(f"~ {teaching.config_environment(name)}" for name in env["changed"]),
    ]
    yield teaching.explain_differs(pid) if rows else teaching.explain_same(pid)
    yield from (f"  {clean(row)}" for row in rows)
