"""Waits until the running daemon has read the file that a verb has just changed. Asks only; never makes it read."""

import time
from typing import Any, NamedTuple

from blazar.adapters.cli.locate import read_note
from blazar.adapters.cli.root import Root
from blazar.domain.errors import BlazarError

FOLLOWED = 5
"""Seconds: a change is read when two looks agree, and the daemon looks every two."""
_BETWEEN = 0.1


class Followed(NamedTuple):
    """`there`: a daemon of this folder runs; `shown` is what it says of its configuration (None: nothing, or of another file).

    `late`: it has not read the file, or does not tell.
    """

    there: bool = False
    shown: dict[str, Any] | None = None
    late: bool = False


def follow(root: Root, patience: float = FOLLOWED) -> Followed:
    """Return once it has read the file, or when that took too long."""
    if read_note(root.places.run, root.processes) is None:
        return Followed()
    until = time.monotonic() + patience
    while True:
        try:
            shown = root.client().call("GET", "/api/config", timeout=FOLLOWED)
        except BlazarError:
            return Followed(there=True, late=True)
        if not isinstance(shown, dict) or shown.get("path") != str(root.places.config_file):
            return Followed(there=True)
        behind = bool(shown.get("behind"))
        if not behind or time.monotonic() >= until:
            return Followed(there=True, shown=shown, late=behind)
        time.sleep(_BETWEEN)
