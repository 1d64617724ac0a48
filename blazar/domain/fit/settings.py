"""What a load is asked to be: window, slots, cache types, placement. Values only; `planner` decides what is left open."""

from dataclasses import dataclass
from typing import NamedTuple

from blazar.domain.fit.shape import ModelShape, Projector


class Block(NamedTuple):
    """How a ggml type packs elements: `bytes` for every `elements` in a row."""

    elements: int
    bytes: int


CACHE_TYPES = {
    "f32": Block(1, 4),
    "f16": Block(1, 2),
    "bf16": Block(1, 2),
    "q8_0": Block(32, 34),
    "q5_1": Block(32, 24),
    "q5_0": Block(32, 22),
    "q4_1": Block(32, 20),
    "q4_0": Block(32, 18),
    "iq4_nl": Block(32, 18),
}
"""Cache types that llama.cpp b11434 takes for `--cache-type-k` and `-v` (its common/arg.cpp) with their block sizes (ggml.c)."""

NO_DEVICE = "none"
"""What `--device` takes for the processor alone; never beside another name (`parse_device_list`, common/arg.cpp)."""


@dataclass(frozen=True, slots=True)
class Settings:
    """One load as the engine is told it. What is 0, "" or None is open: `memory` takes the engine's default, `plan` decides.

    `ctx` is the engine's `--ctx-size` in tokens, which it divides by `parallel` unless the cache is unified (0: the trained
    window). `own_windows`: slots of a unified cache are to have a window each, `ctx` being theirs together, as those that `plan`
    chooses have; else they share one. `adopted`: where `parallel` is open, so many are wanted although nothing more stays free. `gpu_layers` counts as the engine's `--n-gpu-layers` does: blocks from the last one down, the output layer first.
    `cpu_moe_n`, `cpu_ffn_n`, `override_tensor` (pattern, buffer type), `tensor_preset`, `tensor_split` and `devices` are the
    configuration's keys of those names. `mmap`: weights that stay with the host are mapped from their file, which the kernel may
    drop and read again; `repack`: the CPU backend keeps some of them in an order of its own, which it cannot. `lora_bytes` are the
    adapters' files. `draft` is a second, smaller model that
    speculates for this one, with its own settings; `drafted` is how many tokens are guessed at once, whoever guesses.
    """

    ctx: int = 0
    parallel: int = 0
    cache_type_k: str = ""
    cache_type_v: str = ""
    batch: int = 2048
    ubatch: int = 512
    swa_full: bool = False
    kv_unified: bool = False
    own_windows: bool = False
    adopted: int = 0
    flash_attention: bool = True
    kv_offload: bool = True
    mmap: bool = True
    repack: bool = True
    gpu_layers: int | None = None
    cpu_moe_n: int = 0
    cpu_ffn_n: int = 0
    override_tensor: tuple[tuple[str, str], ...] = ()
    tensor_preset: str = ""
    tensor_split: tuple[float, ...] = ()
    devices: tuple[str, ...] = ()
    lora_bytes: tuple[int, ...] = ()
    projector: Projector | None = None
    projector_offload: bool = True
    projector_device: str = ""
    draft: "Draft | None" = None
    drafted: int = 0


@dataclass(frozen=True, slots=True)
class Draft:
    """The model that speculates, and how it is loaded."""

    shape: ModelShape
    settings: Settings
