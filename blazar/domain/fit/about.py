"""Whether weights of a size would fit, about: from bytes alone, before anything of them was read. `plan` knows better once it was.

For lists of what is elsewhere: what is said here is always said with "about".
"""

from typing import Final

from blazar.domain.fit.machine import Machine

FITS: Final = "fits"
PARTLY: Final = "fits partly on GPU"
HOST: Final = "fits, not on GPU"
TOO_LARGE: Final = "too large"
"""As `blazar fit` says them. What may be loaded when others leave, or from disk again and again, takes a plan to tell."""

BESIDE: Final = 1.2
"""Memory for each byte of weights. What comes on top when a model only answers is up to a fifth (EleutherAI, "Transformer Math 101",
part Inference, measured); windows of tens of thousands of tokens take more, and `fit` shortens them first."""
_WORTH_IT: Final = 0.1
"""Cards that hold less than this part of it are not worth a word."""


def about(size: int, machine: Machine) -> str:
    """One of the words above; "" where a size that it takes to tell is not known."""
    if size <= 0:
        return ""
    need = int(size * BESIDE)
    own = sum(device.free for device in machine.pool if not device.shared)
    shared = max((device.free for device in machine.pool if device.shared), default=0)  # of one memory, the host's
    if need <= own + shared:
        return FITS
    if not machine.ram_available:
        return ""
    if need > own + max(shared, machine.ram_available):
        return TOO_LARGE
    if not machine.pool:
        return FITS
    return PARTLY if own + shared >= _WORTH_IT * need else HOST
