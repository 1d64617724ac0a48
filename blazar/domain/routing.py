"""Which engine serves which weights, and why not the others. Policy is the table; nothing here starts or probes anything."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from blazar.domain import teaching
from blazar.domain.errors import EngineNotFound, Unserved
from blazar.domain.kinds import EngineKind, Weights
from blazar.domain.records import Engine


class Lane(NamedTuple):
    """Kinds in order of preference, and the reason for both the order and the gaps."""

    kinds: tuple[EngineKind, ...]
    why: str


# ODD: the first two rows look alike on disk; MLX is asked first, because nothing else decodes it.
LANES: dict[Weights, Lane] = {
    Weights.MLX_QUANT: Lane((EngineKind.MLX,), "only mlx-lm decodes MLX quantisation"),
    Weights.QUANTIZED: Lane((EngineKind.SGLANG,), "every other engine was seen to answer garbage on AWQ, GPTQ and FP8"),
    Weights.GGUF: Lane((EngineKind.LLAMACPP, EngineKind.MISTRALRS), "llama.cpp is the home of the format"),
    Weights.SAFETENSORS: Lane((EngineKind.SGLANG, EngineKind.MISTRALRS), "SGLang batches better where it runs"),
    Weights.DIFFUSION: Lane(
        (EngineKind.SDCPP,), "diffusion components are no text model, and text is none of its business"
    ),
}


class Rejected(NamedTuple):
    """A lane (a kind or a build's tag) that was not taken, with the sentence that says why."""

    lane: str
    reason: str


class Route(NamedTuple):
    """The build that serves, why, and every other lane with its reason."""

    engine: Engine
    why: str
    rejected: tuple[Rejected, ...]


def lane_for(weights: Weights, engines: Sequence[Engine], driven: Collection[EngineKind], pin: str = "") -> Route:
    """The active build of the first kind that can serve; `pin` is an exact tag, else a kind.

    Raises `Unserved` when nothing can, `EngineNotFound` for a pin that names neither.
    """
    lane = LANES[weights]
    tags = [engine.tag for engine in engines]
    pinned = next((engine for engine in engines if pin and engine.tag == pin), None)
    if pin and pinned is None and pin not in set(EngineKind):
        raise EngineNotFound(pin, tags)
    wanted = (pinned.kind,) if pinned else (EngineKind(pin),) if pin else lane.kinds
    usable = [kind for kind in lane.kinds if kind in wanted and kind in driven]
    chosen = pinned if pinned and pinned.kind in usable else _first_active(usable, engines, pinned)
    if chosen is None:
        raise Unserved(_nothing(weights, wanted if pin else lane.kinds, tags))
    why = teaching.lane_pinned_away(pin) if pin else lane.why
    return Route(chosen, why, rejections(weights, engines, driven, pin, chosen))


def _first_active(kinds: Sequence[EngineKind], engines: Sequence[Engine], pinned: Engine | None) -> Engine | None:
    if pinned is not None:  # the pin names a build that cannot serve this: no other one is meant
        return None
    return next((engine for kind in kinds for engine in engines if engine.kind is kind and engine.active), None)


def _nothing(weights: Weights, wanted: Sequence[EngineKind], tags: Sequence[str]) -> str:
    kinds = LANES[weights].kinds
    if kinds[0] is EngineKind.LLAMACPP and EngineKind.LLAMACPP in wanted:
        return teaching.no_engine(EngineKind.LLAMACPP, tags)
    return teaching.no_lane(weights, kinds, tags)


def rejections(
    weights: Weights,
    engines: Sequence[Engine],
    driven: Collection[EngineKind],
    pin: str = "",
    chosen: Engine | None = None,
) -> tuple[Rejected, ...]:
    """Every lane but `chosen` with the first reason that holds; all of them when nothing can serve."""
    lane = LANES[weights]
    found: list[Rejected] = []
    for kind in EngineKind:
        if chosen is not None and kind is chosen.kind:
            continue
        active = any(engine.kind is kind and engine.active for engine in engines)
        reasons = (
            (kind not in lane.kinds, teaching.lane_cannot(kind, weights, lane.why)),
            (kind not in driven, teaching.lane_no_driver(kind)),
            (not active, teaching.lane_no_build(kind)),
            (bool(pin), teaching.lane_pinned_away(pin)),
            (True, teaching.lane_not_preferred(kind, chosen.kind if chosen else "", lane.why)),
        )
        found.append(Rejected(kind, next(reason for holds, reason in reasons if holds)))
    if chosen is not None:
        found += [
            Rejected(
                engine.tag, teaching.lane_pinned_away(pin) if pin else teaching.lane_not_active(engine.tag, chosen.tag)
            )
            for engine in engines
            if engine.kind is chosen.kind and engine.tag != chosen.tag
        ]
    return tuple(found)
