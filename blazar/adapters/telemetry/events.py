"""Events about children and engines as log lines."""

import logging
from typing import Any, Final

from blazar.application.ports.telemetry import Events

_LOG: Final = logging.getLogger("blazar.events")
_ALARMING = ("crash", "fail", "fault", "lost", "breaker", "orphan")
"""What a kind's name holds when a person should look."""


class LogEvents(Events):
    """`kind fact=value …`, at warning where something went wrong."""

    def emit(self, kind: str, **facts: Any) -> None:
        level = logging.WARNING if any(word in kind for word in _ALARMING) else logging.INFO
        _LOG.log(level, "%s", " ".join((kind, *(f"{name}={_word(value)}" for name, value in facts.items()))))


def _word(value: Any) -> str:
    """A value as one word: quoted where it has spaces, numbers short."""
    text = f"{value:.3f}" if isinstance(value, float) else str(value)
    return repr(text) if " " in text else text
