"""How Hugging Face names what the engine's keys and tables name. Data only.

Keys are those of the `config.json` classes of transformers 4.57 (src/transformers/models/*/configuration_*.py); the values they
map to are llama.cpp's (src/llama-arch.cpp), as its converters map them (conversion/*.py).
"""

from types import MappingProxyType

ARCHITECTURES = MappingProxyType(
    {
        "mistral": "llama",
        "mixtral": "llama",
        "ministral": "llama",
        "internlm2": "internlm2",
        "qwen2_moe": "qwen2moe",
        "qwen2_vl": "qwen2vl",
        "qwen2_5_vl": "qwen2vl",
        "qwen3_moe": "qwen3moe",
        "qwen3_next": "qwen3next",
        "qwen3_vl": "qwen3vl",
        "qwen3_vl_moe": "qwen3vlmoe",
        "qwen3_5": "qwen35",
        "qwen3_5_moe": "qwen35moe",
        "gemma3_text": "gemma3",
        "gemma3n_text": "gemma3n",
        "gemma4_text": "gemma4",
        "llama4_text": "llama4",
        "deepseek_v2": "deepseek2",
        "deepseek_v3": "deepseek2",
        "deepseek_v32": "deepseek32",
        "kimi_k2": "deepseek2",
        "gpt_oss": "gpt-oss",
        "glm": "chatglm",
        "glm4_moe": "glm4moe",
        "cohere": "command-r",
        "gpt_neox": "gptneox",
        "gpt_bigcode": "starcoder",
        "falcon_h1": "falcon-h1",
        "granitemoe": "granitemoe",
        "granitemoehybrid": "granitehybrid",
        "lfm2_moe": "lfm2moe",
        "minimax_m2": "minimax-m2",
        "exaone_moe": "exaone-moe",
        "smallthinker": "smallthinker",
        "modernbert": "modern-bert",
        "xlm-roberta": "bert",
        "roberta": "bert",
        "phi": "phi2",
    }
)
"""`model_type` to architecture, where the two differ."""

KEYS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("context_length", ("max_position_embeddings", "n_positions", "max_seq_len", "n_ctx")),
    ("embedding_length", ("hidden_size", "n_embd", "d_model")),
    ("block_count", ("num_hidden_layers", "n_layer", "n_layers", "num_layers")),
    ("feed_forward_length", ("intermediate_size", "n_inner", "ffn_dim", "block_ff_dim")),
    ("attention.head_count", ("num_attention_heads", "n_head", "n_heads")),
    ("attention.head_count_kv", ("num_key_value_heads", "n_head_kv", "num_kv_heads")),
    ("attention.sliding_window", ("sliding_window", "local_attention")),
    ("attention.kv_lora_rank", ("kv_lora_rank",)),
    ("attention.shared_kv_layers", ("num_kv_shared_layers",)),
    ("attention.indexer.key_length", ("index_head_dim",)),
    ("attention.indexer.head_count", ("index_n_heads",)),
    ("attention.indexer.top_k", ("index_topk",)),
    ("expert_count", ("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts")),
    ("expert_used_count", ("num_experts_per_tok", "num_experts_per_token", "experts_per_token", "moe_topk")),
    ("expert_feed_forward_length", ("moe_intermediate_size",)),
    ("leading_dense_block_count", ("first_k_dense_replace",)),
    ("nextn_predict_layers", ("num_nextn_predict_layers",)),
    ("full_attention_interval", ("full_attention_interval",)),
    ("num_loops", ("num_loops",)),
    ("vocab_size", ("vocab_size",)),
    ("shortconv.l_cache", ("conv_L_cache",)),
    ("ssm.conv_kernel", ("mamba_d_conv", "linear_conv_kernel_dim", "conv_kernel")),
    ("ssm.state_size", ("mamba_d_state", "linear_key_head_dim", "ssm_state_size", "state_size")),
    ("ssm.group_count", ("mamba_n_groups", "linear_num_key_heads", "n_groups")),
    ("ssm.time_step_rank", ("mamba_n_heads", "linear_num_value_heads", "mamba_num_heads")),
    ("ssm.inner_size", ("mamba_d_ssm",)),
)
"""The engine's key, and the names under which configurations hold it, the first one found counts."""

DEFAULTS = MappingProxyType(
    {
        "gemma": {"head_dim": 256},
        "gemma2": {"head_dim": 256, "num_attention_heads": 8, "num_key_value_heads": 4, "sliding_window": 4096},
        "gemma3_text": {"head_dim": 256, "num_attention_heads": 8, "num_key_value_heads": 4, "sliding_window": 4096},
        "gemma3n_text": {"head_dim": 256, "num_attention_heads": 8, "num_key_value_heads": 2, "sliding_window": 512},
        "mixtral": {"num_key_value_heads": 8},
        "qwen3_next": {"head_dim": 256},
        "falcon": {"num_kv_heads": 1},
    }
)
"""What configuration classes fill in for keys that published files leave out, by `model_type`."""

WINDOWED = frozenset({"sliding_attention", "chunked_attention", "local_attention"})
"""Entries of `layer_types` that look back at a part of the context."""

STATEFUL = frozenset({"linear_attention", "conv", "mamba", "mamba2", "recurrent"})
"""Entries of `layer_types` and `layers_block_type` that keep a state and no keys."""

EXPERT_PARTS = MappingProxyType(
    {
        "gate_proj": "gate",
        "up_proj": "up",
        "down_proj": "down",
        "w1": "gate",
        "w3": "up",
        "w2": "down",
        "gate_up_proj": "gate_up",
    }
)
"""An expert's matrices, to the engine's."""
