"""Whole numbers as engines can hold them: llama.cpp keeps them in 32 bits and lets larger ones wrap, so that 4294967301 tokens are 5.

What is larger than that means "as many as there are", which the largest that it holds means too. Decides nothing else about a number.
"""

from typing import Any, Final

from blazar.domain.wire.request import ENDLESS

SEED: Final = "seed"
FIELDS: Final = (
    *("max_tokens", "max_completion_tokens", "n_predict", "thinking_budget_tokens"),
    *("top_k", "top_logprobs", "logprobs", "n_probs", "repeat_last_n", "n_keep", "n_discard", "min_keep", "mirostat"),
)
"""Members of a child's request that it keeps so, beside `SEED`."""
_LEAST: Final = -(2**31)


def beyond(value: Any) -> bool:
    """Whether an engine would take another number for this one."""
    return isinstance(value, int | float) and not _LEAST <= value <= ENDLESS


def within_reach(body: dict[str, Any]) -> bool:
    """Change what is beyond, in place; whether anything was. A seed stays one of many: the same for the same number, and never -1, which is chance."""
    changed = False
    for field in FIELDS:
        value: Any = body.get(field)
        if beyond(value):
            body[field] = ENDLESS if value > 0 else _LEAST
            changed = True
    seed: Any = body.get(SEED)
    if beyond(seed):
        body[SEED] = int(seed) % ENDLESS
        changed = True
    return changed
