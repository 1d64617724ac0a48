"""llama-server's flags as data: spelling, the setting behind it, how to say it. `design.md` lists the keys.

Order is the order on the command line. Long spellings only: they survive renames of short ones and read well in `explain`.
Every setting named here is a configuration key or one that `resolve.py` supplies; `FLOOR` rows have none.

`NEEDED` rows refuse a load where the build lacks the flag: left out, the child would serve something else than was asked for
(another window, other numbers in the cache, other devices, another kind of answer). All others cost comfort or speed at most, and are
left out with a warning.
"""

from typing import Any

from blazar.domain.argv import (
    FLOOR,
    Flag,
    Missing,
    adapters,
    always,
    fixed,
    joined,
    object_text,
    one,
    only_off,
    spelled,
    switch,
    tristate,
    unless,
)

NEEDED = Missing.REFUSE


def sized(name: str, setting: tuple[str, int] | None) -> tuple[str, ...]:
    """`--spec-ngram-TYPE-… N`: each type of guessing has a flag of its own for the same thing. `name` is the first type's."""
    if not setting:
        return ()
    type_, size = setting
    return (name.replace("ngram-simple", type_), str(size))


def digit(name: str, setting: Any) -> tuple[str, ...]:
    """`--name 1` or `--name 0`; None is neither."""
    return () if setting is None else (name, str(int(setting)))


def milli(name: str, setting: float) -> tuple[str, ...]:
    """`--name N` of a number that has to be whole."""
    return (name, str(round(setting))) if setting else ()


TYPICAL = frozenset({"typical", "typical_p", "typicalp"})
"""Names of the setup document and of requests that the engine's own list does not have; one it does not know it leaves out."""


def chain(name: str, setting: str | None) -> tuple[str, ...]:
    """`--name A;B` in the engine's words."""
    steps = ("typ_p" if one.lower().replace("-", "_") in TYPICAL else one for one in (setting or "").split(";"))
    return (name, ";".join(steps)) if setting else ()


