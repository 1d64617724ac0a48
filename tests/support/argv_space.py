"""The configurations of one llama.cpp child: every key that changes its command line, with the values that are worth a start.

A value in angle brackets stands for a file, a folder or an address that whoever starts the child provides (`THINGS`). Nothing is
started here.
"""

import random
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import tomlkit

from blazar.adapters.engines.llamacpp.flags import LLAMACPP_FLAGS
from blazar.adapters.engines.llamacpp.spec import LLAMACPP
from blazar.adapters.engines.llamacpp.speculation import DRAFT, MOD, SIZED, SIZES
from blazar.application.config.layers import Loaded, load_config
from blazar.application.config.model import Override
from blazar.application.ports.hardware import DeviceLister
from blazar.application.ports.weights import WeightFiles
from blazar.application.supervise.launch_plan import LaunchPlanner
from blazar.application.supervise.sizing import Sizing
from blazar.domain.argv import FLOOR, Missing
from blazar.domain.launch import Beside, Places
from blazar.domain.manifest import Manifest
from blazar.domain.records import Engine, Model
from tests.fakes.engines import MemoryEngineCatalog
from tests.fakes.hardware import GIB, FakeCensus, a_machine
from tests.support.pairwise import Row, covering_rows

ADAPTER, PROJECTOR, TEMPLATE, LOOKUP, SERVERS = "<adapter>", "<projector>", "<template>", "<lookup>", "<servers>"
WORKER, FOLDER = "<worker>", "<folder>"
THINGS = (ADAPTER, PROJECTOR, TEMPLATE, LOOKUP, SERVERS, WORKER, FOLDER)
DEVICE = "RPC0"
"""What the engine calls the first worker's device."""
PAIRED = "draft"
"""No key: the family of the draft model that belongs to the model."""
MIXED = {"words": ["--seed", "7", "--no-warmup", "--batch-size", "128"], "guessing": ["--spec-type", "ngram-simple"]}

