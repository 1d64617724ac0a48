"""Words that a person added to llama-server's command line, read as what a plan is made of. Opens no file and refuses no flag.

They come last and win, so that a plan made without them would be about another child. One row an option of llama.cpp b11434
(common/arg.cpp, with all its spellings) that changes what is allocated or where; what older builds call it stands beside it. An
option that only tunes answers or speed is not listed, and passes by.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from typing import Any, NamedTuple

from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.fit.settings import CACHE_TYPES
from blazar.domain.fit.weights import MOE_PRESET

Read = Callable[[str, Any], Any]
"""The word after the flag and what was said before, to the value; `ValueError` where the engine would not take it."""


UNBOUNDED = 2**31 - 1


class Into(Enum):
    """What a word sets."""

    KEY = "a key of the configuration"
    LOAD = "a field of the planner's Settings that no key sets"
    DRAFT = "a field of the draft's Settings"
    FILE = "a file that is loaded beside the model"
    NOTHING = "nothing that a plan is made of: only our own saying of it falls away"


class Word(NamedTuple):
    """One option. `ours` is how our flag table says the same ("": it adds to ours); `read` None: a switch, `value` what it sets."""

    ours: str
    spellings: str
    into: Into
    name: str = ""
    read: Read | None = None
    value: Any = True


def _whole(text: str, _: Any) -> int:
    return int(text)


def _count(text: str, _: Any) -> int:
    number = int(text)
    if number < 0:
        raise ValueError(text)
    return number


def _bounded(text: str, _: Any) -> int:
    """MiB; below 0 the engine knows no bound."""
    number = int(text)
    return number if number >= 0 else UNBOUNDED


def _sleep(text: str, _: Any) -> int:
    """Seconds; the engine's word for never is ours for 0, which it refuses."""
    number = int(text)
    if number == 0 or number < -1:
        raise ValueError(text)
    return max(number, 0)


def _most(text: str, before: Any) -> int:
    return max(_count(text, before), before or 0)


def _layers(text: str, _: Any) -> int:
    return -1 if text in ("auto", "all") else int(text)


def _cache_type(text: str, _: Any) -> str:
    return str(_one_of(text, {name: name for name in CACHE_TYPES}))


def _one_of(text: str, known: Mapping[str, Any]) -> Any:
    if text not in known:
        raise ValueError(text)
    return known[text]


def _listed(text: str, _: Any) -> tuple[str, ...]:
    return tuple(part for part in text.split(",") if part)


def _patterns(text: str, before: Any) -> tuple[str, ...]:
    """Each `PATTERN=BUFFER`; they add up, and the first that matches wins."""
    rows = _listed(text, None)
    if not all("=" in row for row in rows):
        raise ValueError(text)
    return (*(before or ()), *rows)


def _draft_patterns(text: str, before: Any) -> tuple[tuple[str, str], ...]:
    parts = (row.partition("=") for row in _patterns(text, None))
    return (*(before or ()), *((pattern, buffer) for pattern, _, buffer in parts))


def _ratios(text: str, _: Any) -> str:
    parts = text.replace("/", ",").split(",")
    if not all(0 <= float(part) < float("inf") for part in parts if part):
        raise ValueError(text)
    return ",".join(part for part in parts if part)


def _flash(text: str, _: Any) -> bool:
    return bool(_one_of(text.lower(), _FLASH))


def _load_mode(text: str, _: Any) -> str:
    return str(_one_of(text, _LOAD_MODES))


def _split_mode(text: str, _: Any) -> str:
    return str(_one_of(text, {name: name for name in ("none", "layer", "row", "tensor")}))


def _path(text: str, _: Any) -> str:
    return text


def _adapters(text: str, before: Any) -> tuple[str, ...]:
    return (*(before or ()), *_listed(text, None))


def _scaled(text: str, before: Any) -> tuple[str, ...]:
    """Each `FILE:SCALE`, or in older builds a file whose scale is the word after."""
    return (*(before or ()), *(item.rpartition(":")[0] or item for item in _listed(text, None)))


_FLASH = {
    **dict.fromkeys(("on", "enabled", "true", "1", "auto", "-1"), True),
    **dict.fromkeys(("off", "disabled", "false", "0"), False),
}
_LOAD_MODES = {
    "auto": "",
    "none": "none",
    "mmap": "mmap",
    "mlock": "mlock",
    "mmap+mlock": "mlock",  # what is locked cannot be dropped
    "dio": "direct-io",
}

KEY, LOAD, DRAFT, FILE, NOTHING = Into.KEY, Into.LOAD, Into.DRAFT, Into.FILE, Into.NOTHING

