"""How often a child finds prompts in its cache, and how often what was guessed for it is right: smoothed over what it counts. Advice.

A child's counters begin at nought with it, so a child has hints of its own.
"""

from typing import Final, NamedTuple

from blazar.domain.child_metrics import Readings

KEPT: Final = 0.7
"""Share of what was known before (setup: 0.7 and 0.3, a scrape a minute): a quiet minute with one odd prompt tips nothing over."""


class Worth(NamedTuple):
    """What a child has that its successor would have to learn anew: the more, the later it goes among its equals. Compared in this order."""

    cached: float = 0.0
    guessed: float = 0.0


class CacheHints(NamedTuple):
    """Shares of 1; None: nothing is known yet. Below them the counters as they were last read."""

    cache_hint: float | None = None
    spec_accept: float | None = None
    prompts: float = 0.0
    cached: float = 0.0
    drafted: float = 0.0
    accepted: float = 0.0

    def after(self, read: Readings) -> "CacheHints":
        """With one more reading. A figure that the engine does not tell, or that did not move, leaves its hint as it was."""
        found, prompts, cached = _share(read.prompt_tokens, read.cached_tokens, self.prompts, self.cached)
        right, drafted, accepted = _share(read.drafted_tokens, read.accepted_tokens, self.drafted, self.accepted)
        if read.drafted_tokens is None and read.acceptance is not None:
            right = read.acceptance  # it tells the share alone
        return CacheHints(
            smoothed(self.cache_hint, found), smoothed(self.spec_accept, right), prompts, cached, drafted, accepted
        )

    def worth(self, read_at: float | None, used_until: float, stale_after: float) -> Worth:
        """Of hints that were read when it was still used, or not long before that; of older ones, where reading them fails, none."""
        if read_at is None or used_until - read_at > stale_after:
            return Worth()
        return Worth(self.cache_hint or 0.0, self.spec_accept or 0.0)


def smoothed(before: float | None, now: float | None) -> float | None:
    """The first reading counts whole: there is nothing yet to be steady about."""
    if now is None:
        return before
    now = min(1.0, max(0.0, now))
    return now if before is None else KEPT * before + (1 - KEPT) * now


def _share(
    whole: float | None, part: float | None, whole_before: float, part_before: float
) -> tuple[float | None, float, float]:
    """Of what was added since the last reading, and the counters to go on from. One that went back began anew."""
    if whole is None or part is None:
        return None, whole_before, part_before
    if whole < whole_before or part < part_before:
        whole_before = part_before = 0.0
    added = whole - whole_before
    return ((part - part_before) / added if added > 0 else None), whole, part
