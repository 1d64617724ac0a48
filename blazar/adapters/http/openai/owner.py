"""Whose kept things a request may see: those of its key. Without keys there is one owner, who sees all."""

from typing import Any

from blazar.adapters.http.record import record_of


def owner_of(scope: Any) -> str:
    """The name of the key that the request showed; the authenticate layer wrote it down."""
    return record_of(scope).key
