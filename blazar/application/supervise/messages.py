"""What other tasks ask of an instance. Its own child's news are in `tenure.py`."""

import asyncio
from typing import NamedTuple

from blazar.application.supervise.tenure import Tenure


class Want(NamedTuple):
    """Somebody waits for a child."""


class Reshape(NamedTuple):
    """Somebody waits for a larger window than the child has (case B8), or brings a picture that it cannot take."""


class Evict(NamedTuple):
    """Go: drain for `limit` seconds first, or not at all. `done` is told whether there was a child, once it is gone.

    `vision` means a child with a projector, and no other.
    """

    cause: str
    force: bool = False
    limit: float = 0.0
    done: asyncio.Future[bool] | None = None
    vision: bool = False


class StopIfIdle(NamedTuple):
    """Policy: go, but only if nobody runs or waits when this is read."""

    cause: str


class Grow(NamedTuple):
    """Nothing has run for a moment, or, `crowded`, no such moment has come: a child with a slot more may take its place."""

    tenure: Tenure
    crowded: bool = False


class Emptied(NamedTuple):
    """The last request of a closed line ended."""


class DrainOver(NamedTuple):
    """The time for requests in flight is up."""

    tenure: Tenure


class Sick(NamedTuple):
    """Too many answers in a row were errors of the child itself; or, `wedged`, it owes an answer and computes nothing."""

    tenure: Tenure
    wedged: bool = False


class Check(NamedTuple):
    """Look whether the load moves."""

    tenure: Tenure


class Quit(NamedTuple):
    """End the task: the child is gone and no other may come."""
