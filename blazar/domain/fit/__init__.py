"""Capacity planning from plain numbers. Standard library only, importable anywhere."""

from blazar.domain.fit.guard import floor_bytes, may_load

__all__ = ["floor_bytes", "may_load"]
