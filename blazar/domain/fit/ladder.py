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

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple

from blazar.domain.fit.bill import Bill, draw_up, standing
from blazar.domain.fit.caches import aborts, refusal
from blazar.domain.fit.compute_geometry import Same
from blazar.domain.fit.machine import Machine
from blazar.domain.fit.placement import fitting, hopeless, place
from blazar.domain.fit.settings import Draft, Settings
from blazar.domain.fit.shape import ModelShape
from blazar.domain.fit.shares import Computed, Load, Placement
from blazar.domain.fit.slots import MOST, chosen, engine_ctx, shared
from blazar.domain.fit.windows import STEP, foreseen, widest

RUNGS = (("f16", "f16"), ("q8_0", "q8_0"), ("q8_0", "q4_0"), ("q4_0", "q4_0"))
"""Types of keys and values, best first (setup document, `cache_type`)."""

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


@dataclass
class Once:
    """What was worked out before, and is the same on every machine that is tried: bills by window, slots and types; the types to try."""

    drawn: dict[tuple[int, int, tuple[str, str]], tuple[Settings, Bill, Computed]] = field(default_factory=dict)
    types: tuple[tuple[str, str], ...] | None = None


@dataclass(frozen=True)
class Case:
    """A model, a machine and what is asked. `cap`: the largest window to choose, in tokens (0: the trained one)."""

    shape: ModelShape
    machine: Machine
    settings: Settings
    cap: int = 0
    once: Once = field(default_factory=Once, repr=False, compare=False)

    def on(self, machine: Machine) -> "Case":
        """The same on another machine."""
        return replace(self, machine=machine)

    def told(self, settings: Settings, cap: int | None = None) -> "Case":
        """The same with other settings."""
        return Case(self.shape, self.machine, settings, self.cap if cap is None else cap)

    @property
    def weights(self) -> int:
        """Bytes of all weights."""
        return standing(self.shape, self.settings).total

    @property
    def types(self) -> tuple[tuple[str, str], ...]:
        """Types of keys and values to try, in order."""
        if self.once.types is None:
            found = tuple(rungs(self.shape, self.settings, wish(self.shape, self.settings, self.cap)))
            # Without a cache there is no precision to give up.
            self.once.types = found if any(cache.layers for cache in self.shape.caches) else found[:1]
        return self.once.types

    @property
    def slots(self) -> int:
        """Slots that are to be had in any case."""
        return self.settings.parallel or 1

    def load(
        self, window: int, slots: int, rung: tuple[str, str], *, ladder: bool = False, partly: bool = False
    ) -> Load:
        """This load with everything set."""
        key, drawn = (window, slots, rung), self.once.drawn
        if key not in drawn:
            keys, values = rung
            ctx = engine_ctx(self.settings, window, slots)
            draft = self.settings.draft and following(self.settings.draft, ctx, slots)
            told = replace(self.settings, ctx=ctx, parallel=slots, cache_type_k=keys, cache_type_v=values, draft=draft)
            drawn[key] = told, draw_up(self.shape, told), {}
        settings, bill, computed = drawn[key]
        return Load(bill, self.shape, self.machine, settings, ladder, partly, computed)

    def at(self, window: int, slots: int, rung: tuple[str, str], *, partly: bool = False) -> Found:
        """The same with its places, also where it does not fit."""
        load = self.load(window, slots, rung, partly=partly)
        return Found(load.settings, window, place(load, partly))

    def fitting(
        self, window: int, slots: int, rung: tuple[str, str], *, ladder: bool = False, partly: bool = False
    ) -> Found | None:
        """The same, or None where it does not fit; without `partly` also where not all of it lies where it should."""
        load = self.load(window, slots, rung, ladder=ladder, partly=partly)
        placement = fitting(load, partly)
        found = placement and Found(load.settings, window, placement)
        return found if found and (partly or found.whole) else None


def following(draft: Draft, ctx: int, slots: int) -> Draft:
    """A draft sees what the model sees: its window and slots are the model's (common/speculative.cpp), if nothing else is set."""
    own = draft.settings
    return Draft(draft.shape, replace(own, ctx=own.ctx or ctx, parallel=own.parallel or slots))


