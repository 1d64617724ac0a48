"""How many tokens llama-server computes at once, held to what it survives. Pure.

Limits are llama.cpp b11434's, tried with real models: beyond them it ends itself, as it starts or in the middle of an answer.
"""

from typing import Any

from blazar.adapters.engines.llamacpp.speculation import drafts
from blazar.application.supervise.fit_settings import ENGINE_BATCH, ENGINE_UBATCH, batches_for
from blazar.domain import teaching
from blazar.domain.launch import Brief, Resolved, flags_of

WARMING = 2
"""Tokens of the empty pass after loading, which have to go in one batch (common/common.cpp)."""
LAST_TOKEN = 3
"""The pooling type of models whose embedding is their last token's (LLAMA_POOLING_TYPE_LAST)."""
PADDED = 256
"""The engine rounds its window up to this (llama-context.cpp)."""
SPELLED = {"batch_size": {"-b", "--batch-size"}, "ubatch_size": {"-ub", "--ubatch-size"}}
"""How extra words say a batch, which stays as they say it."""


def batches(brief: Brief, slots: int, ctx_size: int) -> Resolved:
    """D38. An embedding model reads its whole input at once, so that its batches are its window."""
    if brief.task.pools:
        return _embedding(brief, slots, ctx_size)
    batch, ubatch = batches_for(brief.settings, brief.ctx, embeds=False)
    # What all slots guess is checked in one batch, each with the token before it.
    least = max(WARMING, slots * (1 + drafts(brief).most))
    if (batch or ENGINE_BATCH) >= least:
        return Resolved({"batch_size": batch, "ubatch_size": ubatch})
    return Resolved({"batch_size": least, "ubatch_size": ubatch}, {"batch_size": teaching.argv_reason("least-batch")})


def _embedding(brief: Brief, slots: int, ctx_size: int) -> Resolved:
    """ODD: a micro-batch has to be so many tokens for each slot. With a remainder, mean pooling ends the engine as it starts."""
    batch, ubatch = batches_for(brief.settings, brief.ctx, embeds=True)
    keys = [key for key in ("batch_size", "ubatch_size") if not brief.settings[key]]
    reasons = dict.fromkeys(keys, teaching.argv_reason("embed-batch"))
    told: dict[str, Any] = {"batch_size": batch, "ubatch_size": ubatch}
    used = max(min(batch or ENGINE_BATCH, ubatch or ENGINE_UBATCH, -(-ctx_size // PADDED) * PADDED), WARMING)
    if used % slots:
        even = used + -used % slots
        if even > _bound(brief, told) and used > slots:
            even = batch = used - used % slots
        told = {"batch_size": max(batch, even), "ubatch_size": even}
        reasons = dict.fromkeys(told, teaching.argv_reason("even-batch"))
        if even > ctx_size:
            told["ctx_size"] = even
        return Resolved(told, reasons, notes=_short(brief, even))
    # Where embeddings are asked for, the engine takes the smaller of the two for both (tools/server/server.cpp).
    raised = {key: used for key, size in told.items() if 0 < size < used}
    least = dict.fromkeys(raised, teaching.argv_reason("least-batch"))
    return Resolved(told | raised, reasons | least, notes=_short(brief, used))


def _bound(brief: Brief, told: dict[str, int]) -> float:
    """What extra words hold a batch to: the engine takes the smaller of the two for both, so that the other one can give way."""
    said = set(flags_of(brief.settings["extra_args"]))
    return min((size for key, size in told.items() if SPELLED[key] & said), default=float("inf"))


def _short(brief: Brief, used: int) -> tuple[str, ...]:
    """Inputs that the window holds and no batch does: the engine refuses them. Where the last token counts, it reads in pieces."""
    if used >= brief.ctx or brief.model.pooling == LAST_TOKEN:
        return ()
    keys = tuple(key for key in ("batch_size", "ubatch_size") if 0 < brief.settings[key] < brief.ctx)
    return (teaching.embed_batch_short(used, brief.ctx, keys),)
