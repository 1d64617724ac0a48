"""How much memory a load takes, and whether it fits. Pure arithmetic on facts: reads no file and no machine.

The library in five names: `shape_from_gguf` and `shape_from_safetensors` read what a model says of itself, `Settings` says
how it shall be loaded, `memory` counts what that takes anywhere, `plan` decides how it is done on one `Machine`.
"""

from blazar.domain.errors import BadShape
from blazar.domain.fit.demand import memory
from blazar.domain.fit.gguf import shape_from_gguf
from blazar.domain.fit.guard import guard_bytes, may_load
from blazar.domain.fit.machine import Device, Machine, Running, imagined
from blazar.domain.fit.planner import plan
from blazar.domain.fit.projector import shape_from_projector
from blazar.domain.fit.report import Cache, LayerBytes, Memory
from blazar.domain.fit.safetensors import shape_from_safetensors
from blazar.domain.fit.settings import CACHE_TYPES, Draft, Settings
from blazar.domain.fit.shape import ModelShape, Projector, Tensor
from blazar.domain.fit.verdict import Outcome, Share, Verdict

__all__ = [
    "CACHE_TYPES",
    "BadShape",
    "Cache",
    "Device",
    "Draft",
    "LayerBytes",
    "Machine",
    "Memory",
    "ModelShape",
    "Outcome",
    "Projector",
    "Running",
    "Settings",
    "Share",
    "Tensor",
    "Verdict",
    "guard_bytes",
    "imagined",
    "may_load",
    "memory",
    "plan",
    "shape_from_gguf",
    "shape_from_projector",
    "shape_from_safetensors",
]
