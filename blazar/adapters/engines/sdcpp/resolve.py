"""What configuration leaves open for sd-server: its component set, spellings of this build, kernels, placement.

Pure: opens no file and asks no device.
"""

from collections import defaultdict
from collections.abc import Iterator

from blazar.adapters.engines.reasons import unheard
from blazar.adapters.engines.sdcpp.flags import (
    AUTO_FIT,
    BACKEND,
    EXTRA_KEYS,
    MAX_VRAM,
    MODEL_ARGS,
    PARAMS_BACKEND,
    PART,
    SAGE,
    SDCPP_FLAGS,
)
from blazar.domain import teaching
from blazar.domain.argv import Decision, Missing
from blazar.domain.errors import Malformed
from blazar.domain.launch import Brief, Resolved, flags_of, together
from blazar.domain.manifest import ValueKind
from blazar.domain.records import Gpu

NAME = "sd-server"
SYNONYMS = {
    "diffusion": "diffusion_model",
    "high_noise": "high_noise_diffusion_model",
    "uncond": "uncond_diffusion_model",
    "qwen2vl": "llm",
    "qwen2vl_vision": "llm_vision",
    "taesd": "tae",
}
"""Other names of a part's role, as older builds and repositories have them."""
PARTS = frozenset(flag.key for flag in SDCPP_FLAGS if flag.missing is Missing.REFUSE) - {MODEL_ARGS}
"""Settings that are files: a component set may bring any of them."""
ENCODERS = ("clip_l", "clip_g", "t5xxl", "llm")
"""What makes of a set's main file a bare diffusion model."""
PLACING = ("--backend", "--params-backend", "--offload-to-cpu", "--clip-on-cpu", "--vae-on-cpu", "--control-net-cpu")
DIFFUSION = frozenset({"diffusion", "model", "unet", "dit"})
EVERYTHING = frozenset({"", "all", "default", "*"})
ANY_GPU = frozenset({"", "auto", "default", "gpu"})
"""The engine's words for modules and devices."""
PREFIX_CACHE = "qwen_image_2_1_prefix_cache_type"
SAGE_CAPABILITY = (8, 0)
SAGE_CUDA = (12, 0)
"""What the kernels of SageAttention need (setup document)."""


def resolve(brief: Brief) -> Resolved:
    """All of it."""
    parts = (_spellings, _components, _model_args, _sage, _placement, _budget)
    mine = Resolved(brief.settings, notes=tuple(unheard(brief, frozenset(), NAME)))
    return together(mine, *(part(brief) for part in parts))


def _said(brief: Brief) -> Iterator[tuple[str, str, str]]:
    """A person's own flags: flag, the word after it, the key that holds them."""
    for key in EXTRA_KEYS:
        words = brief.settings[key]
        flags = set(flags_of(words))
        yield from (
            (word, next(iter(words[index + 1 :]), ""), key) for index, word in enumerate(words) if word in flags
        )


def _values(brief: Brief, flag: str) -> list[str]:
    return [text for one, text, _ in _said(brief) if one == flag]


# --- Spellings -------------------------------------------------------------------------------------------------------


def _spellings(brief: Brief) -> Resolved:
    """Of rows for one setting the first that this build prints is said, and none where a person says another one."""
    rows: dict[str, list[str]] = defaultdict(list)
    for flag in SDCPP_FLAGS:
        rows[flag.key].append(flag.name)
    own = {flag: key for flag, _, key in _said(brief)}
    silent: set[str] = set()
    given: dict[str, str] = {}
    for names in (names for names in rows.values() if len(names) > 1):
        chosen = next((name for name in names if name in brief.manifest), names[0])
        silent |= set(names) - {chosen}
        said = next((name for name in names if name in own), "")
        if said:
            given[chosen] = own[said]
    return Resolved({}, silent=silent, given=given)


# --- The component set -----------------------------------------------------------------------------------------------


def _components(brief: Brief) -> Resolved:
    """Parts by role. A configured file takes the place of the set's own part.

    Weights without a role are the diffusion model of a set with text encoders, else a checkpoint that brings its own (whose
    decoder may be replaced): told as the other one, neither would draw.
    """
    told: dict[str, str] = {}
    reasons: dict[str, str] = {}
    for name, path in brief.beside.components.items():
        role = _role(name)
        key = next((key for key in (PART + role, f"sdcpp_{role}") if key in PARTS), "")
        if not key:
            raise Malformed(teaching.component_unknown(name, brief.model.name), "engine")
        if brief.settings.get(key):
            continue
        told[key] = path
        reasons[key] = teaching.component_of_model(role)
    if not {PART + "model", PART + "diffusion_model"} & told.keys():
        main = "diffusion_model" if {PART + role for role in ENCODERS} & told.keys() else "model"
        told[PART + main] = brief.model.files[0]
        reasons[PART + main] = (
            teaching.component_of_model(main) if told.keys() - {PART + main} else teaching.checkpoint_whole()
        )
    return Resolved(told, reasons)


