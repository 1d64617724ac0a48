"""What a spawn looks like at log level debug: its command line and the reason of every choice. No line holds a secret."""

import re
import shlex
from collections.abc import Iterator, Sequence

from blazar.application.ports.children import LaunchPlan

HIDDEN = "********"
# What engines call a flag whose value is a secret or may hold one; the file that a secret lies in is none.
_SECRET = re.compile(r"--?[\w-]*(key|token|secret|password|json)", re.IGNORECASE)


def launch_lines(argv: Sequence[str], plan: LaunchPlan) -> Iterator[str]:
    """The spawn, the names of the variables that it is given, each decision, each note."""
    head = f"{plan.key}: {plan.kind} {plan.tag}, context {plan.ctx}, slots {plan.slots}"
    yield f"{head}: {shlex.join(shown(argv))}"
    if plan.env:
        yield f"{plan.key}: variables {' '.join(name for name, _ in plan.env)}"
    for words, key, reason in plan.decisions:
        yield f"{plan.key}: {shlex.join(shown(words)) or f'no {key}'}: {reason}"
    yield from (f"{plan.key}: {note}" for note in plan.notes)


def shown(words: Sequence[str]) -> list[str]:
    """The words, and marks in the place of secrets, whether they stand behind their flag or behind its `=`."""
    found, hide = [], False
    for word in words:
        flag, mark, _ = word.partition("=")
        secret = _SECRET.fullmatch(flag) is not None
        found.append(f"{flag}={HIDDEN}" if secret and mark else HIDDEN if hide else word)
        hide = secret and not mark
    return found
