"""How large a window callers have asked for (case B8). Only ever grows, never beyond what the model was trained for."""

import math


class WindowWish:
    """The largest `num_ctx` so far; `ctx` 0 means: as configured."""

    __slots__ = ("_ceiling", "ctx")

    def __init__(self) -> None:
        self.ctx = 0
        self._ceiling = math.inf

    def widen(self, num_ctx: int, trained: int, have: int) -> bool:
        """Whether a child with a window of `have` is now too small. A model that does not say what it knows grants nothing."""
        wanted = min(num_ctx, trained)
        if wanted <= max(have, self.ctx) or wanted > self._ceiling:
            return False
        self.ctx = wanted
        return True

    def on_failed_load(self) -> None:
        """The wish may be why: forget it, and do not try as much again, or one caller could keep a model from loading."""
        if self.ctx:
            self._ceiling, self.ctx = self.ctx - 1, 0
