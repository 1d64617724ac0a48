"""llama-server's command line as the wheel can honour it: one row an option, one field of `CommonParams` a row.

Pure data: importing it loads nothing. What the wheel has no field for is not listed, so that the `--help` made from this
table tells the probe the truth and such a flag is reported instead of being swallowed.
"""

from typing import NamedTuple


class Option(NamedTuple):
    """`names` as typed, `meta` the value's name in `--help` ("" for a switch), `fields` what is set, `kind` how (`READERS`).

    `detail` refines the kind: an enumeration's type and prefix, or the constant of a switch.
    """

    names: str
    meta: str
    fields: str
    kind: str
    help: str
    detail: tuple[str, ...] = ()


_TYPES = "f32, f16, bf16, q8_0, q4_0, q4_1, iq4_nl, q5_0, q5_1"
_GUESSING = (
    "none,draft-simple,draft-eagle3,draft-mtp,draft-dflash,draft-dspark,"
    "ngram-simple,ngram-map-k,ngram-map-k4v,ngram-mod,ngram-cache"
)
"""As llama-server prints them; a test holds them against the wheel's own list."""
_CACHE = ("ggml_type", "GGML_TYPE_")
_POOLING = ("llama_pooling_type", "LLAMA_POOLING_TYPE_")

OPTIONS: tuple[Option, ...] = (
    Option("-m --model", "FNAME", "model.path", "text", "model path to load"),
    Option("-mm --mmproj", "FILE", "mmproj.path", "text", "path to a multimodal projector file"),
    Option("-a --alias", "STRING", "model_alias", "names", "set model name aliases, comma-separated"),
    Option("--lora", "FNAME", "lora_adapters", "loras", "path to LoRA adapter (comma-separated for several)"),
    Option(
        "--lora-init-without-apply", "", "lora_init_without_apply", "yes", "load LoRA adapters without applying them"
    ),
    Option("-c --ctx-size", "N", "n_ctx", "int", "size of the prompt context (0 = loaded from model)"),
    Option("-np --parallel", "N", "n_parallel", "int", "number of server slots"),
    Option("-kvu --kv-unified", "", "kv_unified", "yes", "use single unified KV buffer shared across all sequences"),
    Option("-no-kvu --no-kv-unified", "", "kv_unified", "no", "one KV buffer per sequence"),
    Option("--kv-unified-per-slot", "N", "kv_unified_per_slot", "int", "context limit per parallel slot"),
    Option(
        "-fa --flash-attn",
        "[on|off|auto]",
        "flash_attn_type",
        "enum",
        "set Flash Attention use",
        ("llama_flash_attn_type", "LLAMA_FLASH_ATTN_TYPE_"),
    ),
    Option("-fit --fit", "[on|off]", "fit_params", "onoff", "adjust unset arguments to fit in device memory"),
    Option("-ctk --cache-type-k", "TYPE", "cache_type_k", "enum", f"KV cache data type for K: {_TYPES}", _CACHE),
    Option("-ctv --cache-type-v", "TYPE", "cache_type_v", "enum", f"KV cache data type for V: {_TYPES}", _CACHE),
    Option("--swa-full", "", "swa_full", "yes", "use full-size SWA cache"),
    Option("-ctxcp --ctx-checkpoints", "N", "n_ctx_checkpoints", "int", "max number of context checkpoints per slot"),
    Option("-cram --cache-ram", "N", "cache_ram_mib", "int", "maximum prompt cache size in MiB (-1 no limit, 0 off)"),
    Option("--cache-idle-slots", "", "cache_idle_slots", "yes", "save idle slots to the prompt cache"),
    Option("--no-cache-idle-slots", "", "cache_idle_slots", "no", "do not save idle slots"),
    Option("--cache-prompt", "", "cache_prompt", "yes", "enable prompt caching"),
    Option("--no-cache-prompt", "", "cache_prompt", "no", "disable prompt caching"),
    Option("--cache-reuse", "N", "n_cache_reuse", "int", "min chunk size to reuse from the cache via KV shifting"),
    Option("-sps --slot-prompt-similarity", "SIMILARITY", "slot_prompt_similarity", "float", "prompt match for a slot"),
    Option("--slot-save-path", "PATH", "slot_save_path", "folder", "path to save slot kv cache"),
    Option("--keep", "N", "n_keep", "int", "number of tokens to keep from the initial prompt"),
    Option("-n --predict --n-predict", "N", "n_predict", "int", "number of tokens to predict (-1 = infinity)"),
    Option("--context-shift", "", "ctx_shift", "yes", "use context shift on infinite text generation"),
    Option("--no-context-shift", "", "ctx_shift", "no", "stop at the end of the context"),
    Option("-cb --cont-batching", "", "cont_batching", "yes", "enable continuous batching"),
    Option("-nocb --no-cont-batching", "", "cont_batching", "no", "disable continuous batching"),
    Option("-b --batch-size", "N", "n_batch", "int", "logical maximum batch size"),
    Option("-ub --ubatch-size", "N", "n_ubatch", "int", "physical maximum batch size"),
    Option("-t --threads", "N", "cpuparams.n_threads", "int", "number of CPU threads to use during generation"),
    Option("-tb --threads-batch", "N", "cpuparams_batch.n_threads", "int", "number of threads for prompt processing"),
    Option("-Cr --cpu-range", "lo-hi", "cpuparams", "cpus", "range of CPUs for affinity"),
    Option("--cpu-strict", "<0|1>", "cpuparams.strict_cpu", "digit", "use strict CPU placement"),
    Option(
        "--prio",
        "N",
        "cpuparams.priority",
        "member",
        "process priority: low(-1) to realtime(3)",
        ("ggml_sched_priority",),
    ),
    Option(
        "--prio-batch",
        "N",
        "cpuparams_batch.priority",
        "member",
        "the same for prompt processing",
        ("ggml_sched_priority",),
    ),
    Option("--poll", "<0...100>", "cpuparams.poll", "int", "polling level to wait for work"),
    Option("--poll-batch", "<0|1>", "cpuparams_batch.poll", "int", "use polling to wait for work"),
    Option(
        "--numa",
        "TYPE",
        "numa",
        "enum",
        "distribute, isolate or numactl",
        ("ggml_numa_strategy", "GGML_NUMA_STRATEGY_"),
    ),
    Option(
        "-ngl --gpu-layers --n-gpu-layers", "N", "n_gpu_layers", "layers", "layers to store in VRAM: N, auto or all"
    ),
    Option("-mg --main-gpu", "INDEX", "main_gpu", "int", "the GPU to use for the model"),
    Option(
        "-sm --split-mode",
        "{none,layer,row,tensor}",
        "split_mode",
        "enum",
        "how to split the model across GPUs",
        ("llama_split_mode", "LLAMA_SPLIT_MODE_"),
    ),
    Option("-ts --tensor-split", "N0,N1,...", "tensor_split", "split", "fraction of the model to offload to each GPU"),
    Option("-ot --override-tensor", "PATTERN=TYPE,...", "tensor_buft_overrides", "text", "override tensor buffer type"),
    Option("--op-offload", "", "no_op_offload", "no", "offload host tensor operations to device"),
    Option("--no-op-offload", "", "no_op_offload", "yes", "keep host tensor operations on the host"),
    Option("-kvo --kv-offload", "", "no_kv_offload", "no", "keep the KV cache on the device"),
    Option("-nkvo --no-kv-offload", "", "no_kv_offload", "yes", "keep the KV cache on the host"),
    Option("--no-host", "", "no_host", "yes", "bypass host buffer allowing extra buffers to be used"),
    Option("--repack", "", "no_extra_bufts", "no", "enable weight repacking"),
    Option("-nr --no-repack", "", "no_extra_bufts", "yes", "disable weight repacking"),
    Option(
        "-lm --load-mode",
        "MODE",
        "load_mode",
        "enum",
        "auto, none, mmap, mlock, mmap+mlock, dio",
        ("llama_load_mode", "LLAMA_LOAD_MODE_"),
    ),
    Option(
        "-lzm --lazy-mode",
        "MODE",
        "lazy_mode",
        "enum",
        "on, auto or off: read some tensors on demand",
        ("llama_lazy_mode", "LLAMA_LAZY_MODE_", "plain"),
    ),
    Option("--check-tensors", "", "check_tensors", "yes", "check model tensor data for invalid values"),
    Option("--warmup", "", "warmup", "yes", "perform warmup with an empty run"),
    Option("--no-warmup", "", "warmup", "no", "skip warmup"),
    Option(
        "--sleep-idle-seconds", "SECONDS", "sleep_idle_seconds", "int", "seconds of idleness before sleep (-1 = never)"
    ),
    Option("--offline", "", "offline", "yes", "prevents network access"),
    Option("--jinja", "", "use_jinja", "yes", "use jinja template engine for chat"),
    Option("--no-jinja", "", "use_jinja", "no", "do not use the jinja template engine"),
    Option("--chat-template", "JINJA_TEMPLATE", "chat_template", "text", "set custom jinja chat template"),
    Option("--chat-template-file", "FILE", "chat_template", "file", "set custom jinja chat template file"),
    Option("--chat-template-kwargs", "STRING", "default_template_kwargs", "object", "JSON object for the template"),
    Option("-rea --reasoning", "[on|off|auto]", "enable_reasoning", "choice", "use thinking", ("off", "on", "auto")),
    Option(
        "--reasoning-format",
        "FORMAT",
        "reasoning_format",
        "enum",
        "none, deepseek, deepseek-legacy or auto",
        ("common_reasoning_format", "COMMON_REASONING_FORMAT_"),
    ),
    Option("--reasoning-budget", "N", "sampling.reasoning_budget_tokens", "int", "token budget for thinking"),
    Option(
        "--reasoning-budget-message", "MESSAGE", "sampling.reasoning_budget_message", "text", "said when it is spent"
    ),
    Option("--samplers", "SAMPLERS", "sampling.samplers", "text", "samplers in order, separated by ;"),
    Option("-s --seed", "SEED", "sampling.seed", "int", "RNG seed"),
    Option("--temp --temperature", "N", "sampling.temp", "float", "temperature"),
    Option("--top-k", "N", "sampling.top_k", "int", "top-k sampling"),
    Option("--top-p", "N", "sampling.top_p", "float", "top-p sampling"),
    Option("--min-p", "N", "sampling.min_p", "float", "min-p sampling"),
    Option("--typical --typical-p", "N", "sampling.typ_p", "float", "locally typical sampling"),
    Option("--repeat-last-n", "N", "sampling.penalty_last_n", "int", "last n tokens to consider for penalties"),
    Option("--repeat-penalty", "N", "sampling.penalty_repeat", "float", "penalize repeat sequences of tokens"),
    Option("--presence-penalty", "N", "sampling.penalty_present", "float", "repeat alpha presence penalty"),
    Option("--frequency-penalty", "N", "sampling.penalty_freq", "float", "repeat alpha frequency penalty"),
    Option("--mirostat", "N", "sampling.mirostat", "int", "use Mirostat sampling (0 = off, 1 = Mirostat, 2 = 2.0)"),
    Option("--mirostat-lr", "N", "sampling.mirostat_eta", "float", "Mirostat learning rate"),
    Option("--mirostat-ent", "N", "sampling.mirostat_tau", "float", "Mirostat target entropy"),
    Option("-r --reverse-prompt", "PROMPT", "antiprompt", "one_more", "halt generation at PROMPT"),
    Option("--embedding --embeddings", "", "embedding", "yes", "restrict to only support embedding use case"),
    Option("--pooling", "{none,mean,cls,last,rank}", "pooling_type", "enum", "pooling type for embeddings", _POOLING),
    Option("--embd-normalize", "N", "embd_normalize", "int", "normalisation for embeddings"),
    Option("--mmproj-offload", "", "mmproj_use_gpu", "yes", "GPU offloading for the projector"),
    Option("--no-mmproj-offload", "", "mmproj_use_gpu", "no", "keep the projector on the host"),
    Option("-mmdev --mmproj-device", "DEVICE", "mmproj_device", "text", "device to use for the projector"),
    Option("--image-min-tokens", "N", "image_min_tokens", "int", "minimum number of tokens each image can take"),
    Option("--image-max-tokens", "N", "image_max_tokens", "int", "maximum number of tokens each image can take"),
    Option("--mtmd-batch-max-tokens", "N", "mtmd_batch_max_tokens", "int", "maximum number of image tokens per batch"),
    Option("--video-ffmpeg-dir", "DIR", "video_ffmpeg_bin_dir", "text", "directory with ffmpeg and ffprobe"),
    Option("--video-fps", "N", "video_fps", "float", "target video frame rate"),
    Option("--video-timestamp-interval", "N", "video_timestamp_interval_ms", "int", "milliseconds between timestamps"),
    Option(
        "--rope-scaling",
        "{none,linear,yarn}",
        "rope_scaling_type",
        "enum",
        "RoPE frequency scaling method",
        ("llama_rope_scaling_type", "LLAMA_ROPE_SCALING_TYPE_"),
    ),
    Option("--rope-scale", "N", "rope_freq_scale", "inverse", "RoPE context scaling factor"),
    Option("--rope-freq-base", "N", "rope_freq_base", "float", "RoPE base frequency"),
    Option("--rope-freq-scale", "N", "rope_freq_scale", "float", "RoPE frequency scaling factor"),
    Option("--yarn-orig-ctx", "N", "yarn_orig_ctx", "int", "YaRN: original context size of model"),
    Option("--yarn-ext-factor", "N", "yarn_ext_factor", "float", "YaRN: extrapolation mix factor"),
    Option("--yarn-attn-factor", "N", "yarn_attn_factor", "float", "YaRN: scale attention magnitude"),
    Option("--yarn-beta-slow", "N", "yarn_beta_slow", "float", "YaRN: high correction dim"),
    Option("--yarn-beta-fast", "N", "yarn_beta_fast", "float", "YaRN: low correction dim"),
    Option("--spec-draft-model -md --model-draft", "FNAME", "speculative.draft.mparams.path", "text", "draft model"),
    Option(
        "--spec-type",
        _GUESSING,
        "speculative.types",
        "enums",
        "types of speculative decoding to use",
        ("common_speculative_type", "COMMON_SPECULATIVE_TYPE_"),
    ),
    Option("--spec-draft-n-max", "N", "speculative.draft.n_max", "int", "number of tokens to draft"),
    Option("--spec-draft-n-min", "N", "speculative.draft.n_min", "int", "minimum number of tokens to draft"),
    Option("--spec-draft-p-min --draft-p-min", "P", "speculative.draft.p_min", "float", "minimum draft probability"),
    Option("--host", "HOST", "hostnames", "words", "IP addresses to listen on, or UNIX socket paths ending in .sock"),
    Option("--port", "PORT", "port", "int", "port to listen (default: 8080)"),
    Option("--reuse-port", "", "reuse_port", "yes", "allow multiple sockets to bind to the same port"),
    Option("--api-prefix", "PREFIX", "api_prefix", "text", "prefix path the server serves from"),
    Option("--api-key", "KEY", "api_keys", "keys", "API keys, comma-separated"),
    Option("--api-key-file", "FNAME", "api_keys", "keyfile", "file containing API keys, one per line; # for comments"),
    Option("--cors-origins", "ORIGINS", "cors_origins cors_origins_explicit", "origins", "allowed origins for CORS"),
    Option("--ui --webui", "", "ui", "yes", "enable the Web UI"),
    Option("--no-ui --no-webui", "", "ui", "no", "disable the Web UI"),
    Option("--metrics", "", "endpoint_metrics", "yes", "enable prometheus compatible metrics endpoint"),
    Option("--props", "", "endpoint_props", "yes", "enable changing global properties via POST /props"),
    Option("--slots", "", "endpoint_slots", "yes", "expose slots monitoring endpoint"),
    Option("--no-slots", "", "endpoint_slots", "no", "hide slots monitoring endpoint"),
    Option("--threads-http", "N", "n_threads_http", "int", "number of threads used to process HTTP requests"),
    Option("-to --timeout", "N", "timeout_read timeout_write", "int", "server read/write timeout in seconds"),
    Option(
        "--sse-ping-interval", "N", "sse_ping_interval", "int", "server SSE ping interval in seconds (-1 = disabled)"
    ),
    Option("-lv --verbosity --log-verbosity", "N", "verbosity", "int", "set the verbosity threshold"),
)
