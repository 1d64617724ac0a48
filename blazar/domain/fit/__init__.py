"""How much memory a load takes, and whether it fits. Pure arithmetic on facts: reads no file and no machine."""

from blazar.domain.fit.guard import floor_bytes, may_load

__all__ = ["floor_bytes", "may_load"]
