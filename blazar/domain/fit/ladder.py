"""Cache types and windows that are left open: what is tried, in which order, and how far a window can go. Places nothing.

Order of sacrifice, first given up first: further slots (`slots`), precision of the cache, the window, layers on a device. Each step is
taken only where all before it do not make the load fit whole; then as little as is needed.

1. the wished window, whole on the devices, by the ladder f16 → q8_0 → K q8_0/V q4_0 → q4_0: the first rung within 90 % of what is
   free on each device (setup document, `cache_type`; without a device: of free RAM);
2. the last rung, whole, without that tenth (the margins stay);
3. an open window: the largest, whole, down to `FLOOR`;
4. as many layers as fit, the rest with the host, which may drop mapped weights and read them again. The cache keeps its first type, since giving precision up would buy nothing that the
   host's memory does not give, and an open window becomes the specification's default;
5. an open window: the largest that fits anyhow.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

from blazar.domain.fit.bill import draw_up
from blazar.domain.fit.caches import aborts, refusal
from blazar.domain.fit.machine import Machine
from blazar.domain.fit.placement import place
from blazar.domain.fit.settings import Draft, Settings
from blazar.domain.fit.shape import ModelShape
from blazar.domain.fit.shares import HOST, Load, Placement
from blazar.domain.fit.slots import chosen, engine_ctx
from blazar.domain.fit.weights import Weights, weigh

RUNGS = (("f16", "f16"), ("q8_0", "q8_0"), ("q8_0", "q4_0"), ("q4_0", "q4_0"))
"""Types of keys and values, best first (setup document, `cache_type`)."""

STEP = 256
"""Windows are whole multiples: the engine rounds up to it (llama.cpp b11434, src/llama-context.cpp, `GGML_PAD`)."""

FLOOR = 4096
"""Tokens. A window is not made smaller than this to keep all layers on a device (common/common.h, `fit_params_min_ctx`)."""

DEFAULT = 16384
"""Tokens, where nobody asked for a window and it buys nothing to go further (setup document, `default_ctx`)."""


class Found(NamedTuple):
    """One load with nothing left open, and where it lies. `window` is one request's, in tokens."""

    settings: Settings
    window: int
    placement: Placement

    @property
    def whole(self) -> bool:
        """It fits, every layer that was to be on a device is there, and no weight has to be read twice."""
        return self.placement.fits and self.placement.whole and not self.pages

    @property
    def pages(self) -> bool:
        """Main memory cannot hold all that lies there at a time."""
        host = self.placement.shares[0]
        return host.free > 0 and host.used + host.margin > host.free

    @property
    def need(self) -> int:
        """All bytes that it takes, wherever they lie."""
        return sum(share.used for share in self.placement.shares)

    @property
    def spare(self) -> int:
        """Bytes that are left over where layers lie, below 0: missing."""
        where = self.placement
        if not where.fits:
            return -where.short
        return sum(share.headroom for share in where.shares if share.device in (where.devices or (HOST,)))


_WEIGHED = ("cpu_moe_n", "cpu_ffn_n", "override_tensor", "tensor_preset")
"""Settings that move weights."""


class Case(NamedTuple):
    """A model, a machine and what is asked. `cap`: the largest window to choose, in tokens (0: the trained one)."""

    shape: ModelShape
    machine: Machine
    settings: Settings
    cap: int
    weights: Weights

    @classmethod
    def of(cls, shape: ModelShape, machine: Machine, settings: Settings, cap: int = 0) -> "Case":
        return cls(shape, machine, settings, cap, weigh(shape, settings))

    def told(self, settings: Settings, cap: int | None = None) -> "Case":
        """The same with other settings."""
        cap = self.cap if cap is None else cap
        same = all(getattr(settings, name) == getattr(self.settings, name) for name in _WEIGHED)
        if same:
            return self._replace(settings=settings, cap=cap)
        return Case.of(self.shape, self.machine, settings, cap)

    @property
    def slots(self) -> int:
        """Slots that are to be had in any case."""
        return self.settings.parallel or 1

    def at(
        self, window: int, slots: int, rung: tuple[str, str], *, ladder: bool = False, partly: bool = False
    ) -> Found:
        """This load with everything set."""
        keys, values = rung
        ctx = engine_ctx(self.settings, window, slots)
        draft = self.settings.draft and _following(self.settings.draft, ctx, slots)
        settings = replace(self.settings, ctx=ctx, parallel=slots, cache_type_k=keys, cache_type_v=values, draft=draft)
        one = draw_up(self.shape, settings, self.weights)
        placement = place(Load(one, self.shape, self.machine, settings, ladder, partly), partly)
        return Found(settings, window, placement)


