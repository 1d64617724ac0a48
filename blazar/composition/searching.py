"""`search` on this machine: the hub that the environment names, and what is free here now. Imports an HTTP client when it is asked."""

from typing import TYPE_CHECKING

from blazar.application.models.search_models import SearchModels
from blazar.application.ops.preview_fit import Wanted
from blazar.composition.preview import machine_here
from blazar.composition.registries import open_registry
from blazar.domain.references import HF, RemoteRef

if TYPE_CHECKING:
    from blazar.composition.local import Local


def search_here(local: "Local") -> SearchModels:
    """Nothing is asked yet."""
    return SearchModels(
        lambda: open_registry(local.env, RemoteRef(HF, "")),
        lambda: machine_here(local, (), Wanted()),
    )
