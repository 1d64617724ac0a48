"""How many requests a child works on at once, where nobody said. Counts no bytes: the caller says what fits."""

from collections.abc import Iterator

from blazar.domain.fit.settings import Settings

MOST = 4
"""Slots that are ever chosen: the cap of `adaptive_slots` (setup document; D18)."""


def chosen(trained: int, window: int) -> Iterator[int]:
    """Slots to try, most first, down to 2; one is always had.

    Together their windows stay within the trained context (0: unknown), as the setup document's clamp for `slots` has it.
    """
    most = min(MOST, trained // window) if trained > 0 and window > 0 else MOST
    yield from range(most, 1, -1)


def engine_ctx(settings: Settings, window: int, slots: int) -> int:
    """What `--ctx-size` must be for every request to have `window` tokens (D30).

    Configured slots that share one cache (`kv_unified`) share one window; slots chosen here bring theirs along.
    """
    if settings.ctx and settings.parallel:
        return settings.ctx
    return window if settings.parallel > 0 and shared(settings) else window * slots


def shared(settings: Settings) -> bool:
    """Whether configured slots draw on one window."""
    return settings.kv_unified and not settings.own_windows