LLAMACPP_FLAGS: tuple[Flag, ...] = (
    # What is served
    Flag("--model", "model_path", always),
    Flag("--alias", "alias", always, missing=NEEDED),  # its child is known by this name
    # Window, slots, cache
    Flag("--ctx-size", "ctx_size", always, missing=NEEDED),
    Flag("--parallel", "slots", always, missing=NEEDED),
    Flag("--kv-unified", "kv_unified", tristate),
    Flag("--kv-unified-per-slot", "kv_unified_per_slot"),
    Flag("--flash-attn", FLOOR, fixed("on"), "faster, and a cache of quantised numbers needs it"),
    Flag("--fit", FLOOR, fixed("off"), "the engine must not shrink the window that was promised"),
    Flag("--cache-type-k", "cache_type_k", missing=NEEDED),
    Flag("--cache-type-v", "cache_type_v", missing=NEEDED),
    Flag("--swa-full", "swa_full", switch),
    Flag("--ctx-checkpoints", "ctx_checkpoints"),
    Flag("--cache-ram", "cache_ram_mb", always),  # MiB of main memory for prompts that may be continued; 0 is a choice
    Flag("--no-cache-idle-slots", "cache_idle_slots", only_off),
    Flag("--slot-prompt-similarity", "slot_prompt_similarity"),
    Flag("--keep", "keep_tokens"),
    Flag(
        "--context-shift", "context_shift", switch
    ),  # ODD: the window is shifted only when asked for; upstream switched it off
    Flag("--cont-batching", "cont_batching", tristate),
    Flag("--batch-size", "batch_size"),
    Flag(
        "--ubatch-size", "ubatch_size"
    ),  # ODD: a micro-batch is said only when it is set: more than the engine's own was measured to be slower
    Flag("--slot-save-path", "sessions"),
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
    Flag(
        "--rpc", "rpc_servers", missing=NEEDED
    ),  # before whatever names a device: workers' devices are known from here on
    Flag(
        "--n-gpu-layers", "gpu_layers", always, missing=NEEDED
    ),  # None where there is no GPU; 0 keeps all in main memory
    Flag("--main-gpu", "main_gpu", unless(-1), missing=NEEDED),
    Flag("--split-mode", "split_mode", missing=NEEDED),
    Flag("--tensor-split", "tensor_split", missing=NEEDED),
    Flag("--device", "devices", joined, missing=NEEDED),
    Flag("--cpu-moe", "tensor_preset", switch, missing=NEEDED, adds=True),
    Flag("--n-cpu-moe", "cpu_moe_n", missing=NEEDED, adds=True),
    Flag("--n-cpu-ffn", "cpu_ffn_n", missing=NEEDED, adds=True),
    Flag("--override-tensor", "override_tensor", joined, missing=NEEDED, adds=True),
    Flag("--op-offload", "op_offload", tristate),
    Flag("--no-kv-offload", "no_kv_offload", switch, missing=NEEDED),
    Flag("--no-host", "no_host", switch),
    Flag("--no-repack", "repack", only_off),
    # Pictures and films
    Flag("--mmproj", "projector", missing=NEEDED),
    Flag("--no-mmproj-offload", "mmproj_offload", only_off, missing=NEEDED),
    Flag("--mmproj-device", "mmproj_device", missing=NEEDED),
    Flag("--image-min-tokens", "image_min_tokens"),
    Flag("--image-max-tokens", "image_max_tokens"),
    Flag("--mtmd-batch-max-tokens", "mtmd_batch_max_tokens"),
    Flag("--video-fps", "video_fps"),
    Flag("--video-timestamp-interval", "video_timestamp_interval", milli),
    Flag("--video-ffmpeg-dir", "video_ffmpeg_dir"),
    # Adapters
    Flag("--lora", "loras", adapters, missing=NEEDED, adds=True),
    Flag("--lora-init-without-apply", "lora_init_without_apply", switch, missing=NEEDED),
    # Guessing ahead
    Flag("--spec-type", "spec_type", missing=NEEDED),
    Flag("--model-draft", "draft_model", missing=NEEDED),
    Flag("--spec-draft-n-max", "draft_n_max"),
    Flag("--gpu-layers-draft", "spec_draft_ngl", always),
    Flag("--device-draft", "spec_draft_device"),
    Flag("--cache-type-k-draft", "spec_draft_type_k"),
    Flag("--cache-type-v-draft", "spec_draft_type_v"),
    Flag("--override-tensor-draft", "spec_draft_override_tensor", joined, adds=True),
    Flag("--cpu-moe-draft", "spec_draft_cpu_moe", switch, adds=True),
    Flag("--n-cpu-moe-draft", "spec_draft_n_cpu_moe", adds=True),
    Flag("--threads-draft", "spec_draft_threads"),
    Flag("--threads-batch-draft", "spec_draft_threads_batch"),
    Flag("--cpu-range-draft", "spec_draft_cpu_range"),
    Flag("--cpu-strict-draft", "spec_draft_cpu_strict", digit),
    Flag("--cpu-strict-batch-draft", "spec_draft_cpu_strict_batch", digit),
    Flag("--prio-draft", "spec_draft_prio"),
    Flag("--prio-batch-draft", "spec_draft_prio_batch"),
    Flag("--poll-draft", "spec_draft_poll", always),
    Flag("--poll-batch-draft", "spec_draft_poll_batch", always),
    Flag("--no-spec-draft-backend-sampling", "spec_draft_backend_sampling", only_off),
    Flag("--draft-p-min", "spec_draft_p_min", always),
    Flag("--draft-p-split", "spec_draft_p_split", always),
    Flag("--spec-ngram-simple-size-n", "ngram_size_n", sized),
    Flag("--spec-ngram-simple-size-m", "ngram_size_m", sized),
    Flag("--spec-ngram-simple-min-hits", "ngram_min_hits", sized),
    Flag("--spec-ngram-mod-n-match", "ngram_mod_n_match"),
    Flag("--spec-ngram-mod-n-min", "ngram_mod_n_min"),
    Flag("--spec-ngram-mod-n-max", "ngram_mod_n_max"),
    Flag("--lookup-cache-static", "lookup_cache_static"),
    Flag("--lookup-cache-dynamic", "lookup_cache_dynamic"),
    # Loading
    Flag("--load-mode", "load_mode", spelled({"direct-io": "dio"})),
    Flag("--lazy-mode", "lazy_mode", unless("auto")),
    Flag("--check-tensors", "check_tensors", switch),
    Flag("--no-warmup", "warmup", only_off),
    # Templates, thinking, sampling
    Flag("--chat-template", "chat_template", missing=NEEDED),
    Flag("--chat-template-file", "chat_template_file", missing=NEEDED),
    Flag("--chat-template-kwargs", "chat_template_kwargs", object_text),
    Flag("--reasoning", "reasoning"),
    Flag("--reasoning-format", "reasoning_format"),
    Flag("--reasoning-budget", "reasoning_budget", unless(-1)),
    Flag("--reasoning-budget-message", "reasoning_budget_message"),
    Flag("--samplers", "samplers", chain),
    Flag("--spm-infill", "spm_infill", switch),
    Flag("--adaptive-target", "adaptive_target"),
    Flag("--adaptive-decay", "adaptive_decay"),
    # Embeddings
    Flag("--embeddings", "embeddings", switch, missing=NEEDED),
    Flag("--pooling", "pooling", missing=NEEDED),
    Flag("--embd-normalize", "embd_normalize"),
    # Window extension
    Flag("--rope-scaling", "rope_scaling", missing=NEEDED),
    Flag("--rope-scale", "ctx_extend", missing=NEEDED),
    Flag("--yarn-orig-ctx", "yarn_orig_ctx", missing=NEEDED),
    Flag("--yarn-ext-factor", "yarn_ext_factor", unless(-1.0)),
    Flag("--yarn-attn-factor", "yarn_attn_factor"),
    Flag("--yarn-beta-fast", "yarn_beta_fast"),
    Flag("--yarn-beta-slow", "yarn_beta_slow"),
    # Tools that the engine runs itself: only where somebody asked for them
    Flag("--agent", "agent", switch),
    Flag("--tools", "server_tools"),
    Flag("--tools-runtime", "server_tools_runtime", missing=NEEDED),  # without it they would run on this machine
    Flag("--mcp-servers-config", "mcp_servers_config"),
    # The door
    Flag("--cors-origins", FLOOR, fixed("localhost"), "the engine's default is any origin"),  # case J21
    Flag("--no-ui", FLOOR, fixed(), "nobody but the gateway talks to it"),
    Flag("--metrics", FLOOR, fixed(), "its counters can be read, by ours and by others"),
    Flag("--slots", FLOOR, fixed(), "a request that takes long is told from an engine that hangs"),
    Flag("--threads-http", "threads_http"),
    Flag("--timeout", "server_timeout_secs", always),
    Flag("--sse-ping-interval", "sse_ping_interval", always),
    Flag("--reuse-port", "reuse_port", switch),
    Flag("--sleep-idle-seconds", "idle_sleep_secs"),
    Flag("--verbosity", FLOOR, fixed("4"), "prints what memory went where, and no prompt"),
)
