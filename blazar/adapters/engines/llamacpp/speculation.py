"""How llama-server guesses tokens ahead: which type, what it needs, how many at once. Pure; the words are the flag table's.

What the types need is llama.cpp b11434's (common/speculative.cpp): draft types load a second model, draft-mtp computes with
blocks of the model's own file, the n-gram types read only what was said before. None changes an answer: the model checks each
guess, and a wrong one costs time alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from blazar.adapters.engines.reasons import chosen
from blazar.domain import teaching
from blazar.domain.argv import Decision
from blazar.domain.errors import Malformed
from blazar.domain.launch import Brief, Drafts, Resolved, flags_of
from blazar.domain.manifest import Option

FLAG = "--spec-type"
AUTO = "ngram-cache"
"""What `auto` and plain `ngram` mean. Measured on a 135M model and one thread, where a wrong guess costs most: on fresh text it
guesses 8 tokens at most and stayed within noise of none at all; those types that guess 48 or 64 at once fell to a third of the
speed where a pattern broke off. It takes no memory but 8 rows of logits a slot, and is the type that a lookup cache belongs to."""
TYPES = {
    "mtp": "draft-mtp",
    "mtp-adaptive": "draft-mtp-adaptive",
    "eagle3": "draft-eagle3",
    "dflash": "draft-dflash",
    "dspark": "draft-dspark",
    "simple": "draft-simple",
    "ngram": AUTO,
}
"""The engine's name of a family, where it is not ours."""
GUESSED = {"ngram-simple": 48, "ngram-map-k": 48, "ngram-map-k4v": 48, "ngram-mod": 64, "ngram-cache": 8}
DRAFTED = 3
"""Tokens at once unless they are told otherwise (common/common.h; of ngram-cache a constant, of draft types `--spec-draft-n-max`)."""
ADAPTIVE_MOST = 8
SIZED = ("ngram-simple", "ngram-map-k", "ngram-map-k4v")
"""Types that `ngram_size_n`, `ngram_size_m` and `ngram_min_hits` are for; each has its own spelling of the flags."""
_BY_ITSELF = ("--spec-draft-model", "-md", "--model-draft", "--spec-default")
"""Flags that make the engine guess where nothing is said of the type."""
_THEIRS = ("--spec-", "--no-spec-", "--draft", "--model-draft", "-md", "--lookup-cache", "-lcs", "-lcd")

SIZES = ("ngram_size_n", "ngram_size_m", "ngram_min_hits")
MOD = ("ngram_mod_n_match", "ngram_mod_n_min", "ngram_mod_n_max")
LOOKUPS = ("lookup_cache_static", "lookup_cache_dynamic")
DRAFT = (
    *("spec_draft_ngl", "spec_draft_device", "spec_draft_type_k", "spec_draft_type_v", "spec_draft_override_tensor"),
    *("spec_draft_cpu_moe", "spec_draft_n_cpu_moe", "spec_draft_threads", "spec_draft_threads_batch"),
    *("spec_draft_cpu_range", "spec_draft_cpu_strict", "spec_draft_cpu_strict_batch", "spec_draft_prio"),
    *("spec_draft_prio_batch", "spec_draft_poll", "spec_draft_poll_batch", "spec_draft_backend_sampling"),
    *("spec_draft_p_min", "spec_draft_p_split"),
)


class Choice(NamedTuple):
    """`type` as the engine calls it, "" for none; `most`: tokens guessed at once; `note`: what has to be said aloud."""

    type: str
    reason: str
    most: int = 0
    note: str = ""
    draft: str = ""  # the second model's file


def choose(brief: Brief) -> Choice:
    """Raises `Malformed` where somebody asked for what this model, this build or a missing draft does not allow."""
    spec: str = brief.settings["spec"]
    if any(flag.startswith(_THEIRS) for flag in flags_of(brief.settings["extra_args"])):
        return Choice("", teaching.spec_reason("extra"))
    if brief.task.pools:
        # Also where it is asked for: a key for all models is no mistake of the one that has nothing to guess.
        return Choice("", teaching.spec_reason("embed"))
    if spec == "off":
        return Choice("", teaching.spec_reason("off"))
    return _auto(brief) if spec == "auto" else _asked(brief, spec)


