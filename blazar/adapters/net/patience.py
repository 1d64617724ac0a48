"""How often a host that cannot answer right now is asked again, and how long is waited in between. Asks nobody, waits for nothing.

One rule for listings, manifests and files: five tries, pauses that grow and are not the same for all, and what the host asks for.
"""

import random
import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import Final, NamedTuple

from blazar.domain.errors import BlazarError, Busy, RegistryTrouble

TRIES: Final = 5
"""Tries that may fail one after the other without bringing a byte."""
PAUSE_SECS, LONGEST_PAUSE = 0.5, 60.0
"""Between two of them: twice as long each time, up to a bound; longer than that no host is waited for, whatever it asks for."""
_MOST_ASKED: Final = 3600
UNTOLD_SECS: Final = 60
"""What a person is told where a host that is asked too often does not say for how long."""


class Failing(RegistryTrouble):
    """Its own trouble (5xx): it may be over in a moment."""


class Crowded(Busy):
    """It is asked too often, and does not say for how long."""


class Patience(NamedTuple):
    """`longest` are the seconds that one pause may take."""

    tries: int = 1
    longest: float = LONGEST_PAUSE

    def ends(self, trouble: BlazarError, tries: int) -> bool:
        """Whether it is given up after so many tries."""
        asked = trouble.retry_after if isinstance(trouble, Busy) and not isinstance(trouble, Crowded) else 0
        return tries >= self.tries or asked > self.longest

    def secs(self, trouble: BlazarError, tries: int) -> float:
        return min(self.longest + PAUSE_SECS, secs_after(trouble, tries, PAUSE_SECS))


ONCE: Final = Patience()
BRIEF: Final = Patience(3, 5.0)
"""Somebody waits before an empty screen."""
LONG: Final = Patience(TRIES)
"""A download that was begun for hours does not fail over a moment."""


def secs_after(trouble: BlazarError, tries: int, pause: float) -> float:
    """What the host asks for, else a growing time; not the same for all, since they would all come back at once."""
    spread = random.uniform(0.5, 1.0)  # noqa: S311 # not a secret
    if isinstance(trouble, Busy) and not isinstance(trouble, Crowded):
        return trouble.retry_after + pause * spread
    return float(min(LONGEST_PAUSE, pause * 2**tries) * spread)


def asked_for(text: str, now: Callable[[], float] = time.time) -> int | None:
    """Seconds that a `Retry-After` asks for, which are a number or a date; None where it is neither."""
    text = text.strip()
    if text.isascii() and text.isdigit():
        return min(int(text[:9]), _MOST_ASKED)
    try:
        at = parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError, OSError):
        return None
    return int(min(max(0.0, at - now() + 0.999), _MOST_ASKED))


def busy(host_says: str, sentence: Callable[[int], str]) -> Busy:
    """The refusal of who is asked too often. `host_says` is its `Retry-After`."""
    seconds = asked_for(host_says)
    if seconds is None:
        return Crowded(sentence(UNTOLD_SECS), UNTOLD_SECS)
    return Busy(sentence(seconds), seconds)
