"""Whether a load fits, where each byte of it goes, and what to turn if it does not. The answer of `plan`."""

from dataclasses import dataclass
from enum import StrEnum

from blazar.domain.fit.report import Memory
from blazar.domain.fit.settings import Settings


class Outcome(StrEnum):
    """How a plan ends."""

    FITS = "fits"
    PAGES = "fits-from-disk"  # it can be loaded, but main memory cannot hold all that lies there: weights are read again and again
    AFTER_EVICTION = "fits-after-eviction"
    NEVER = "never"
    REFUSED = "refused"  # the engine itself would not take these settings


@dataclass(frozen=True, slots=True)
class Share:
    """One device's part of a load; bytes. The host's share is named `host`. `margin` is kept free on purpose.

    `floor` is the least that a card with these weights is charged (`budget.admission_floor`); the host has none.
    `mapped` is the part of the weights that need not be there: the kernel may drop and reread it, as `spawn_mem_guard` counts;
    0 where everything has to be there.
    """

    device: str
    total: int
    free: int
    weights: int = 0
    kv: int = 0
    recurrent: int = 0
    compute: int = 0
    projector: int = 0
    draft: int = 0
    lora: int = 0
    margin: int = 0
    mapped: int = 0
    floor: int = 0

    @property
    def used(self) -> int:
        """What the load takes there, margin apart."""
        return self.weights + self.kv + self.recurrent + self.compute + self.projector + self.draft + self.lora

    @property
    def headroom(self) -> int:
        """What stays free beyond the margin; negative: so much is missing."""
        return self.free - self.used + self.mapped - self.margin

    @property
    def charge(self) -> int:
        """What has to be free for it: what it takes with its margin, or the floor."""
        return max(self.used + self.margin - self.mapped, self.floor)

    @property
    def lacking(self) -> int:
        """How much of that is not free."""
        return max(self.charge - self.free, 0)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A plan with its reasons.

    `memory` counts the model once, as one device would hold it. `exact_bytes`, the sum of what `shares` use, is more where a
    tied embedding is held twice (the host looks tokens up in it, a device or a repacked copy computes with it), and where
    several devices, or one and the host, have compute buffers each.

    `settings` has every open value decided. `exact_bytes` is the counted sum, `floor_bytes` the specification's floor: of each
    used card's weights, added up (no card is used: of all weights, to be told; it judges nothing there). `admission_bytes` is
    what admission charges: what the host holds, and for each used card the larger of what it holds with its margin and its
    floor. `ctx` is one request's window. `pins` are the devices the child is held to, in their order (empty: the engine chooses). `evict` names idle models that
    would have to leave. `levers` are settings that would help, most helpful first, each a sentence.
    """

    outcome: Outcome
    sentence: str
    memory: Memory
    settings: Settings
    shares: tuple[Share, ...]
    exact_bytes: int
    floor_bytes: int
    admission_bytes: int
    ctx: int
    gpu_layers: int
    pins: tuple[str, ...] = ()
    evict: tuple[str, ...] = ()
    levers: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def fits(self) -> bool:
        """Whether it may be loaded now."""
        return self.outcome in (Outcome.FITS, Outcome.PAGES)

    @property
    def placed(self) -> bool:
        """Whether places were found, now or once others have left: `settings` can then be told to the engine."""
        return self.fits or self.outcome is Outcome.AFTER_EVICTION
