"""SGLang's command line as data: spelling, the setting behind it, how to say it. `design.md` says what `resolve` supplies.

Spellings are those of 0.5.21. What a build does not list is left out with a warning, but for the rows without which the child
would be another one than was asked for.
"""

from blazar.domain.argv import FLOOR, Flag, Missing, always, fixed, only_off, spelled, switch

SGLANG_FLAGS: tuple[Flag, ...] = (
    # What is served
    Flag("--model-path", "model_path", always, "the folder of the model", Missing.REFUSE),
    # Routing and the identity check know a child by this name.
    Flag("--served-model-name", "alias", always, "the model's name here", Missing.REFUSE),
    # It would answer chats instead of embedding.
    Flag("--is-embedding", "is_embedding", switch, "it is served as an embedding model", Missing.REFUSE),
    Flag("--chat-template", "chat_template"),
    Flag("--chat-template", "chat_template_file"),
    # Window and requests at once
    Flag("--context-length", "ctx", missing=Missing.REFUSE),  # the window that was promised
    Flag("--max-running-requests", "slots"),
    Flag("--enable-deterministic-inference", "deterministic", switch),
    # Memory: planned (`ladder.py`), a pin wins
    Flag("--mem-fraction-static", "sglang.mem_fraction_static"),
    Flag("--kv-cache-dtype", "sglang.kv_cache_dtype"),
    # Without it the weights would not fit: nothing else on the line makes up for it.
    Flag("--cpu-offload-gb", "cpu_offload_gb", missing=Missing.REFUSE),
    # Cards
    Flag("--tp-size", "sglang.tp_size", missing=Missing.REFUSE),  # one card would get what only several hold
    Flag("--dp-size", "sglang.dp_size"),
    Flag("--pp-size", "sglang.pp_size", missing=Missing.REFUSE),
    Flag("--ep-size", "sglang.ep_size"),
    Flag("--base-gpu-id", "base_gpu_id"),
    # Prefix cache and scheduling
    Flag("--enable-cache-report", "sglang.cache_report", switch),
    Flag("--radix-eviction-policy", "sglang.radix_eviction_policy"),
    Flag("--enable-session-radix-cache", "sglang.session_radix_cache", switch),
    Flag("--enable-mixed-chunk", "sglang.mixed_chunk", switch),
    Flag("--enable-priority-scheduling", "sglang.enable_priority_scheduling", switch),
    Flag("--retraction-policy", "sglang.retraction_policy"),
    Flag("--enable-two-batch-overlap", "sglang.enable_two_batch_overlap", switch),
    # Kernels
    Flag("--attention-backend", "sglang.attention_backend"),
    Flag("--mm-attention-backend", "sglang.mm_attention_backend"),
    Flag("--grammar-backend", "sglang.grammar_backend"),
    Flag("--enable-tf32-matmul", "sglang.enable_tf32_matmul", switch),
    # Speculation
    Flag("--speculative-algorithm", "spec", spelled({"ngram": "NGRAM", "eagle3": "EAGLE3"})),
    # The algorithm without its draft is a line that the engine refuses.
    Flag("--speculative-draft-model-path", "draft", why="the draft that was pulled for it", missing=Missing.REFUSE),
    Flag("--speculative-num-steps", "sglang.spec_num_steps"),
    Flag("--speculative-eagle-topk", "sglang.speculative_eagle_topk"),
    Flag("--speculative-num-draft-tokens", "sglang.spec_num_draft_tokens"),
    Flag(
        "--speculative-accept-threshold-single", "sglang.speculative_accept_threshold_single", always
    ),  # 0 is a choice
    Flag("--speculative-accept-threshold-acc", "sglang.speculative_accept_threshold_acc", always),
    # The server
    Flag(
        "--enable-metrics", FLOOR, fixed(), "how full the cache is and how much of a prompt it held is read from them"
    ),
    Flag("--skip-server-warmup", "warmup", only_off),
)
