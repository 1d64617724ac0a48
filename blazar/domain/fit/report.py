"""What a load allocates, counted: the answer of `memory`."""

from dataclasses import dataclass
from typing import NamedTuple


class LayerBytes(NamedTuple):
    """One block's part of one cache, over all sequences."""

    block: int
    k_bytes: int
    v_bytes: int

    @property
    def bytes(self) -> int:
        return self.k_bytes + self.v_bytes


@dataclass(frozen=True, slots=True)
class Cache:
    """One cache as the engine's log reports it: cells a stream, streams, layers."""

    name: str
    cells: int
    streams: int
    layers: tuple[LayerBytes, ...]

    @property
    def k_bytes(self) -> int:
        return sum(layer.k_bytes for layer in self.layers)

    @property
    def v_bytes(self) -> int:
        return sum(layer.v_bytes for layer in self.layers)

    @property
    def bytes(self) -> int:
        return self.k_bytes + self.v_bytes


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes of one load on no particular machine: the whole model on one device.

    `refused` is the sentence for what the engine would refuse (None: it would not); the byte counts are then 0.
    `upper_bound` says that the architecture is unknown and the figures are meant to be too high.
    """

    weights_bytes: int
    kv_bytes: int
    recurrent_bytes: int
    compute_bytes: int
    projector_bytes: int
    draft_bytes: int
    lora_bytes: int
    caches: tuple[Cache, ...]
    recurrent: tuple[LayerBytes, ...]
    refused: str | None = None
    upper_bound: bool = False

    @property
    def total_bytes(self) -> int:
        return (
            self.weights_bytes
            + self.kv_bytes
            + self.recurrent_bytes
            + self.compute_bytes
            + self.projector_bytes
            + self.draft_bytes
            + self.lora_bytes
        )