def drafts(brief: Brief) -> Drafts:
    """What memory is planned with: tokens that are checked at once beside the next one are so many more rows of logits a slot."""
    chosen = choose(brief)
    return Drafts(chosen.most, chosen.draft, heads=not chosen.draft and chosen.type.startswith(TYPES["mtp"]))


def guesses(words: Sequence[str]) -> bool:
    """Whether a child with this command line guesses. What it accepts of its guesses has no log probabilities (server-context.cpp).

    Without a word of the type, a draft model that the words name decides it by what its file says.
    """
    kinds = [value for word, value in pairwise(words) if word == FLAG]
    if kinds:
        return kinds[-1] not in ("", "none")
    return any(word in _BY_ITSELF for word in words)


def speculation(brief: Brief) -> Resolved:
    """The choice as settings of the flag table; keys of other families fall silent, and those that somebody set are named."""
    choice, settings = choose(brief), brief.settings
    mod, drafts = choice.type == "ngram-mod", choice.type.startswith("draft-")
    if choice.reason == teaching.spec_reason("extra"):
        drafts = True  # words of their own may name a draft model, and these tune it
    told: dict[str, Any] = {key: settings[key] if mod else None for key in MOD}
    told |= {key: _sized(choice.type, settings[key]) for key in SIZES}
    told |= {} if drafts else dict.fromkeys(DRAFT)  # else as configured, or as the plan says
    told |= {
        "spec_type": choice.type,
        "draft_model": choice.draft,
        "draft_n_max": choice.most if choice.type == TYPES["mtp-adaptive"] else 0,
        **_lookup(choice.type, brief),
    }
    reasons = {"spec_type": choice.reason, "draft_model": teaching.argv_reason("draft")}
    left = () if choice.type else (Decision((), "spec", choice.reason),)
    notes = (choice.note,) if choice.note else ()
    return Resolved(told, reasons, notes=(*notes, *_unheard(brief, choice, drafts=drafts)), choices=left)


def _unheard(brief: Brief, choice: Choice, *, drafts: bool) -> Iterator[str]:
    """Of keys that somebody set, those for other ways of guessing. An embedding model writes nothing, and so misses nothing."""
    of_types = {**dict.fromkeys(SIZED, SIZES), "ngram-mod": MOD, "ngram-cache": LOOKUPS}
    heard = {*(DRAFT if drafts else ()), *of_types.get(choice.type, ())}
    silent = [key for key in (*DRAFT, *SIZES, *MOD, *LOOKUPS) if chosen(brief, key) and key not in heard]
    if silent and not brief.task.pools:
        yield teaching.spec_silent(silent, choice.type, choice.reason)


def _auto(brief: Brief) -> Choice:
    """The first way that is open; whatever stands in the way of all of them is a reason and no refusal."""
    if brief.settings["deterministic"]:
        return Choice("", teaching.spec_reason("deterministic"))
    if FLAG not in brief.manifest:
        return Choice("", teaching.spec_reason("build" if brief.manifest else "unasked"))
    return _by_model(brief) or _by_text(brief)


def _by_model(brief: Brief) -> Choice | None:
    """By heads of its own, or by the draft that goes with it."""
    if _heads(brief) and _may_know(brief, TYPES["mtp"]):
        return Choice(TYPES["mtp"], teaching.spec_reason("heads"), DRAFTED)
    family = TYPES.get(brief.beside.draft_family, "")
    if brief.beside.draft and family and _may_know(brief, family):
        return Choice(family, teaching.spec_reason("pair"), DRAFTED, draft=brief.beside.draft)
    return None


