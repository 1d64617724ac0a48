"""Whether a newer build decodes more slowly than the one before it, told from interleaved runs. Pure: it measures nothing itself.

Whatever else a machine does only ever slows a run down, now and then a hundredfold (threads that wait for each other on busy
cores), and hits both builds alike. So a run counts as its best sample, the runs of a pair are neighbours in time, and what is
asked is whether the pairs agree, not how far single figures lie apart.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from enum import StrEnum
from itertools import product
from statistics import median
from typing import NamedTuple

from blazar.domain import teaching
from blazar.domain.errors import Malformed

ALLOWED_LOSS = 0.10
"""The specification's: more than a tenth of the speed lost is a regression."""
LEAST_PAIRS, MOST_PAIRS = 4, 24
SLOWER_BY_CHANCE = 1 / 256
"""How likely pairs of one and the same build may look slower: eight pairs that all agree, or more of which nearly all do.

Five gates in a row are then wrong once in fifty times where the noise is as bad as it can be, and where it is not, next to never:
the medians must lie a tenth apart as well, and so must the best runs.
"""
FAST_BY_CHANCE = 1 / 16
"""The same for a build that did lose a tenth and does not look it: four pairs that all agree are enough to let it through."""
_CLIPPED = math.log(1.5)
"""No pair counts for more than this: one run that met a stall must not outvote all others."""
_FAR_SLOWER, FAR_BY_CHANCE = 2 / 3, 1 / 16
"""A build whose typical and best runs are both that slow is convicted in the end by pairs that nearly agree: four of four."""
_STEADY = 1.5
"""How far the best sample of a run may lie above its median before threads are taken to be waiting for each other."""


class Outcome(StrEnum):
    """What the pairs say."""

    PASSES = "passes"
    SLOWER = "slower"
    UNCLEAR = "unclear"


class Pair(NamedTuple):
    """Neighbouring runs of both builds, in decoded tokens a second."""

    old: float
    new: float


class Judgement(NamedTuple):
    """The medians over all pairs, and what follows."""

    outcome: Outcome
    old: float
    new: float


class GateVerdict(NamedTuple):
    """What became of a comparison: whether the new build may serve, and why; speeds are 0 where nothing was measured."""

    passed: bool
    sentence: str
    old_tps: float = 0.0
    new_tps: float = 0.0


def judge(pairs: Sequence[Pair], loss: float = ALLOWED_LOSS, *, last: bool = False) -> Judgement | None:
    """None: go on measuring. `last`: there will be no more pairs.

    Unclear is not slower: a build that cannot be told from the one before it must not be withheld by a busy machine.
    """
    if not pairs:
        return Judgement(Outcome.UNCLEAR, 0.0, 0.0) if last else None
    limit = math.log(1.0 - loss)
    steps = [_step(pair) for pair in pairs]
    old, new = median(pair.old for pair in pairs), median(pair.new for pair in pairs)
    # What a build once reached it can do: whatever else ran can only have hidden that in its other runs.
    reached = _ratio(max(pair.new for pair in pairs), max(pair.old for pair in pairs))
    kept = max(_ratio(new, old), reached)
    final = last or len(pairs) >= MOST_PAIRS
    if len(pairs) >= LEAST_PAIRS:
        chance = FAR_BY_CHANCE if final and kept < _FAR_SLOWER else SLOWER_BY_CHANCE
        if kept < 1.0 - loss and _chance(_places(pairs)) <= chance:
            return Judgement(Outcome.SLOWER, old, new)
        if kept >= 1.0 - loss and _chance([_clipped(limit - step) for step in steps]) <= FAST_BY_CHANCE:
            return Judgement(Outcome.PASSES, old, new)
    return Judgement(Outcome.UNCLEAR, old, new) if final else None


def new_first(pair: int) -> bool:
    """ABBA: whoever runs second meets a warmer machine, so both do in turn."""
    return pair % 2 == 1


def is_steady(samples: Sequence[float]) -> bool:
    """Whether the samples of one run are of one kind. Where they are not, fewer threads tell more."""
    return max(samples) <= median(samples) * _STEADY


def _ratio(new: float, old: float) -> float:
    """Runs that stood still count as far apart, not as infinitely far."""
    least = 1e-9
    return max(new, least) / max(old, least)


def _step(pair: Pair) -> float:
    return math.log(_ratio(pair.new, pair.old))


def _places(pairs: Sequence[Pair]) -> list[float]:
    """How many places the new run of each pair stands before the old one, all runs lined up by speed.

    Places, not speeds: a run that met a stall must not outvote all others.
    """
    line = sorted(figure for pair in pairs for figure in pair)
    return [float(bisect_left(line, pair.new) - bisect_left(line, pair.old)) for pair in pairs]


def _clipped(step: float) -> float:
    return min(max(step, -_CLIPPED), _CLIPPED)


def _chance(steps: Sequence[float]) -> float:
    """How often steps of these sizes, each up or down by chance, would sum to as little as these: the exact sign-flip test.

    It asks for no distribution and no equal noise, only that in a pair of equals either may be the slower one. In two halves,
    or twenty-four steps would be sixteen million sums.
    """
    bound = sum(steps) + 1e-12
    left, right = _sums(steps[: len(steps) // 2]), _sums(steps[len(steps) // 2 :])
    right.sort()
    below = sum(bisect_right(right, bound - total) for total in left)
    return below / (len(left) * len(right))


def _sums(steps: Sequence[float]) -> list[float]:
    return [sum(signs) for signs in product(*((step, -step) for step in steps))]


def allowed_loss(text: str) -> float | None:
    """What `BLAZAR_ENGINE_GATE` says: `off`, `on` (also unset), or the percentage that may be lost. None: no comparison."""
    word = text.strip().lower()
    if word in ("", "on", "true", "yes", "1"):
        return ALLOWED_LOSS
    if word in ("off", "false", "no", "0"):
        return None
    try:
        percent = float(word.removesuffix("%"))
    except ValueError:
        percent = math.nan
    if not 1.0 < percent < 100.0:
        raise Malformed(teaching.bad_engine_gate(text), "BLAZAR_ENGINE_GATE")
    return percent / 100.0