def rungs(shape: ModelShape, settings: Settings, window: int) -> Iterator[tuple[str, str]]:
    """Types to try, in order. Set ones are kept, one that is set alone counts for both; what the engine refuses is left out."""
    settings, shape = replace(settings, ctx=settings.ctx or window), thinned(Same(shape))
    keys, values = settings.cache_type_k, settings.cache_type_v
    for rung in ((keys or values, values or keys),) if keys or values else RUNGS:
        if refusal(shape, replace(settings, cache_type_k=rung[0], cache_type_v=rung[1])) is None:
            yield rung


@lru_cache(maxsize=64)
def thinned(key: Same) -> ModelShape:
    """A shape with one of each width: all that the engine's refusals depend on."""
    shape = key.shape
    trunk = shape.blocks[: len(shape.blocks) - shape.nextn]
    return replace(
        shape,
        blocks=tuple({(block.k_head, block.v_head): block for block in trunk}.values()),
        nextn=0,
        caches=tuple(
            replace(cache, layers=tuple({(layer.k, layer.v): layer for layer in cache.layers}.values()))
            for cache in shape.caches
        ),
    )


def wish(shape: ModelShape, settings: Settings, cap: int) -> int:
    """The window to aim at, in tokens of one request: what is set, else the trained window within the caller's `cap` (0: none)."""
    if settings.ctx:
        divided = settings.parallel > 1 and not shared(settings)
        return max(settings.ctx // settings.parallel, 1) if divided else settings.ctx
    limits = [limit for limit in (shape.trained_ctx, cap) if limit > 0]
    return min(limits, default=DEFAULT)


def decide(case: Case, *, whole: bool = False) -> Found | None:
    """Everything that is open, decided for what is free now, as the steps at the top of this file say; None: it does not fit.

    `whole`: only the first three steps, that keep all layers where they should be.
    """
    window = wish(case.shape, case.settings, case.cap)
    if not case.types:
        return None
    if whole and not case.fitting(_least(case, window), case.slots, case.types[-1]):
        return None  # many such questions are asked, and most have this answer
    if found := _whole(case, window):
        return found
    return None if whole else _spilled(case, window)


def _least(case: Case, window: int) -> int:
    """The smallest window for which all layers are kept where they should be."""
    return window if case.settings.ctx else min(window, FLOOR)


def _whole(case: Case, window: int) -> Found | None:
    open_ctx, last = not case.settings.ctx, case.types[-1]
    if hopeless(case.load(_least(case, window), case.slots, last), False):
        return None  # not even the least of what follows would fit
    for rung in case.types:
        if found := case.fitting(window, case.slots, rung, ladder=True):
            return _with_slots(case, found, rung)
    if found := case.fitting(window, case.slots, last):
        return found
    return _widest(case, last, FLOOR, window, partly=False) if open_ctx else None


def _spilled(case: Case, window: int) -> Found | None:
    open_ctx = not case.settings.ctx
    window = min(window, DEFAULT) if open_ctx else window
    for rung in case.types:
        if found := case.fitting(window, case.slots, rung, partly=True):
            return found
    return _widest(case, case.types[-1], STEP, window, partly=True) if open_ctx else None


def _with_slots(case: Case, found: Found, rung: tuple[str, str]) -> Found:
    """More slots where nobody said how many, as long as the ladder's tenth stays free; those that were adopted if they fit at all."""
    if case.settings.parallel:
        return found
    adopted = min(case.settings.adopted, MOST)
    for slots in sorted({*chosen(case.shape.trained_ctx, found.window), *range(2, adopted + 1)}, reverse=True):
        more = case.fitting(found.window, slots, rung, ladder=slots > adopted)
        if more and not aborts(case.shape, more.settings):
            return more
    return found


def _widest(case: Case, rung: tuple[str, str], low: int, high: int, *, partly: bool) -> Found | None:
    """The largest window below `high`, which does not fit."""
    tried: dict[int, Found | None] = {}

    def fits(window: int) -> bool:
        tried[window] = case.fitting(window, case.slots, rung, partly=partly)
        return tried[window] is not None

    if low >= high:
        return None
    small, large = (case.load(window, case.slots, rung, partly=partly) for window in (low, high))
    window = widest(fits, low, high, low + foreseen(small, large, high - low, partly))
    return None if window is None else tried[window]
