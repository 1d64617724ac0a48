"""Tables of an engine kind's own knobs: [sglang], [mistralrs], [mlx]; globally and, field by field, per model.

Unset, 0, "" and false leave a setting to the engine; which of them a build knows is decided when its command line is compiled.
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from blazar.application.config.knob import PATH, JsonTable, Keys, Knob, Positive, Whole, shaped

Backend = Annotated[str, shaped(r"[A-Za-z0-9_.-]+", "word")]
Count = Positive
Bits = Annotated[int, Field(ge=2, le=8)]
Share = Annotated[float, Field(ge=0, le=1)]

_ISQ = r"(?i:[2-8]|q[45]_[01]|q8_[01]|q[234568]k|hqq[1-8]|fp8|f8e4m3|f8q8|afq[23468]|mxfp4)"  # the engine's own names of formats


def _text(value: Any) -> Any:
    """A number of bits is a format's name like any other."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _template_file(text: str) -> bool:
    """By its name: mistral.rs takes these two and no text."""
    return text.endswith((".jinja", ".json"))


class SglangTuning(Keys):
    """Knobs of SGLang. What memory allows is planned; mem_fraction_static and kv_cache_dtype replace the plan's."""

    cache_report: bool = True
    """Report how much of a prompt was cached; `ps` and the metrics live on it."""
    radix_eviction_policy: Literal["", "lru", "lfu", "slru", "priority"] = ""
    """Which cached prefixes leave first."""
    session_radix_cache: bool = False
    """Keep the prefixes of a session together."""
    mixed_chunk: bool = False
    """Compute prompts and answers in one batch."""
    mem_fraction_static: Annotated[float, Field(gt=0, lt=1)] | None = None
    """Share of the GPU's memory for weights and cache."""
    kv_cache_dtype: Annotated[str, shaped(r"[A-Za-z0-9_]+", "word")] = ""
    """Number format of the key-value cache, by the engine's name."""
    tp_size: Count | None = None
    """GPUs over which every layer is split."""
    dp_size: Count | None = None
    """Copies of the model that share the requests."""
    pp_size: Count | None = None
    """Stages into which the layers are divided."""
    ep_size: Count | None = None
    """GPUs over which experts are divided."""
    spec_algorithm: Literal["", "ngram"] = ""
    """Speculation without a draft model; a draft pair is chosen with spec."""
    spec_num_steps: Count | None = None
    """Steps that are guessed ahead."""
    spec_num_draft_tokens: Count | None = None
    """Tokens that are guessed ahead."""
    speculative_eagle_topk: Count | None = None
    """Branches that a draft model follows at each step."""
    speculative_accept_threshold_single: Share | None = None
    """Probability from which one guessed token is accepted; with speculation only."""
    speculative_accept_threshold_acc: Share | None = None
    """Probability from which a row of guessed tokens is accepted; with speculation only."""
    attention_backend: Backend = ""
    """Implementation of attention, by the engine's name."""
    mm_attention_backend: Backend = ""
    """Implementation of attention for images, by the engine's name."""
    grammar_backend: Backend = ""
    """Implementation of constrained answers, by the engine's name."""
    retraction_policy: Literal["", "length", "priority"] = ""
    """Which request is put back when memory runs out; priority needs enable_priority_scheduling."""
    enable_priority_scheduling: bool = False
    """Serve requests in the order of their priority."""
    enable_two_batch_overlap: bool = False
    """Compute two batches side by side."""
    enable_tf32_matmul: bool = False
    """Multiply with shortened numbers where the GPU can."""


class MistralrsKeys(Keys):
    """The paged cache of mistral.rs. Both may be written below `[mistralrs]` instead."""

    title: ClassVar[str] = "mistral.rs"

    mistralrs_pa_memory_fraction: Annotated[float, Field(ge=0.05, le=0.95)] | None = None
    """Share of the GPU's memory for the paged cache; silent where pa_memory_mb is set."""
    mistralrs_paged_attn: bool | None = None
    """Use the paged cache. false: a plain one of the window's size, with which large vision models fit on small cards."""