def _role(name: str) -> str:
    plain = name.lstrip("-").replace("-", "_").lower()
    return SYNONYMS.get(plain, plain)


# --- Arguments of the model ------------------------------------------------------------------------------------------


def _model_args(brief: Brief) -> Resolved:
    """The prefix cache joins the list; ODD: what a person says again is left out of ours: the engine adds lists up."""
    settings = brief.settings
    kind, own = settings["sdcpp_qwen_prefix_cache_type"], settings[MODEL_ARGS]
    by_hand = {_key(pair) for text in _values(brief, "--model-args") for pair in _pairs(text)}
    pairs = [pair for pair in _pairs(own or "") if _key(pair) not in by_hand]
    if not kind or PREFIX_CACHE in by_hand | {_key(pair) for pair in pairs}:
        return Resolved({MODEL_ARGS: ",".join(pairs)})
    if brief.manifest and "--model-args" not in brief.manifest and not pairs:
        # Only a faster way to the same picture: no reason to refuse the load.
        return Resolved({}, notes=(teaching.flag_unknown_to_engine("--model-args", brief.tag),))
    keys = (*((MODEL_ARGS,) if pairs else ()), "sdcpp_qwen_prefix_cache_type")
    because = "; ".join(teaching.flag_because(key, brief.origins.get(key, "")) for key in keys)
    return Resolved({MODEL_ARGS: ",".join((*pairs, f"{PREFIX_CACHE}={kind}"))}, {MODEL_ARGS: because})


def _pairs(text: str) -> list[str]:
    return [pair.strip() for pair in text.replace(";", ",").split(",") if pair.strip()]


def _key(pair: str) -> str:
    return pair.partition("=")[0].strip()


# --- Kernels ---------------------------------------------------------------------------------------------------------


def _sage(brief: Brief) -> Resolved:
    """Without its kernels the child would die at load. A person's own --sage-attn is believed."""
    if not brief.settings[SAGE] or _values(brief, "--sage-attn") or _has_sage(brief):
        return Resolved({})
    why = teaching.sage_attn_needs_cuda()
    return Resolved({SAGE: False}, notes=(why,), choices=(Decision((), SAGE, why),))


def _has_sage(brief: Brief) -> bool:
    machine, device = brief.machine, _diffusion_device(brief).lower()
    if device not in ANY_GPU and not device.startswith("cuda"):
        return False
    if machine.cuda_version and _version(machine.cuda_version) < SAGE_CUDA:
        return False
    return any(gpu.kind == "cuda" and _capable(gpu) for gpu in machine.gpus)


def _capable(gpu: Gpu) -> bool:
    """An unknown one is given the chance."""
    return not gpu.compute_capability or _version(gpu.compute_capability) >= SAGE_CAPABILITY


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdigit())


# --- Placement -------------------------------------------------------------------------------------------------------


def _diffusion_device(brief: Brief) -> str:
    """Where a person wants the diffusion model to run; of several words the last counts."""
    everywhere = own = ""
    for pair in _pairs(next(iter(_values(brief, "--backend")[::-1]), brief.settings[BACKEND] or "")):
        module, device = (text.strip() for text in pair.split("=", 1)) if "=" in pair else ("", pair)
        if module.lower() in DIFFUSION:
            own = device
        elif module.lower() in EVERYTHING:
            everywhere = device
    return own or everywhere


def _placement(brief: Brief) -> Resolved:
    """ODD: whoever places anything ends the automatic choice: with --auto-fit the engine ignores every placement.

    It is said only to a build that is known to have it, and only where there is something to place on.
    """
    if "--auto-fit" not in brief.manifest or not (brief.machine.gpus or brief.settings["sdcpp_rpc_servers"]):
        return Resolved({})
    own = (key for flag, _, key in _said(brief) if flag in PLACING)
    placed = next(own, next((key for key in (BACKEND, PARAMS_BACKEND) if brief.settings[key]), ""))
    if placed:
        return Resolved({}, choices=(Decision((), AUTO_FIT, teaching.auto_fit_off(placed)),))
    return Resolved({AUTO_FIT: True}, {AUTO_FIT: teaching.auto_fit_on()})


def _budget(brief: Brief) -> Resolved:
    """ODD: a budget by device is left out where one number is read. Older builds do, and die of `cuda0=8`."""
    wanted = brief.settings[MAX_VRAM]
    option = brief.manifest.find("--max-vram")
    one_number = option is not None and option.kind is ValueKind.FLOAT
    if not wanted or "=" not in wanted or not one_number:
        return Resolved({})
    why = teaching.max_vram_one_number(str(wanted), brief.tag)
    return Resolved({MAX_VRAM: None}, notes=(why,), choices=(Decision((), MAX_VRAM, why),))