WORDS = (
    # Window, slots, cache
    Word("--ctx-size", "-c --ctx-size", LOAD, "ctx", _count),
    Word("--parallel", "-np --parallel", KEY, "slots", _whole),
    Word("--kv-unified", "-kvu --kv-unified", KEY, "kv_unified"),
    Word("--kv-unified", "-no-kvu --no-kv-unified", KEY, "kv_unified", value=False),
    Word("--kv-unified-per-slot", "--kv-unified-per-slot", NOTHING, read=_whole),
    Word("--flash-attn", "-fa --flash-attn", LOAD, "flash_attention", _flash),
    Word("--cache-type-k", "-ctk --cache-type-k", KEY, "cache_type_k", _cache_type),
    Word("--cache-type-v", "-ctv --cache-type-v", KEY, "cache_type_v", _cache_type),
    Word("--swa-full", "--swa-full", KEY, "swa_full"),
    Word("--batch-size", "-b --batch-size", KEY, "batch_size", _count),
    Word("--ubatch-size", "-ub --ubatch-size", KEY, "ubatch_size", _count),
    Word("--cache-ram", "-cram --cache-ram", KEY, "cache_ram_mb", _bounded),
    Word(
        "--sleep-idle-seconds", "--sleep-idle-seconds", KEY, "idle_sleep_secs", _sleep
    ),  # what it lets go stays claimed
    # Where things lie
    Word("--n-gpu-layers", "-ngl --gpu-layers --n-gpu-layers", LOAD, "gpu_layers", _layers),
    Word("--main-gpu", "-mg --main-gpu", KEY, "main_gpu", _whole),
    Word("--split-mode", "-sm --split-mode", KEY, "split_mode", _split_mode),
    Word("--tensor-split", "-ts --tensor-split", KEY, "tensor_split", _ratios),
    Word("--device", "-dev --device", KEY, "devices", _listed),
    Word("--rpc", "--rpc", KEY, "rpc_servers", _path),
    Word("", "-cmoe --cpu-moe", LOAD, "tensor_preset", value=MOE_PRESET),
    Word("", "-ncmoe --n-cpu-moe", KEY, "cpu_moe_n", _most),
    Word("", "-ncffn --n-cpu-ffn", KEY, "cpu_ffn_n", _most),
    Word("", "-ot --override-tensor", KEY, "override_tensor", _patterns),
    Word("--no-kv-offload", "-kvo --kv-offload", KEY, "no_kv_offload", value=False),
    Word("--no-kv-offload", "-nkvo --no-kv-offload", KEY, "no_kv_offload"),
    Word("--no-repack", "--repack", KEY, "repack"),
    Word("--no-repack", "-nr --no-repack", KEY, "repack", value=False),
    Word("--load-mode", "-lm --load-mode", KEY, "load_mode", _load_mode),
    Word("--load-mode", "--mmap", KEY, "load_mode", value="mmap"),
    Word("--load-mode", "--no-mmap", KEY, "load_mode", value="none"),
    Word("--load-mode", "--mlock", KEY, "load_mode", value="mlock"),
    Word("--load-mode", "-dio --direct-io", KEY, "load_mode", value="direct-io"),
    # Projector and adapters
    Word("--mmproj", "-mm --mmproj", FILE, "projector", _path),
    Word("--no-mmproj-offload", "--mmproj-offload", LOAD, "projector_offload"),
    Word("--no-mmproj-offload", "--no-mmproj-offload", LOAD, "projector_offload", value=False),
    Word("--mmproj-device", "-mmdev --mmproj-device", LOAD, "projector_device", _path),
    Word("", "--lora", FILE, "adapters", _adapters),
    Word("", "--lora-scaled", FILE, "adapters", _scaled),
    # The model that speculates
    Word("--model-draft", "-md --model-draft --spec-draft-model", FILE, "draft", _path),
    Word("", "-cd --ctx-size-draft", DRAFT, "ctx", _count),  # of older builds
    Word(
        "--gpu-layers-draft",
        "-ngld --gpu-layers-draft --n-gpu-layers-draft --spec-draft-ngl",
        DRAFT,
        "gpu_layers",
        _layers,
    ),
    Word("--device-draft", "-devd --device-draft --spec-draft-device", DRAFT, "devices", _listed),
    Word("--cache-type-k-draft", "-ctkd --cache-type-k-draft --spec-draft-type-k", DRAFT, "cache_type_k", _cache_type),
    Word("--cache-type-v-draft", "-ctvd --cache-type-v-draft --spec-draft-type-v", DRAFT, "cache_type_v", _cache_type),
    Word("", "-cmoed --cpu-moe-draft --spec-draft-cpu-moe", DRAFT, "tensor_preset", value=MOE_PRESET),
    Word("", "-ncmoed --n-cpu-moe-draft --spec-draft-n-cpu-moe --spec-draft-ncmoe", DRAFT, "cpu_moe_n", _most),
    Word("", "-otd --override-tensor-draft --spec-draft-override-tensor", DRAFT, "override_tensor", _draft_patterns),
)
"""Every option that memory depends on. A row whose `ours` is "" is said beside ours: the engine adds the two up."""

ADDED = frozenset(word.name for word in WORDS if word.into is KEY and not word.ours)
"""Keys whose own flag is said beside a person's: what is said there must not be said in it again."""