def _by_text(brief: Brief) -> Choice:
    """By what was said so far."""
    if not brief.settings["spec_auto_ngram"]:
        return Choice("", teaching.spec_reason("no-ngram"))
    if _stateful(brief):
        return Choice("", teaching.spec_reason("stateful"))
    if not _may_know(brief, AUTO):
        return Choice("", teaching.spec_reason("build"))
    return Choice(AUTO, teaching.spec_reason("ngram"), GUESSED[AUTO], note=teaching.spec_fallback())


def _asked(brief: Brief, spec: str) -> Choice:
    type_ = TYPES.get(spec, spec)
    because = teaching.flag_because("spec", brief.origins.get("spec", ""))
    if not _may_know(brief, type_):
        adaptive = spec == "mtp-adaptive"
        raise Malformed(
            teaching.spec_adaptive_unknown(brief.tag) if adaptive else teaching.spec_unknown(spec, brief.tag), "spec"
        )
    if type_ in GUESSED:
        return Choice(type_, because, _guessed(type_, brief.settings))
    draft = brief.beside.draft if brief.beside.draft_family == spec.removesuffix("-adaptive") else ""
    if spec.startswith("mtp"):
        heads = _heads(brief)
        if not heads and not draft and brief.shape is not None:
            raise Malformed(teaching.spec_needs_heads(spec), "spec")
        most = DRAFTED if spec == "mtp" else min(ADAPTIVE_MOST, heads if heads > 1 else ADAPTIVE_MOST)
        return Choice(type_, because, most, draft=draft)
    if not draft:
        raise Malformed(teaching.spec_needs_draft(spec), "spec")
    return Choice(type_, because, DRAFTED, draft=draft)


def _knows(brief: Brief, type_: str) -> bool:
    """Whether the build's help lists it."""
    option = brief.manifest.find(FLAG)
    return option is not None and type_ in _listed(option)


def _may_know(brief: Brief, type_: str) -> bool:
    """A build that lists no types, or could not be asked, is believed to have those of b11434: all but the adaptive one."""
    option = brief.manifest.find(FLAG)
    unlisted = not brief.manifest or (option is not None and "none" not in _listed(option))
    return _knows(brief, type_) or (unlisted and type_ != TYPES["mtp-adaptive"])


def _listed(option: Option) -> tuple[str, ...]:
    return option.choices or tuple(option.value.split(","))


def _heads(brief: Brief) -> int:
    """Blocks of the model's own file that predict what comes after the next token."""
    return brief.shape.nextn if brief.shape is not None else 0


def _stateful(brief: Brief) -> bool:
    """Whether it keeps a state that cannot be cut: each wrong guess then restores a copy of it and computes anew."""
    return brief.shape is not None and any(block.recurrent for block in brief.shape.blocks)


def _guessed(type_: str, settings: Mapping[str, Any]) -> int:
    own = {"ngram-mod": "ngram_mod_n_max", **dict.fromkeys(SIZED, "ngram_size_m")}.get(type_)
    return (settings[own] if own else 0) or GUESSED[type_]


def _sized(type_: str, size: int) -> tuple[str, int] | None:
    return (type_, size) if type_ in SIZED and size else None


def _lookup(type_: str, brief: Brief) -> dict[str, str]:
    """Files of known sequences. ODD: lookup caches belong to one type; with any other the engine reads none.

    The engine of today reads the refreshed one and never writes it.
    """
    if type_ != "ngram-cache":
        return {"lookup_cache_static": "", "lookup_cache_dynamic": ""}
    settings, own = brief.settings, brief.places.lookup_cache
    # Nobody asked for the model's own: a build without the flag is no news.
    told = not brief.manifest or "--lookup-cache-dynamic" in brief.manifest
    return {
        "lookup_cache_static": settings["lookup_cache_static"] or "",
        "lookup_cache_dynamic": settings["lookup_cache_dynamic"] or (own if settings["spec_cache"] and told else ""),
    }
