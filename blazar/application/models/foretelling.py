"""Whether nothing here serves what is about to come, told before its first byte. By names alone: opens nothing, and is silent in doubt."""

from collections.abc import Callable
from typing import Final

from blazar.application.models.placing import Order
from blazar.domain.diffusion_sets import may_draw
from blazar.domain.kinds import Weights
from blazar.domain.parcels import Role
from blazar.domain.records import Model
from blazar.domain.weight_names import SUFFIX

Unserved = Callable[[Model], str]
"""Why no engine serves a model, and what to do; "" where one does."""

_IN_FOLDERS: Final = (Weights.DIFFUSION, Weights.MLX_QUANT, Weights.QUANTIZED, Weights.SAFETENSORS)
_MLX: Final = "mlx"


def nobody_knows(_: Model) -> str:
    """Where no engine is looked for."""
    return ""


def foretold(order: Order, unserved: Unserved) -> str:
    """The reason of the likeliest kind, where none of those that it may be is served."""
    reasons = [unserved(_stand_in(order.name, kind)) for kind in _kinds(order)]
    return reasons[-1] if reasons and all(reasons) else ""


def _kinds(order: Order) -> tuple[Weights, ...]:
    """What it may turn out to be, the likeliest last; empty where only its files tell."""
    main = order.main
    if order.present is not None:
        return (order.present.weights,)
    if order.parts:
        return (Weights.DIFFUSION,)
    repo, weights = main.parcel.ref.repo.lower(), main.of(Role.WEIGHTS)
    if weights and weights[0].at.lower().endswith(SUFFIX):
        return () if may_draw(f"{repo} {weights[0].part.file.name}") else (Weights.GGUF,)
    if main.single:
        return (Weights.DIFFUSION,)
    likeliest = Weights.MLX_QUANT if _MLX in repo else Weights.SAFETENSORS
    return (*(kind for kind in _IN_FOLDERS if kind is not likeliest), likeliest)


def _stand_in(name: str, kind: Weights) -> Model:
    """What of a row routing looks at."""
    return Model(
        name=name,
        files=(),
        sizes=(),
        weights=kind,
        arch="",
        quant="",
        parameters=0,
        ctx_train=0,
        embedding_length=0,
        pooling=None,
        template=False,
        owned=False,
        digest="",
        imported_at=0.0,
    )