_BY_SPELLING = {spelling: word for word in WORDS for spelling in word.spellings.split()}

ENGINE_CACHE_TYPE = "f16"
AUTO_SLOTS = 4
"""What llama-server makes of `--parallel -1`, with a cache that they share (tools/server/server.cpp)."""


class Said(NamedTuple):
    """One option as somebody wrote it, with the word after it."""

    flag: str
    word: Word
    text: str | None


class Extra(NamedTuple):
    """What extra words come to. `ours`: flags of our table that are not to be said beside them.

    `flags` are theirs as they are written, `added` those that the engine takes together with ours.
    """

    keys: Mapping[str, Any]
    load: Mapping[str, Any]
    draft: Mapping[str, Any]
    files: Mapping[str, Any]
    written: Mapping[str, str]  # what names a file, to the flag before it
    ours: frozenset[str]
    flags: tuple[str, ...]
    added: tuple[str, ...]


def read_extra(words: Sequence[str], settings: Mapping[str, Any]) -> Extra:
    """Read them in their order, the last of an option wins. `settings` is the configuration that they add to.

    Raises `Malformed` for a value that the engine would end itself over.
    """
    found: dict[Into, dict[str, Any]] = {into: {} for into in Into}
    written: dict[str, str] = {}
    said = tuple(_options(words))
    for flag, word, text in said:
        into = found[word.into]
        before = into.get(word.name, settings[word.name] if word.into is KEY else None)
        into[word.name] = _value(flag, word, text, before)
        if word.into is FILE:
            written[word.name] = flag
    _as_engine_reads(found, settings)
    ours = frozenset(one.word.ours for one in said) - {""}
    planned = [one for one in said if one.word.into is not NOTHING]
    flags, added = (
        tuple(dict.fromkeys(one.flag for one in planned if bool(one.word.ours) is new)) for new in (True, False)
    )
    return Extra(found[KEY], found[LOAD], found[DRAFT], found[FILE], written, ours, flags, added)


def last_said(words: Sequence[str], ours: str) -> Said | None:
    """The last option that says the same as that flag of ours, as it is written; the engine goes by it."""
    return next((one for one in reversed(tuple(_options(words))) if one.word.ours == ours), None)


def slot_bound(settings: Mapping[str, Any]) -> int:
    """Tokens of the cache that one slot may use at most, whoever says so; 0: no bound but the window."""
    said = last_said(settings["extra_args"], "--kv-unified-per-slot")
    return int(said.text or 0) if said else int(settings["kv_unified_per_slot"])


def without(words: Sequence[str], ours: frozenset[str]) -> tuple[str, ...]:
    """The words but for those options, whatever they are spelled like: somebody asks what would be if they were not there."""
    left: list[str] = []
    at = 0
    while at < len(words):
        word = _BY_SPELLING.get(_spelled(words[at]))
        length = 2 if word is not None and word.read else 1
        if word is None or word.ours not in ours:
            left += words[at : at + length]
        at += length
    return tuple(left)


def _options(words: Sequence[str]) -> Iterator[Said]:
    """Options of the table, with their values; every other word is passed over."""
    rest = iter(words)
    for one in rest:
        word = _BY_SPELLING.get(_spelled(one))
        if word is not None:
            yield Said(one, word, next(rest, None) if word.read else None)


def _spelled(word: str) -> str:
    """llama-server reads `--ctx_size` as `--ctx-size`."""
    return word.replace("_", "-") if word.startswith("--") else word


def _value(flag: str, word: Word, text: str | None, before: Any) -> Any:
    if word.read is None:
        return word.value
    if text is None or _spelled(text) in _BY_SPELLING:
        raise Malformed(teaching.extra_arg_needs_value(flag, text or "", "extra_args"), "extra_args")
    with suppress(ValueError):
        return word.read(text, before)
    # A flag that memory does not depend on: what it is followed by was meant for it.
    if text.startswith("--"):
        raise Malformed(teaching.extra_arg_needs_value(flag, text[:80], "extra_args"), "extra_args")
    raise Malformed(teaching.extra_arg_value(flag, text[:80]), "extra_args")


def _as_engine_reads(found: dict[Into, dict[str, Any]], settings: Mapping[str, Any]) -> None:
    """Values that mean something else than themselves."""
    keys, load = found[KEY], found[LOAD]
    if "slots" in keys:
        keys["deterministic"] = False  # a number that is said is what the child gets
        if keys["slots"] <= 0:
            keys |= {"slots": AUTO_SLOTS, "kv_unified": True}
    sides = ("cache_type_k", "cache_type_v")
    if any(side in keys for side in sides):
        # Configuration takes one side for both; the engine keeps its own type for the other.
        keys |= {side: keys.get(side) or settings[side] or ENGINE_CACHE_TYPE for side in sides}
    if load.get("projector_device") == "none":
        load |= {"projector_device": "", "projector_offload": False}
