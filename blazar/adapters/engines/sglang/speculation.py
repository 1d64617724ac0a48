"""How SGLang guesses tokens ahead: by n-grams where `[sglang]` asks for it, with a draft pair where `spec` does; else not at all.

None changes an answer unless a threshold is lowered. Measured against the document's receipts: n-grams lose to plain decoding
at every load there, so that `auto` never turns them on.
"""

from typing import Any, NamedTuple

from blazar.domain import teaching
from blazar.domain.argv import Decision
from blazar.domain.errors import Malformed
from blazar.domain.fit.budget import MIB
from blazar.domain.launch import Brief, Resolved

NAME = "SGLang"
ALGORITHM, STEPS, TOKENS = "sglang.spec_algorithm", "sglang.spec_num_steps", "sglang.spec_num_draft_tokens"
TOPK = "sglang.speculative_eagle_topk"
THRESHOLDS = ("sglang.speculative_accept_threshold_single", "sglang.speculative_accept_threshold_acc")
GUESSED = 12
"""Tokens that n-grams guess at once unless told otherwise (0.5.21, speculative_hook.py)."""
GRAPHS = 512 * MIB
"""Kept free for the graphs of the verifying pass; ours, the engine names no figure."""


class Needs(NamedTuple):
    """Bytes that speculation takes on every card: beside weights and cache, and of the draft model, where somebody counted it."""

    beside: int = 0
    draft: int = 0
    counted: bool = True


def algorithm(brief: Brief) -> str:
    """`ngram`, `eagle3` or "". `spec` off parks both; a draft pair that is asked for wins over n-grams.

    Raises `Malformed` where a pair is asked for and its draft is not here.
    """
    spec: str = brief.settings["spec"]
    if spec == "off" or brief.task.pools:
        return ""
    if spec == "eagle3":
        if not brief.beside.draft or brief.beside.draft_family != spec:
            raise Malformed(teaching.spec_needs_draft(spec), "spec")
        return spec
    return str(brief.settings[ALGORITHM])


def needs(brief: Brief, token: int, requests: int) -> Needs:
    """What the memory ladder must keep free; `token` are the bytes that one token keeps in the cache."""
    chosen = algorithm(brief)
    if not chosen:
        return Needs()
    shares = brief.verdict.shares if brief.verdict is not None else ()
    draft = sum(share.draft for share in shares) if chosen == "eagle3" else 0
    beside = GRAPHS + token * requests * (brief.settings[TOKENS] or GUESSED)
    return Needs(beside, draft, chosen != "eagle3" or draft > 0)


def speculation(brief: Brief) -> Resolved:
    """The choice as settings of the flag table; what belongs to another choice falls silent, and says so."""
    chosen, settings = algorithm(brief), brief.settings
    told: dict[str, Any] = {"spec": chosen, "draft": brief.beside.draft if chosen == "eagle3" else ""}
    reasons = {"spec": _because(brief, chosen)}
    silent = _silent(brief, chosen)
    told |= dict.fromkeys(silent)
    notes = [teaching.setting_needs(key, other) for key, other in silent.items() if settings[key] is not None]
    if not chosen and settings["spec"] not in ("off", "auto") and not brief.task.pools:
        notes.append(teaching.setting_no_word(f"spec = {settings['spec']}", NAME))
    left = () if chosen else (Decision((), "spec", reasons["spec"]),)
    return Resolved(told, reasons, notes=tuple(notes), choices=left)


def _because(brief: Brief, chosen: str) -> str:
    if not chosen:
        off = "embed" if brief.task.pools else "off" if brief.settings["spec"] == "off" else ""
        return teaching.spec_reason(off) if off else teaching.spec_opt_in(NAME)
    key = "spec" if chosen == "eagle3" else ALGORITHM
    return teaching.flag_because(key, brief.origins.get(key, ""))


def _silent(brief: Brief, chosen: str) -> dict[str, str]:
    """Settings that mean nothing with this choice, and what they would need.

    ODD: the depths of a draft are said together or not at all. The engine asserts that it gets all three or none.
    """
    if not chosen:
        return dict.fromkeys((STEPS, TOKENS, TOPK, *THRESHOLDS), ALGORITHM)
    if chosen == "ngram":
        return {TOPK: "spec = eagle3"}
    depths = (STEPS, TOPK, TOKENS)
    missing = [key for key in depths if brief.settings[key] is None]
    return dict.fromkeys(depths, " and ".join(missing)) if missing else {}
