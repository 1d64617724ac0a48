"""mlx-lm's flags as data: spelling, the setting behind it, how to say it. Order is the order on the command line.

Settings are keys of `[mlx]`; `model_path` is the only one that `resolve` adds. What a build lacks is left out with a warning.
"""

from blazar.domain.argv import FLOOR, Flag, always, fixed, object_text, switch

DECODE = "mlx.decode_concurrency"
PROMPT = "mlx.prompt_concurrency"
DRAFT = "mlx.draft_model"
KV_BITS = "mlx.kv_bits"

MLX_FLAGS: tuple[Flag, ...] = (
    # What is served
    Flag("--model", "model_path", always, "the folder of the model"),
    Flag("--adapter-path", "mlx.adapter_path"),
    Flag("--trust-remote-code", "mlx.trust_remote_code", switch),
    # Speculation
    Flag("--draft-model", DRAFT),
    Flag("--num-draft-tokens", "mlx.num_draft_tokens", always),
    # Cache
    Flag("--kv-bits", KV_BITS, always),
    Flag("--kv-group-size", "mlx.kv_group_size", always),
    Flag("--quantized-kv-start", "mlx.quantized_kv_start", always),  # 0: from the first token on
    Flag("--prompt-cache-size", "mlx.prompt_cache_size", always),  # 0: keep none
    Flag("--prompt-cache-bytes", "mlx.prompt_cache_bytes", always),
    # Batches
    Flag("--prefill-step-size", "mlx.prefill_step_size", always),
    Flag("--decode-concurrency", DECODE, always),
    Flag("--prompt-concurrency", PROMPT, always),
    # Templates
    Flag("--chat-template", "mlx.chat_template"),
    Flag("--chat-template-args", "mlx.chat_template_args", object_text),
    Flag("--use-default-chat-template", "mlx.use_default_chat_template", switch),
    # The door: the engine's default is any origin (case J21), and it takes no key (D21). No browser sends this word as one.
    Flag("--allowed-origins", FLOOR, fixed("localhost"), "web pages may not talk to it"),
)
