"""Blazar: one local gateway, many engines."""

__version__ = "0.1.0"
