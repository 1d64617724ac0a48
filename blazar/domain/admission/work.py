"""What a request is to the queue: how urgent, of which class, how long it may wait (D16, D17). Plain facts in, a few numbers out.

Knows no headers and no bodies; whoever reads those hands the facts over.
"""

from enum import IntEnum
from typing import Final, NamedTuple


class Priority(IntEnum):
    """The caller's word; the smaller number goes first."""

    HIGH = 0
    NORMAL = 1
    LOW = 2


class WorkClass(IntEnum):
    """Decides between tickets of one priority: whoever calls tools goes on soon, raw generations take their time."""

    TOOL = 0
    INTERACTIVE = 1
    RAW_LONG = 2


SLO: Final = {Priority.HIGH: 2.0, Priority.NORMAL: 30.0, Priority.LOW: 120.0}
"""Seconds that a ticket of each tier may wait once the child serves (setup document, queue)."""
TOOL_SLO: Final = 10.0
"""The same for tools, where the tier grants more."""
LONGEST_WAIT: Final = 600.0
"""Seconds; a caller's deadline beyond this is as good as none, and every ticket ends (D17)."""
PREFILL_HEAVY_BYTES: Final = 64 * 1024
"""A longer body is 16k tokens at 4 bytes each: its prompt alone holds a slot for long, so that it goes one priority later.

ODD: pictures count like text. The documents measure the body, and what is in it a child is slow to take in.
"""


class Facts(NamedTuple):
    """What is known of a request. `deadline` is the caller's own bound in seconds, None where he named none."""

    priority: str = ""
    deadline: float | None = None
    tools: bool = False  # it offers tools that may be called
    raw: bool = False  # a raw generation of a model whose template has no tools
    size: int = 0  # bytes of its body
    key: str = ""
    weight: float = 1.0


class Work(NamedTuple):
    """A ticket's place in the order, and its bound in seconds."""

    priority: Priority = Priority.NORMAL
    kind: WorkClass = WorkClass.INTERACTIVE
    wait: float = SLO[Priority.NORMAL]
    key: str = ""
    weight: float = 1.0
    firm: bool = False  # the bound is its caller's own: it runs from its arrival, whatever the child does

    @property
    def raw(self) -> bool:
        """Whether it counts against what raw generations may hold."""
        return self.kind is WorkClass.RAW_LONG


ORDINARY: Final = Work()
_NAMED: Final = {"high": Priority.HIGH, "low": Priority.LOW}
_LATER: Final = {Priority.HIGH: Priority.NORMAL, Priority.NORMAL: Priority.LOW, Priority.LOW: Priority.LOW}


def priority_of(named: str) -> Priority:
    """`high` and `low` in any case; every other word is an ordinary request."""
    return _NAMED.get(named.lower(), Priority.NORMAL) if named else Priority.NORMAL


def classify(facts: Facts) -> Work:
    """The ticket for a request. Its bound is that of the tier it ends up in: who is sent back may also wait as long as those there."""
    named, deadline, tools, raw, size, key, weight = facts
    if not named and deadline is None and not tools and not raw and size <= PREFILL_HEAVY_BYTES:
        return Work(
            key=key, weight=weight
        )  # nearly every request; the rest says the same of it, in ten times the steps
    priority = priority_of(facts.priority)
    if facts.size > PREFILL_HEAVY_BYTES:
        priority = _LATER[priority]
    kind = WorkClass.RAW_LONG if facts.raw else WorkClass.TOOL if facts.tools else WorkClass.INTERACTIVE
    if facts.deadline is not None:
        wait = min(facts.deadline, LONGEST_WAIT)
    else:
        wait = min(SLO[priority], TOOL_SLO) if kind is WorkClass.TOOL else SLO[priority]
    return Work(priority, kind, wait, facts.key, facts.weight, facts.deadline is not None)
