"""Keys of what is computed where: GPUs, tensors, layers. Root-only (D26).

0, "", [] and absent leave a setting to the engine.
"""

import re
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, Strict
from pydantic_core import PydanticCustomError

from blazar.application.config.knob import LARGEST, PORT, Keys, Knob, also, refused, shaped, workers
from blazar.domain import teaching


def _unique(names: tuple[str, ...]) -> tuple[str, ...]:
    """A device that is named twice has its memory only once."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise PydanticCustomError("blazar", "{why}", {"why": teaching.config_wants("unique", name)})
        seen.add(name)
    return names


WORKERS = rf"[^,:\s]+:{PORT}(,[^,:\s]+:{PORT})*"
# Items are joined by commas on the command line, so that none may hold one.
Devices = Annotated[
    tuple[Annotated[str, Field(min_length=1), shaped(r"[^,\s]+", "device")], ...],
    AfterValidator(_unique),
    also(uniqueItems=True),
]


def _pattern(item: str) -> str:
    """An engine ends itself over a pattern that is none, at the first request for the model (E10)."""
    try:
        re.compile(item.partition("=")[0])
    except re.error as error:
        raise refused("pattern", str(error)) from None
    return item


Tensors = tuple[Annotated[str, Field(min_length=1), shaped(r"[^,=]+=[^,=]+", "tensor"), AfterValidator(_pattern)], ...]

# The engine writes one rule a layer, has room for 4096, and ends itself beyond that (llama_max_tensor_buft_overrides).
Layers = Annotated[int, Field(ge=0, le=1024)]


class PlacementKeys(Keys):
    """Which device computes what."""

    title: ClassVar[str] = "Devices"

    devices: Annotated[Devices, Strict(strict=False), Knob(per_model=True)] = ()
    """Devices to compute on, by the names that the engine gives them; unset: all."""
    main_gpu: Annotated[int, Field(ge=-1, le=LARGEST)] = -1
    """The GPU that computes what is not split; -1: the first."""
    split_mode: Literal["", "none", "layer", "row", "tensor"] = ""
    """How a model is split over several GPUs."""
    tensor_split: Annotated[str, shaped(r"[0-9]+(\.[0-9]+)?(,[0-9]+(\.[0-9]+)?)*", "ratios"), Knob(per_model=True)] = ""
    """Shares of the GPUs, such as `3,1`."""
    cpu_moe_n: Annotated[Layers, Knob(per_model=True)] = 0
    """Layers whose experts stay in main memory, counted from the first."""
    cpu_ffn_n: Annotated[Layers, Knob(per_model=True)] = 0
    """Layers whose feed-forward weights stay in main memory, counted from the first."""
    override_tensor: Annotated[Tensors, Strict(strict=False), Knob(per_model=True)] = ()
    """Buffers for tensors, each as `PATTERN=BUFFER`."""
    tensor_preset: Literal["", "moe-cpu-offload"] = ""
    """A ready-made choice of buffers: moe-cpu-offload keeps all experts in main memory."""
    rpc_servers: Annotated[
        str,
        AfterValidator(workers),
        shaped(r"[^,:\s]+:\d{1,5}(,[^,:\s]+:\d{1,5})*", "workers", WORKERS),
        Knob(per_model=True),
    ] = ""
    """RPC workers of llama.cpp whose devices are used too, each `host:port`. They ask nobody who he is: trusted networks only."""
    op_offload: bool | None = None
    """Compute on a GPU what lies in main memory, where that pays."""
