"""The environment of an engine: ours, without what would change its settings or hand it our secrets."""

import os
from collections.abc import Iterable

OURS = ("BLAZAR_KEYS",)
"""Bootstrap secrets of the daemon: no child needs them."""


def engine_env(scrubbed: tuple[str, ...], extra: Iterable[tuple[str, str]] = ()) -> dict[str, str]:
    """A copy of the environment without names that begin with one of `scrubbed`, then `extra`."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith(scrubbed + OURS)}
    return kept | dict(extra)