class MistralrsTuning(Keys):
    """Knobs of mistral.rs. `mistralrs_pa_memory_fraction` and `mistralrs_paged_attn` may be written here instead of at the root."""

    pa_memory_mb: Count | None = None
    """MiB of GPU memory for the paged cache, for GPUs that others use too."""
    chat_template: Annotated[str, Knob(path=_template_file)] = ""
    """Chat template, instead of the one in the model."""
    isq: Annotated[str, BeforeValidator(_text, json_schema_input_type=str | Bits), shaped(_ISQ, "isq")] = ""
    """Quantise while loading: a format such as `q4k` or `q8_0`, or 2 to 8 bits. Admission goes on counting the file's size."""
    imatrix: Annotated[str, PATH] = ""
    """File with an importance matrix, which sharpens isq."""
    calibration_file: Annotated[str, PATH] = ""
    """File with texts to compute an importance matrix from, instead of imatrix."""
    isq_organization: Literal["", "default", "moqe"] = ""
    """Which layers isq quantises: all, or experts only."""


class MistralrsOverride(MistralrsTuning, MistralrsKeys):
    """`[model_overrides.NAME.mistralrs]`: all of them for one model."""


class MlxTuning(Keys):
    """Knobs of mlx-lm. What a build does not know is left out with a warning."""

    draft_model: str = ""
    """Draft model for speculation."""
    num_draft_tokens: Count | None = None
    """Tokens that the draft model guesses ahead."""
    kv_bits: Literal[2, 3, 4, 5, 6, 8] | None = None  # what mlx.core.quantize takes
    """Bits of the key-value cache. With it the engine serves one request at a time."""
    kv_group_size: Literal[32, 64, 128] | None = None
    """Values of the cache that share a scale."""
    quantized_kv_start: Whole | None = None
    """Token from which the cache is quantised."""
    prefill_step_size: Count | None = None
    """Tokens of a prompt that are computed at once."""
    prompt_cache_size: Whole | None = None
    """Prompts that are kept."""
    prompt_cache_bytes: Annotated[int, Field(ge=0, le=2**63 - 1)] | None = None
    """Bytes for kept prompts."""
    decode_concurrency: Count | None = None
    """Answers that are computed side by side."""
    prompt_concurrency: Count | None = None
    """Prompts that are computed side by side."""
    chat_template: str = ""
    """Chat template, instead of the one in the model."""
    chat_template_args: JsonTable | None = None
    """Variables for the chat template, as a table or as JSON text."""
    use_default_chat_template: bool = False
    """Use the tokenizer's own default template where the model has none."""
    trust_remote_code: bool = False
    """Run Python code that lies beside the model. Only for models whose author you trust."""
    adapter_path: Annotated[str, PATH] = ""
    """Folder with a LoRA adapter."""


TUNINGS: dict[str, type[Keys]] = {"sglang": SglangTuning, "mistralrs": MistralrsTuning, "mlx": MlxTuning}
"""The tables by name."""

INSIDE = {"mistralrs": frozenset(MistralrsKeys.model_fields)}
"""Root keys that may be written inside a table that is no group."""


def tuning_settings(roots: Mapping[str, Keys], own: Mapping[str, Keys | None]) -> dict[str, Any]:
    """Flat settings `table.key` of the root's tables, each field replaced where a model's `own` table says it."""
    settings = {}
    for table, root in roots.items():
        override = own.get(table)
        said = override.model_fields_set if override is not None else frozenset[str]()
        for key in TUNINGS[table].model_fields:
            settings[f"{table}.{key}"] = getattr(override if key in said else root, key)
        for key in said & INSIDE.get(table, frozenset()):
            settings[key] = getattr(override, key)
    return settings
