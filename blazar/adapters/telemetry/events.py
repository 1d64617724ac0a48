"""Events about children, engines and the configuration as log lines."""

import logging
from typing import Any, Final

from blazar.application.ports.telemetry import Events

_LOG: Final = logging.getLogger("blazar.events")
_ALARMING = ("crash", "fail", "fault", "lost", "breaker", "orphan", "refused", "restart", "gateway_open", "warning")
"""What a kind's name holds when a person should look."""


class LogEvents(Events):
    """`kind fact=value …`, at warning where something went wrong. An empty list is no news."""

    def emit(self, kind: str, **facts: Any) -> None:
        level = logging.WARNING if any(word in kind for word in _ALARMING) else logging.INFO
        words = (f"{name}={_word(value)}" for name, value in facts.items() if value not in ((), []))
        _LOG.log(level, "%s", " ".join((kind, *words)))


def _word(value: Any) -> str:
    """A value as one word: quoted where it has spaces, numbers short, lists without brackets."""
    if isinstance(value, list | tuple):
        value = "; ".join(map(str, value))
    text = f"{value:.3f}" if isinstance(value, float) else str(value)
    return repr(text) if " " in text else text