SPACE: dict[str, tuple[Any, ...]] = {
    # The first value is the default. Those with most values first: what comes later fills their rows.
    "spec": ("auto", "off", "ngram", "ngram-simple", "ngram-map-k", "ngram-map-k4v", "ngram-mod", "ngram-cache"),
    # Of both caches at once; of each by itself below. Together they name every type for keys and for values.
    "cache_type": ("", "f32", "f16", "q8_0", "q4_0", "q4_1", "q5_0"),
    "reasoning_effort": ("", "minimal", "low", "medium", "high", "xhigh", "max"),
    # tensor is said only where a device is: of its pairs, only those in rows with a worker reach the engine.
    "split_mode": ("", "none", "layer", "row", "tensor"),
    "load_mode": ("", "mmap", "mlock", "direct-io"),
    "reasoning": ("", "on", "off", "auto"),
    "reasoning_format": ("", "none", "deepseek", "deepseek-legacy"),
    PAIRED: ("", "simple"),
    "spec_auto_ngram": (True, False),
    "spec_cache": (True, False),
    "spec_draft_device": ("", "none"),
    "spec_draft_ngl": (None, 0),
    "spec_draft_type_k": ("", "q8_0"),
    "spec_draft_type_v": ("", "q8_0"),
    "spec_draft_override_tensor": ((), (r"blk\.0\.ffn_up=CPU",)),
    "spec_draft_cpu_moe": (False, True),
    "spec_draft_n_cpu_moe": (0, 1),
    "spec_draft_threads": (0, 1),
    "spec_draft_threads_batch": (0, 1),
    "spec_draft_cpu_range": ("", "0-0"),
    "spec_draft_cpu_strict": (None, False),
    "spec_draft_cpu_strict_batch": (None, True),
    "spec_draft_prio": (0, 1),
    "spec_draft_prio_batch": (0, 1),
    "spec_draft_poll": (None, 0),
    "spec_draft_poll_batch": (None, 1),
    "spec_draft_backend_sampling": (True, False),
    "spec_draft_p_min": (None, 0.5),
    "spec_draft_p_split": (None, 0.0),
    "ngram_size_n": (0, 4),
    "ngram_size_m": (0, 8),
    "ngram_min_hits": (0, 1),
    "ngram_mod_n_match": (0, 16),
    "ngram_mod_n_min": (0, 8),
    "ngram_mod_n_max": (0, 16),
    "lookup_cache_static": (None, LOOKUP),
    "lookup_cache_dynamic": (None, LOOKUP),
    "rpc_servers": ("", WORKER),
    "devices": ((), ("none",), (DEVICE,)),
    "main_gpu": (-1, 0),
    "tensor_split": ("", "3,1"),
    "cpu_moe_n": (0, 2),
    "cpu_ffn_n": (0, 2),
    "override_tensor": ((), (r"blk\.1\.ffn_(up|down)=CPU", "output=CPU")),
    "tensor_preset": ("", "moe-cpu-offload"),
    "op_offload": (None, False, True),
    "no_kv_offload": (False, True),
    "no_host": (False, True),
    "repack": (True, False),
    "default_ctx": (512, 1024),
    "ctx": (None, 300),
    "ctx_extend": (0.0, 2.0),
    "slots": (0, 1, 3),
    "deterministic": (False, True),
    "kv_unified": (None, False, True),
    "kv_unified_per_slot": (0, 256),
    "cache_type_k": ("", "bf16", "q5_1", "iq4_nl"),
    "cache_type_v": ("", "bf16", "q5_1", "iq4_nl"),
    "swa_full": (False, True),
    "ctx_checkpoints": (0, 2),
    "cache_ram_mb": (8192, 0, 64),
    "cache_idle_slots": (True, False),
    "slot_prompt_similarity": (0.0, 0.5),
    "keep_tokens": (0, -1, 4),
    "context_shift": (False, True),
    "cont_batching": (None, False, True),
    "batch_size": (0, 64, 1),
    "ubatch_size": (0, 32, 2048),
    "sessions": (True, False),
    "threads": (0, 1),
    "threads_batch": (0, 1),
    "cpu_range": ("", "0-0"),
    "cpu_strict": (False, True),
    "prio": (0, -1, 1),
    "prio_batch": (0, 1),
    "poll": (0, 50),
    "poll_batch": (None, 0),
    "numa": ("", "distribute", "isolate"),
    "mmproj_policy": (None, "attach", "lazy", "skip"),
    "mmproj": (None, PROJECTOR, "skip"),
    "mmproj_auto": (True, False),
    "mmproj_offload": (True, False),
    "mmproj_device": ("", "none"),
    "image_min_tokens": (0, 8),
    "image_max_tokens": (0, 64),
    "mtmd_batch_max_tokens": (0, 64),
    "video_fps": (0.0, 2.5),
    "video_timestamp_interval": (0.0, 1500.0),
    "video_ffmpeg_dir": ("", FOLDER),
    "loras": ((), (ADAPTER,), (f"{ADAPTER}:0.5", ADAPTER)),
    "lora_init_without_apply": (False, True),
    "lazy_mode": ("auto", "on", "off"),
    "check_tensors": (False, True),
    "warmup": (True, False),
    "chat_template": (None, "chatml"),
    "chat_template_file": (None, TEMPLATE),
    "chat_template_kwargs": (None, {"enable_thinking": False, "n": 1}),
    "reasoning_budget": (-1, 0, 16),
    "reasoning_budget_message": ("", "That is enough."),
    "samplers": ("", "top_k;temperature"),
    "adaptive_target": (0.0, 0.5),
    "adaptive_decay": (0.0, 0.5),
    "embeddings": (None, False, True),
    "embd_normalize": (0, -1),
    "spm_infill": (False, True),
    "yarn_orig_ctx": (0, 2048),
    "yarn_ext_factor": (-1.0, 0.0),
    "yarn_attn_factor": (0.0, 1.0),
    "yarn_beta_fast": (0.0, 32.0),
    "yarn_beta_slow": (0.0, 1.0),
    "agent": (False, True),
    "server_tools": (None, "all", "read_file,get_info"),
    "server_tools_runtime": (
        None,
        "ssh:nobody@127.0.0.1",
    ),  # reached when a tool is called, not before; a container would be started
    "mcp_servers_config": (None, SERVERS),
    "mcp_servers_json": (None, '{"mcpServers":{}}'),
    "threads_http": (0, 2),
    "server_timeout_secs": (None, 30),
    "sse_ping_interval": (None, -1, 10),
    "reuse_port": (False, True),
    "idle_sleep_secs": (300, 0),
    "child_transport": ("tcp", "unix"),
    "child_auth": (None, False, True),
    "engine_env": ({}, {"OMP_NUM_THREADS": "1"}),
    "extra_args": ((), *(tuple(words) for words in MIXED.values())),
}

