"""llama-server's flags as data: spelling, the setting behind it, how to say it. `design.md` lists the keys.

Order is the order on the command line. Long spellings only: they survive renames of short ones and read well in `explain`.
Every setting named here is a configuration key or one that the launch planner supplies; `FLOOR` rows have none.
"""

from blazar.domain.argv import (
    FLOOR,
    Flag,
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

LLAMACPP_FLAGS: tuple[Flag, ...] = (
    # What is served
    Flag("--model", "model_path", always),
    Flag("--alias", "alias", always),
    # Window, slots, cache
    Flag("--ctx-size", "ctx_size", always),
    Flag("--parallel", "slots", always),
    Flag("--kv-unified", "kv_unified", tristate),
    Flag(
        "--kv-unified-per-slot", "kv_unified_per_slot"
    ),  # what one request may take of a cache that holds several windows
    Flag("--flash-attn", FLOOR, fixed("on")),
    Flag("--fit", FLOOR, fixed("off")),  # the engine must not shrink the window that was promised
    Flag("--cache-type-k", "cache_type_k"),
    Flag("--cache-type-v", "cache_type_v"),
    Flag("--swa-full", "swa_full", switch),
    Flag("--ctx-checkpoints", "ctx_checkpoints"),
    Flag("--cache-ram", "cache_ram_mb", always),  # MiB of main memory for prompts that may be continued; 0 is a choice
    Flag("--no-cache-idle-slots", "cache_idle_slots", only_off),
    Flag("--slot-prompt-similarity", "slot_prompt_similarity"),
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
    Flag("--rpc", "rpc_servers"),  # before whatever names a device: workers' devices are known from here on
    Flag("--n-gpu-layers", "gpu_layers", always),  # None where there is no GPU; 0 keeps all in main memory
    Flag("--main-gpu", "main_gpu", unless(-1)),
    Flag("--split-mode", "split_mode"),
    Flag("--tensor-split", "tensor_split"),
    Flag("--device", "devices", joined),
    Flag("--n-cpu-moe", "cpu_moe_n"),
    Flag("--n-cpu-ffn", "cpu_ffn_n"),
    Flag("--override-tensor", "override_tensor", joined),
    Flag("--op-offload", "op_offload", tristate),
    Flag("--no-kv-offload", "no_kv_offload", switch),
    Flag("--no-host", "no_host", switch),
    Flag("--no-repack", "repack", only_off),
    Flag("--no-mmproj-offload", "projector_offload", only_off),
    Flag("--mmproj-device", "projector_device"),
    Flag("--gpu-layers-draft", "draft_gpu_layers", always),
    Flag("--device-draft", "draft_devices", joined),
    # Loading
    Flag("--load-mode", "load_mode", spelled({"direct-io": "dio"})),
    Flag("--lazy-mode", "lazy_mode", unless("auto")),
    Flag("--check-tensors", "check_tensors", switch),
    Flag("--no-warmup", "warmup", only_off),
    # Templates, thinking, sampling
    Flag("--chat-template", "chat_template"),
    Flag("--chat-template-file", "chat_template_file"),
    Flag("--chat-template-kwargs", "chat_template_kwargs", object_text),
    Flag("--reasoning", "reasoning"),
    Flag("--reasoning-format", "reasoning_format"),
    Flag("--reasoning-budget", "reasoning_budget", unless(-1)),
    Flag("--reasoning-budget-message", "reasoning_budget_message"),
    Flag("--samplers", "samplers"),
    # Embeddings
    Flag("--embeddings", "embeddings", switch),
    Flag("--pooling", "pooling"),
    Flag("--embd-normalize", "embd_normalize"),
    # Window extension
    Flag("--yarn-orig-ctx", "yarn_orig_ctx"),
    Flag("--yarn-ext-factor", "yarn_ext_factor", unless(-1.0)),
    Flag("--yarn-attn-factor", "yarn_attn_factor"),
    Flag("--yarn-beta-fast", "yarn_beta_fast"),
    Flag("--yarn-beta-slow", "yarn_beta_slow"),
    # The door
    Flag("--cors-origins", FLOOR, fixed("localhost")),  # the engine's default is any origin (case J21)
    Flag("--no-ui", FLOOR, fixed()),
    Flag("--metrics", FLOOR, fixed()),
    Flag("--slots", FLOOR, fixed()),
    Flag("--threads-http", "threads_http"),
    Flag("--timeout", "server_timeout_secs", always),
    Flag("--sse-ping-interval", "sse_ping_interval", always),
    Flag("--reuse-port", "reuse_port", switch),
    Flag("--verbosity", FLOOR, fixed("4")),  # 4 prints what memory went where and no prompt text
)
