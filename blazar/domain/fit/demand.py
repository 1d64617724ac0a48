"""The sum: what one load takes on no particular machine. Adds up; the figures are made elsewhere."""

from blazar.domain.fit.caches import caches, recurrent, refusal
from blazar.domain.fit.compute import compute_bytes
from blazar.domain.fit.flaws import check
from blazar.domain.fit.report import Memory
from blazar.domain.fit.settings import Settings
from blazar.domain.fit.shape import ModelShape
from blazar.domain.fit.weights import lora_bytes, weigh


def memory(shape: ModelShape, settings: Settings) -> Memory:
    """Bytes of one load with the whole model on one device; what `settings` leaves open is the engine's default.

    The draft model counts with all that it takes. A load that the engine would refuse, or whose draft it would, has the
    sentence in `refused` and 0 everywhere.

    Raises `Malformed` for a setting that no load can have, such as a negative count.
    """
    check(settings)
    return _sum(shape, settings)


def _sum(shape: ModelShape, settings: Settings) -> Memory:
    draft = _sum(settings.draft.shape, settings.draft.settings) if settings.draft else None
    sentence = refusal(shape, settings) or (draft.refused if draft else None)
    unknown = not shape.known or (draft is not None and draft.upper_bound)
    if sentence:
        return Memory(0, 0, 0, 0, 0, 0, 0, (), (), sentence, unknown)
    kv = caches(shape, settings)
    state = recurrent(shape, settings)
    projector = settings.projector
    return Memory(
        weights_bytes=_weights(shape),
        kv_bytes=sum(cache.bytes for cache in kv),
        recurrent_bytes=sum(layer.bytes for layer in state),
        compute_bytes=compute_bytes(shape, settings),
        projector_bytes=projector.weights_bytes + projector.compute_bytes if projector else 0,
        draft_bytes=draft.total_bytes if draft else 0,
        lora_bytes=lora_bytes(settings),
        caches=kv,
        recurrent=state,
        upper_bound=unknown or (projector is not None and projector.upper_bound),
    )


def _weights(shape: ModelShape) -> int:
    """What is loaded of the file. Where it lies does not change the sum, and only predicting blocks are ever left out."""
    return weigh(shape, Settings()).total if shape.nextn else sum(row.bytes for row in shape.tensors)
