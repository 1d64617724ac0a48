"""What a pull brings, told apart by what each file is to the model; what a registry says beside the weights; and which version it all is.

Pure: downloads nothing, names no registry.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from hashlib import sha256
from typing import Any, NamedTuple


class Role(StrEnum):
    """What a file is to the model that it comes with."""

    WEIGHTS = "weights"
    """GGUF weights, or shards of them, in order; or a checkpoint that is one file."""
    FOLDER = "folder"
    """A file of a folder that an engine is given whole: safetensors, tokenizer, configuration."""
    PROJECTOR = "projector"
    ADAPTER = "adapter"
    """A LoRA: it serves nothing by itself."""


class Words(NamedTuple):
    """Template, system prompt, parameters and messages as ollama's registry has them, and the licence. Empty fields say nothing."""

    template: str = ""
    system: str = ""
    parameters: Mapping[str, Any] = {}
    messages: tuple[Mapping[str, str], ...] = ()
    licence: str = ""


class Origin(NamedTuple):
    """Where a model was pulled from. `reference` pulls it again, unless it was an address with a query, of which only a hash is kept; `artefact` tells whether it would be another (case H11).

    `marks` tell what is in each of its files, in the row's order, then in its draft and in its projector ("": unknown, or none):
    what the next pull needs and is there already is not fetched again. `sha256:…` is what the bytes were compared with when they came.
    `address` is that of the first of its files in the hub that was asked: by it the file is known, and an address of that hub ("": no hub's).
    `draft` is what its draft was pulled by, and is looked at again by.
    """

    reference: str
    artefact: str
    licence: str = ""
    pulled_at: float = 0.0
    marks: tuple[str, ...] = ()
    address: str = ""
    draft: str = ""


def artefact_of(marks: Iterable[tuple[str, str]]) -> str:
    """One hex SHA-256 of (name, mark) of all files, whatever their order: nothing that is not pulled changes it."""
    digest = sha256()
    for name, mark in sorted(marks):
        digest.update(f"{name}\0{mark}\0".encode())
    return digest.hexdigest()
