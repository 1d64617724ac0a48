"""llama-server's flags as data: spelling, the setting behind it, how to say it. `design.md` lists the keys.

Order is the order on the command line. Long spellings only: they survive renames of short ones and read well in `explain`.
"""

import json
from collections.abc import Mapping
from typing import Any

from blazar.domain.argv import Emit, Flag, always, joined, switch, tristate


def given(default: str) -> Emit:
    """Always said: the setting, else `default` (the floor of D30)."""
    return lambda name, setting: (name, default if setting is None else str(setting))


def unless(idle: float | str) -> Emit:
    """`--name V` but for None, "" and the one value that means the engine's own default. ODD: 0 may be a real choice."""
    return lambda name, setting: () if setting in (None, "", idle) else (name, str(setting))


def spelled(words: Mapping[str, str]) -> Emit:
    """`--name W` with the engine's word for ours."""
    return lambda name, setting: (name, words.get(setting, str(setting))) if setting else ()


def on(name: str, setting: Any) -> tuple[str, ...]:
    """`--name` unless told otherwise, then `--no-name`."""
    return tristate(name, setting is None or bool(setting))


def only_off(name: str, setting: Any) -> tuple[str, ...]:
    """`--no-name` when false, else silent: the engine does it by itself, and old builds know only the negative."""
    return (name,) if setting is False else ()


def one(name: str, setting: Any) -> tuple[str, ...]:
    """`--name 1` when true: some switches take a digit."""
    return (name, "1") if setting else ()


def object_text(name: str, setting: Any) -> tuple[str, ...]:
    """`--name JSON`."""
    return (name, json.dumps(setting, separators=(",", ":"), sort_keys=True)) if setting else ()