NO_WORDS = {
    "engine": "says which build is started, not how",
    "late_chunking": "is asked of every model, and changes how one that embeds is started; the space is a chat model's",
    "ollama_compat": "says how its requests are written, not how it is started",
    "spawn_mem_guard": "is asked before a start",
}
"""Keys that planning reads, and no word depends on."""

_NO_SUCH_MODEL = "it needs heads of the model's own or a draft made for it, and is refused for a model without"
_BY_ITSELF = "said for both caches at once, or for each by itself"
_SAME_WORDS = "read as the cache's own types are; one of them shows the flag"
NOT_STARTED: dict[str, dict[str, str]] = {
    "spec": dict.fromkeys(("mtp", "mtp-adaptive", "eagle3", "dflash", "dspark"), _NO_SUCH_MODEL),
    "cache_type": dict.fromkeys(("bf16", "q5_1", "iq4_nl"), _BY_ITSELF),
    "cache_type_k": dict.fromkeys(("f32", "f16", "q8_0", "q4_0", "q4_1", "q5_0"), _BY_ITSELF),
    "cache_type_v": dict.fromkeys(("f32", "f16", "q8_0", "q4_0", "q4_1", "q5_0"), _BY_ITSELF),
    "spec_draft_type_k": dict.fromkeys(("f32", "f16", "bf16", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1"), _SAME_WORDS),
    "spec_draft_type_v": dict.fromkeys(("f32", "f16", "bf16", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1"), _SAME_WORDS),
}
"""Words of a key that no row has, each with the reason."""
NEVER_SAID = {
    "--spec-draft-n-max": "of mtp-adaptive alone",
}
"""Flags that no row leads to, each with the reason."""

_FAMILIES = (DRAFT, SIZES, MOD, ("lookup_cache_static", "lookup_cache_dynamic"))
_TYPES = ({"auto"}, set(SIZED), {"ngram-mod"}, {"auto", "ngram", "ngram-cache"})
_SPEC_WORDS = tuple(MIXED["guessing"])


def allowed(row: Row) -> bool:
    """Whether something can come of a row, or of a part of one: what configuration refuses does not, nor what would fall silent."""
    return not (_exclusive(row) or _without_device(row) or _split_refused(row) or _too_long(row) or _silent(row))


def _exclusive(row: Row) -> bool:
    """Configuration refuses it."""
    templates = _set(row, "chat_template") and _set(row, "chat_template_file")
    nowhere = _set(row, "server_tools_runtime") and row.get("server_tools", "all") is None
    return templates or nowhere or (_set(row, "mcp_servers_config") and _set(row, "mcp_servers_json"))


def _without_device(row: Row) -> bool:
    """The engine knows only devices that are there."""
    return DEVICE in row.get("devices", ()) and row.get("rpc_servers", WORKER) == ""


def _split_refused(row: Row) -> bool:
    """A worker's device cannot split rows, nor tensors with adapters or with caches and weights in main memory: compilation fails."""
    placed = _set(row, "override_tensor") or _set(row, "cpu_ffn_n")
    kept = _set(row, "loras") or (placed and row.get("no_kv_offload") is True)
    if row.get("split_mode") not in ("row", "tensor" if kept else "row"):
        return False
    devices = row.get("devices", ("none",))
    return DEVICE in devices or (row.get("rpc_servers", "") != "" and devices != ("none",))


def _too_long(row: Row) -> bool:
    """An embedding model answers nothing that is longer than its batch."""
    return row.get("embeddings") is True and row.get("batch_size") == 1


def _silent(row: Row) -> bool:
    """A key of one way of guessing changes nothing beside another."""
    told = [number for number, keys in enumerate(_FAMILIES) if any(_set(row, key) for key in keys)]
    if not told:
        return False
    spec = row.get("spec")
    off = row.get("embeddings") is True or row.get("extra_args") == _SPEC_WORDS
    if len(told) > 1 or off or (spec is not None and spec not in _TYPES[told[0]]):
        return True
    if told == [0]:
        return row.get(PAIRED) == "" or row.get("deterministic") is True
    by_itself = row.get(PAIRED) == "simple" or row.get("deterministic") is True or row.get("spec_auto_ngram") is False
    return spec == "auto" and by_itself


def _set(row: Row, key: str) -> bool:
    return key in row and row[key] != SPACE[key][0]


def parameters(manifest: Manifest, *, worker: bool) -> dict[str, tuple[Any, ...]]:
    """The space of one build: without values whose flag it lacks and must have, and without those that need a worker."""
    needed = {flag.key: flag for flag in LLAMACPP_FLAGS if flag.missing is Missing.REFUSE}

    def fits(key: str, value: Any) -> bool:
        words = needed[key].emit(needed[key].name, value) if key in needed else ()
        return not words or words[0] in manifest

    found = {key: (values[0], *(one for one in values[1:] if fits(key, one))) for key, values in SPACE.items()}
    return found if worker else {**found, "rpc_servers": ("",), "devices": found["devices"][:2]}


def pairs(space: Mapping[str, Sequence[Any]]) -> list[Row]:
    """Rows in which every two values that can meet do."""
    return covering_rows(space, allowed)


def at_random(chance: random.Random) -> Row:
    """One of the whole space."""
    row: Row = {}
    for key in chance.sample(list(SPACE), len(SPACE)):
        row[key] = chance.choice([value for value in SPACE[key] if allowed({**row, key: value})])
    return row


def said(row: Row) -> dict[str, Any]:
    """What of a row is not a default."""
    return {key: value for key, value in row.items() if value != SPACE[key][0]}


def filled(value: Any, things: Mapping[str, str]) -> Any:
    """With things that are there in the place of their names."""
    if isinstance(value, str):
        for name, thing in things.items():
            value = value.replace(name, thing)
        return value
    return tuple(filled(one, things) for one in value) if isinstance(value, tuple) else value


def config_text(row: Row, model: str, things: Mapping[str, str]) -> str:
    """The configuration as a person would write it: per-model keys as overrides, all others for every model."""
    told = {key: filled(value, things) for key, value in said(row).items() if key != PAIRED}
    told.setdefault("default_ctx", SPACE["default_ctx"][0])
    root = {key: value for key, value in told.items() if key not in Override.model_fields}
    own = {key: list(value) if isinstance(value, tuple) else value for key, value in told.items() if key not in root}
    tables = {key: value for key, value in root.items() if isinstance(value, dict)}
    plain = {
        key: list(value) if isinstance(value, tuple) else value for key, value in root.items() if key not in tables
    }
    return tomlkit.dumps({**plain, **tables, "model_overrides": {model: own}})


class Setup(NamedTuple):
    """What a row is compiled for."""

    engine: Engine
    manifest: Manifest
    model: Model
    files: WeightFiles
    things: Mapping[str, str]
    places: Places
    devices: DeviceLister | None = None


class Asked(NamedTuple):
    """The build's options, asked once."""

    known: Manifest

    def manifest(self, _: Engine) -> Manifest:
        return self.known


def planner_for(row: Row, setup: Setup) -> LaunchPlanner:
    """The planner of a daemon with this one configuration, on a machine with one core."""
    loaded: Loaded = load_config(config_text(row, setup.model.name, setup.things), "config.toml")
    census = FakeCensus(a_machine(16 * GIB, 12 * GIB, cores=1))
    beside = Beside(draft=setup.model.files[0], draft_family="simple") if row.get(PAIRED) else Beside()
    return LaunchPlanner(
        engines=MemoryEngineCatalog([setup.engine]),
        drivers={LLAMACPP.kind: LLAMACPP},
        probe=Asked(setup.manifest),
        hardware=census,
        settings_for=loaded.config.settings_for,
        sizing=Sizing(setup.files, census, setup.devices),
        origins_for=loaded.origins_for,
        beside_for=lambda _: beside,
        places=setup.places,
    )


def table_keys() -> set[str]:
    """What the flag table is told from."""
    return {flag.key for flag in LLAMACPP_FLAGS} - {FLOOR}
