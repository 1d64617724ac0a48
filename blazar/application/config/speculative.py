"""Keys of speculative decoding: which way tokens are guessed ahead, and where the draft model computes. Root-only: the n-gram keys (D26)."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, Strict

from blazar.application.config.children import CacheType, Processors, Threads
from blazar.application.config.knob import PATH, Keys, Knob, Whole, shaped
from blazar.application.config.placement import Layers, Tensors

Spec = Literal[
    "off",
    "auto",
    "mtp",
    "mtp-adaptive",
    "eagle3",
    "dflash",
    "dspark",
    "ngram",
    "ngram-simple",
    "ngram-map-k",
    "ngram-map-k4v",
    "ngram-mod",
    "ngram-cache",
]
Share = Annotated[float, Field(ge=0, le=1)]
ZeroOrOne = Annotated[int, Field(ge=0, le=1)]
DraftPriority = Annotated[int, Field(ge=0, le=3)]


class SpeculativeKeys(Keys):
    """Tokens are guessed ahead and checked by the model itself: answers stay what they were, and come sooner where guesses hold."""

    title: ClassVar[str] = "Speculative decoding"
    group: ClassVar[str] = "speculative"

    spec: Annotated[Spec, Knob(per_model=True)] = "auto"
    """How tokens are guessed: off, by own heads or a draft model (mtp to dspark), or from text seen before (ngram …); the log probabilities of such tokens are told as 0."""
    spec_auto_ngram: Annotated[bool, Knob(env=("BLAZAR_SPEC_AUTO_NGRAM",))] = True
    """Guess from text seen before where spec is auto and no draft model can be used; it takes no GPU memory."""
    spec_auto_manage: Annotated[bool, Knob(env=("BLAZAR_SPEC_AUTO_MANAGE",), daemon=True)] = False
    """Stop guessing for a model while its queue is full or its guesses fail, and begin again when it is quiet."""
    spec_cache: bool = True
    """Start n-gram guessing from the model's file below `speccache/`, where there is one; no engine of today writes it."""
    spec_draft_device: Annotated[str, shaped(r"[^,\s]+(,[^,\s]+)*", "devices")] = ""
    """Devices of the draft model by the engine's names, with commas between them; `none`: not on a GPU."""
    spec_draft_ngl: Whole | None = None
    """Layers of the draft model on the GPU; unset: as many as fit."""
    spec_draft_type_k: CacheType = ""
    """Number format of the keys in the draft model's cache."""
    spec_draft_type_v: CacheType = ""
    """Number format of the values in the draft model's cache."""
    spec_draft_override_tensor: Annotated[Tensors, Strict(strict=False)] = ()
    """Buffers for tensors of the draft model, each as `PATTERN=BUFFER`."""
    spec_draft_cpu_moe: bool = False
    """Keep all experts of the draft model in main memory."""
    spec_draft_n_cpu_moe: Layers = 0
    """Layers of the draft model whose experts stay in main memory, counted from the first."""
    spec_draft_threads: Threads = 0
    """Threads that compute the draft model; 0: as for the model."""
    spec_draft_threads_batch: Threads = 0
    """Threads that compute prompts of the draft model; 0: as spec_draft_threads."""
    spec_draft_cpu_range: Processors = ""
    """Processors that may compute the draft model, such as `0-3`."""
    spec_draft_cpu_strict: bool | None = None
    """Bind each thread of the draft model to a processor of its own; unset: as for the model."""
    spec_draft_cpu_strict_batch: bool | None = None
    """The same for threads that compute prompts of the draft model; unset: as spec_draft_cpu_strict."""
    spec_draft_prio: DraftPriority = 0
    """Priority of threads that compute the draft model, from 0 (normal) to 3 (realtime)."""
    spec_draft_prio_batch: DraftPriority = 0
    """Priority of threads that compute prompts of the draft model."""
    spec_draft_poll: ZeroOrOne | None = None
    """Whether threads of the draft model wait for work eagerly (1) or sleep (0); unset: as for the model."""
    spec_draft_poll_batch: ZeroOrOne | None = None
    """The same for threads that compute prompts of the draft model; unset: as spec_draft_poll."""
    spec_draft_backend_sampling: bool = True
    """Choose the draft's tokens on the device that computes it."""
    spec_draft_p_min: Share | None = None
    """Least probability of a guessed token: guessing stops at one below it."""
    spec_draft_p_split: Share | None = None
    """Probability from which on a second branch of guesses is followed as well; unset: 0.1."""


Size = Annotated[int, Field(ge=0, le=1024)]


class LookupKeys(Keys):
    """Guessing from text that was seen before. 0 leaves a setting to the engine."""

    title: ClassVar[str] = "Guessing from seen text"

    ngram_size_n: Size = 0
    """Tokens that must repeat before something is guessed (ngram-simple, ngram-map-k, ngram-map-k4v)."""
    ngram_size_m: Size = 0
    """Tokens that are guessed at once by the same families."""
    ngram_min_hits: Whole = 0
    """How often a sequence must have been seen to be guessed by the same families."""
    ngram_mod_n_match: Size = 0
    """Tokens that ngram-mod looks up."""
    ngram_mod_n_min: Size = 0
    """Fewest tokens that ngram-mod guesses."""
    ngram_mod_n_max: Size = 0
    """Most tokens that ngram-mod guesses."""
    adaptive_target: Share = 0.0
    """Probability near which the adaptive sampler chooses tokens."""
    adaptive_decay: Annotated[float, Field(ge=0, le=0.99)] = 0.0
    """How slowly the adaptive sampler follows what it sees: lower reacts faster, higher is steadier."""
    lookup_cache_static: Annotated[str | None, PATH] = None
    """File of sequences to guess from, which is only read; it must exist."""
    lookup_cache_dynamic: Annotated[str | None, PATH] = None
    """File of sequences to guess from, instead of the one of spec_cache; an engine that refreshes it would write there, and it must exist."""
