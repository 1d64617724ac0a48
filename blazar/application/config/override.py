"""What an override may say that no key of the root says (D26); the per-model keys join it in `model.py`."""

import math
from typing import Annotated, Any, get_args

from pydantic import AfterValidator, BeforeValidator, Field, Strict, WithJsonSchema
from pydantic_core import PydanticCustomError

from blazar.application.config.knob import LARGEST, PATH, ExtraWords, Keys, Knob, also, refused
from blazar.application.config.tuning import MistralrsOverride, MlxTuning, SglangTuning
from blazar.application.config.vision import PolicyWord, policy_word
from blazar.domain import teaching
from blazar.domain.names import near

SAMPLER_DEFAULTS = (
    # What llama-server reads as a number from a request and hands to its samplers.
    "temperature",
    "dynatemp_range",
    "dynatemp_exponent",
    "top_k",
    "top_p",
    "min_p",
    "top_n_sigma",
    "typical_p",
    "xtc_probability",
    "xtc_threshold",
    "repeat_last_n",
    "repeat_penalty",
    "presence_penalty",
    "frequency_penalty",
    "dry_multiplier",
    "dry_base",
    "dry_allowed_length",
    "dry_penalty_last_n",
    "mirostat",
    "mirostat_tau",
    "mirostat_eta",
    "adaptive_target",
    "adaptive_decay",
    "min_keep",
    "seed",
)


def _sampler(name: str) -> str:
    if name not in SAMPLER_DEFAULTS:
        why = teaching.config_unknown_sampler(near(name, SAMPLER_DEFAULTS))
        raise PydanticCustomError("blazar", "{why}", {"why": why})
    return name


def _number(value: Any) -> Any:
    """ODD: whole numbers of samplers stay whole (top_k = 40 is not 40.0), and true is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise refused("number")
    if not math.isfinite(value):
        raise refused("finite")
    return value


def _adapter(text: str) -> str:
    """The engine reads a comma as the end of one and the beginning of the next."""
    if not text or "," in text:
        raise refused("lora")
    return text


Number = Annotated[Any, AfterValidator(_number), WithJsonSchema({"type": "number"})]
Samplers = Annotated[
    dict[Annotated[str, AfterValidator(_sampler)], Number], also(propertyNames={"enum": list(SAMPLER_DEFAULTS)})
]
Adapters = Annotated[
    tuple[Annotated[str, AfterValidator(_adapter), also(pattern="^[^,]+$")], ...], Strict(strict=False)
]
Projector = Annotated[
    str,
    Field(min_length=1),
    BeforeValidator(policy_word, json_schema_input_type=Annotated[str, Field(min_length=1)] | bool),
]


def _projector_file(text: str) -> bool:
    return text not in get_args(PolicyWord)


class OverrideOnly(Keys):
    """What only an override can say."""

    ctx: Annotated[int, Field(ge=256, le=LARGEST)] | None = None
    """Context window of one request in tokens, instead of default_ctx."""
    pin: bool = False
    """Never unload this model to make room for another."""
    replicas: Annotated[int, Field(ge=1, le=64)] = 1
    """Children that serve this model side by side; a conversation stays with the one that has seen it."""
    engine: str = ""
    """Engine build (a tag) or kind that serves this model, whatever is active."""
    extra_args: ExtraWords = ()
    """Words added to the engine's command line in this order; the engine must know each flag, and its last one wins."""
    loras: Annotated[Adapters, PATH] = ()
    """Adapters that are applied, each as `FILE` or `FILE:SCALE`."""
    mmproj: Annotated[Projector | None, Knob(path=_projector_file)] = None
    """Projector of this model, a file; or when it gets one: lazy, attach or skip, as mmproj_policy says."""
    embeddings: bool | None = None
    """Serve it as an embedding model (mean pooling), or not, whatever its metadata says."""
    late_chunking: bool = False
    """Embed long texts as a whole and cut them into pieces afterwards."""
    ollama_compat: bool = False
    """Offer tools in the prompt and read calls from the answer, for models whose template has no tools of its own."""
    spm_infill: bool = False
    """Say what follows a gap before what precedes it, as some code models want."""
    sampler_defaults: Samplers = {}  # noqa: RUF012 - pydantic copies a default
    """Numbers for samplers, such as `temperature`, that hold where a request says nothing."""
    chat_template: str | None = None
    """Chat template, instead of the one in the model file."""
    chat_template_file: Annotated[str | None, PATH] = None
    """File with the chat template."""
    sglang: SglangTuning | None = None
    """Knobs of SGLang; what it does not say holds as in `[sglang]`."""
    mistralrs: MistralrsOverride | None = None
    """Knobs of mistral.rs; what it does not say holds as in `[mistralrs]` and at the root."""
    mlx: MlxTuning | None = None
    """Knobs of mlx-lm; what it does not say holds as in `[mlx]`."""