LLAMACPP_FLAGS: tuple[Flag, ...] = (
    # What is served
    Flag("--model", "model_path", always),
    Flag("--alias", "alias", always),
    Flag("--mmproj", "mmproj"),
    Flag("--lora", "loras", joined),  # joined: of a repeated flag the engine keeps only the last
    Flag("--lora-init-without-apply", "lora_init_without_apply", switch),
    # Window, slots, cache
    Flag("--ctx-size", "ctx_size", always),
    Flag("--parallel", "slots", always),
    Flag("--kv-unified", "kv_unified", tristate),
    Flag("--kv-unified-per-slot", "kv_unified_per_slot"),
    Flag("--flash-attn", "flash_attn", given("on")),
    Flag("--fit", "fit", given("off")),  # the engine must not shrink the window that was promised
    Flag("--cache-type-k", "cache_type_k"),
    Flag("--cache-type-v", "cache_type_v"),
    Flag("--swa-full", "swa_full", switch),
    Flag("--ctx-checkpoints", "ctx_checkpoints"),
    Flag("--cache-ram", "cache_ram_mb", always),
    Flag("--no-cache-idle-slots", "cache_idle_slots", only_off),
    Flag("--slot-prompt-similarity", "slot_prompt_similarity"),
    Flag("--slot-save-path", "slot_save_path"),
    Flag("--keep", "keep_tokens"),
    Flag("--context-shift", "context_shift", switch),  # ODD: said only when asked for; upstream switched it off
    Flag("--cont-batching", "cont_batching", tristate),
    Flag("--batch-size", "batch_size"),
    Flag("--ubatch-size", "ubatch_size"),
    # Processors
    Flag("--threads", "threads"),
    Flag("--threads-batch", "threads_batch"),
    Flag("--cpu-range", "cpu_range"),
    Flag("--cpu-strict", "cpu_strict", one),
    Flag("--prio", "prio"),
    Flag("--prio-batch", "prio_batch"),
    Flag("--poll", "poll"),
    Flag("--poll-batch", "poll_batch", always),
    Flag("--numa", "numa"),
    # Accelerators and where tensors lie
    Flag("--n-gpu-layers", "gpu_layers", always),
    Flag("--main-gpu", "main_gpu", unless(-1)),
    Flag("--split-mode", "split_mode"),
    Flag("--tensor-split", "tensor_split"),
    Flag("--device", "devices", joined),
    Flag("--n-cpu-moe", "cpu_moe_n"),
    Flag("--n-cpu-ffn", "cpu_ffn_n"),
    Flag("--override-tensor", "override_tensor", joined),
    Flag("--rpc", "rpc_servers"),
    Flag("--op-offload", "op_offload", tristate),
    Flag("--no-kv-offload", "no_kv_offload", switch),
    Flag("--no-host", "no_host", switch),
    Flag("--no-repack", "repack", only_off),
    # Loading
    Flag("--load-mode", "load_mode", spelled({"direct-io": "dio"})),
    Flag("--lazy-mode", "lazy_mode", unless("auto")),
    Flag("--check-tensors", "check_tensors", switch),
    Flag("--no-warmup", "warmup", only_off),
    Flag("--sleep-idle-seconds", "sleep_idle_seconds"),
    # Templates, thinking, sampling
    Flag("--chat-template", "chat_template"),
    Flag("--chat-template-file", "chat_template_file"),
    Flag("--chat-template-kwargs", "chat_template_kwargs", object_text),
    Flag("--reasoning", "reasoning"),
    Flag("--reasoning-format", "reasoning_format"),
    Flag("--reasoning-budget", "reasoning_budget", unless(-1)),
    Flag("--reasoning-budget-message", "reasoning_budget_message"),
    Flag("--samplers", "samplers"),
    Flag("--spm-infill", "spm_infill", switch),
    # Embeddings, images, video
    Flag("--embeddings", "embeddings", switch),
    Flag("--pooling", "pooling"),
    Flag("--embd-normalize", "embd_normalize"),
    Flag("--no-mmproj-offload", "mmproj_offload", only_off),
    Flag("--mmproj-device", "mmproj_device"),
    Flag("--image-min-tokens", "image_min_tokens"),
    Flag("--image-max-tokens", "image_max_tokens"),
    Flag("--mtmd-batch-max-tokens", "mtmd_batch_max_tokens"),
    Flag("--video-ffmpeg-dir", "video_ffmpeg_dir"),
    Flag("--video-fps", "video_fps"),
    Flag("--video-timestamp-interval", "video_timestamp_interval"),
    # Window extension
    Flag("--rope-scaling", "rope_scaling"),
    Flag("--rope-scale", "rope_scale"),
    Flag("--yarn-orig-ctx", "yarn_orig_ctx"),
    Flag("--yarn-ext-factor", "yarn_ext_factor", unless(-1.0)),
    Flag("--yarn-attn-factor", "yarn_attn_factor"),
    Flag("--yarn-beta-fast", "yarn_beta_fast"),
    Flag("--yarn-beta-slow", "yarn_beta_slow"),
    # Speculation
    Flag("--spec-draft-model", "draft_model"),
    Flag("--spec-type", "spec_type"),
    Flag("--spec-draft-n-max", "spec_draft_n_max"),
    Flag("--spec-draft-n-min", "spec_draft_n_min"),
    Flag("--spec-draft-p-min", "spec_draft_p_min"),
    # The door
    Flag("--cors-origins", "cors_origins", given("localhost")),  # the engine's default is any origin (case J21)
    Flag("--ui", "ui", lambda name, setting: tristate(name, bool(setting))),
    Flag("--metrics", "metrics", lambda name, setting: switch(name, setting is None or setting)),
    Flag("--slots", "slots_endpoint", on),
    Flag("--threads-http", "threads_http"),
    Flag("--timeout", "server_timeout_secs", always),
    Flag("--sse-ping-interval", "sse_ping_interval", always),
    Flag("--reuse-port", "reuse_port", switch),
    Flag("--verbosity", "verbosity", given("4")),  # 4 prints what memory went where and no prompt text
)