def _following(draft: Draft, ctx: int, slots: int) -> Draft:
    """A draft sees what the model sees: its window and slots are the model's (common/speculative.cpp), if nothing else is set."""
    own = draft.settings
    return Draft(draft.shape, replace(own, ctx=own.ctx or ctx, parallel=own.parallel or slots))


def rungs(shape: ModelShape, settings: Settings, window: int) -> Iterator[tuple[str, str]]:
    """Types to try, in order. Set ones are kept, one that is set alone counts for both; what the engine refuses is left out."""
    settings = replace(settings, ctx=settings.ctx or window)
    keys, values = settings.cache_type_k, settings.cache_type_v
    for rung in ((keys or values, values or keys),) if keys or values else RUNGS:
        if refusal(shape, replace(settings, cache_type_k=rung[0], cache_type_v=rung[1])) is None:
            yield rung


def wish(shape: ModelShape, settings: Settings, cap: int) -> int:
    """The window to aim at, in tokens of one request: what is set, else the trained window within the caller's `cap` (0: none)."""
    if settings.ctx:
        divided = settings.parallel > 1 and not settings.kv_unified
        return max(settings.ctx // settings.parallel, 1) if divided else settings.ctx
    limits = [limit for limit in (shape.trained_ctx, cap) if limit > 0]
    return min(limits, default=DEFAULT)


def decide(case: Case) -> Found | None:
    """Everything that is open, decided for what is free now, as the steps at the top of this file say; None: it does not fit."""
    window = wish(case.shape, case.settings, case.cap)
    types = tuple(rungs(case.shape, case.settings, window))
    if not any(cache.layers for cache in case.shape.caches):
        types = types[:1]  # without a cache there is no precision to give up
    for rung in types:
        if (found := case.at(window, case.slots, rung, ladder=True)).whole:
            return _with_slots(case, found, rung)
    if not types:
        return None
    last = types[-1]
    if (found := case.at(window, case.slots, last)).whole:
        return found
    open_ctx = not case.settings.ctx
    if open_ctx and (smaller := _widest(case, last, FLOOR, found, partly=False)):
        return smaller
    spilled = min(window, DEFAULT) if open_ctx else window
    for rung in types:
        if (found := case.at(spilled, case.slots, rung, partly=True)).placement.fits:
            return found
    return _widest(case, last, STEP, found, partly=True) if open_ctx else None


def _with_slots(case: Case, found: Found, rung: tuple[str, str]) -> Found:
    """More slots where nobody said how many, as long as the ladder's tenth stays free."""
    if case.settings.parallel:
        return found
    for slots in chosen(case.shape.trained_ctx, found.window):
        more = case.at(found.window, slots, rung, ladder=True)
        if more.whole and not aborts(case.shape, more.settings):
            return more
    return found


def _widest(case: Case, rung: tuple[str, str], low: int, over: Found, *, partly: bool) -> Found | None:
    """The largest window below that of `over`, which does not fit."""
    tried: dict[int, Found] = {}

    def measure(window: int) -> Measure:
        found = tried[window] = case.at(window, case.slots, rung, partly=partly)
        return Measure(found.spare if partly or found.whole else min(found.spare, -1), found.need)

    window = widest(measure, low, over.window, Measure(over.spare, over.need))
    return None if window is None else tried[window]


class Measure(NamedTuple):
    """What a window comes to, in bytes: left over (below 0: missing), and needed in all."""

    spare: int
    need: int


_GUESSES = 4
"""Turns of a search that follow the straight line; then it goes by halves."""


def widest(measure: Callable[[int], Measure], low: int, high: int, over: Measure) -> int | None:
    """The largest multiple of `STEP` in [low, high) that fits; None if not even the lowest does. `over` is the measure of `high`.

    What is needed grows in a straight line, as most caches do: from each window tried, what is left over or missing says how far to
    go on. By halves at last, since layers that do not divide evenly among devices leave more over than can be used.
    """
    low, high = -(-low // STEP), -(-high // STEP)
    if low >= high or (said := measure(low * STEP)).spare < 0:
        return None
    slope = max((over.need - said.need) // (high - low), 1)
    for turn in range(99):
        if high - low <= 1:
            break
        line = low + max(said.spare // slope, 1) if said.spare >= 0 else high - max(-said.spare // slope, 1)
        middle = min(max(line, low + 1), high - 1) if turn < _GUESSES else (low + high) // 2
        said = measure(middle * STEP)
        low, high = (middle, high) if said.spare >= 0 else (low, middle)
    return low * STEP
