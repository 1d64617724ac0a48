"""What llama.cpp hard-codes for each architecture about the memory of one load. Data only: no metadata is read here.

Complete for `LLM_ARCH_NAMES` of llama.cpp b11434 (src/llama-arch.cpp). A row holds what differs from `DEFAULT`, and names the
file in src/models whose `load_arch_hparams` says so; memory classes are those of `create_memory` (src/llama-model.cpp) and of
`llm_arch_is_recurrent` and `llm_arch_is_hybrid` (src/llama-arch.cpp). What a file's own keys say wins where the engine reads them.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from blazar.domain.fit.shape import Attends


class Keeps(StrEnum):
    """Which of the engine's memory classes a model is given."""

    NOTHING = "nothing"  # encoders and diffusion models
    ATTENTION = "attention"  # llama_kv_cache, or its iswa form where blocks are windowed
    STATE = "state"  # llama_memory_recurrent
    BOTH = "both"  # llama_memory_hybrid and its iswa form
    INDEXED_STATE = "indexed state"  # llama_memory_hybrid_idx
    INDEXED = "indexed"  # llama_kv_cache_msa: an indexer cache that holds values too
    SPARSE = "sparse"  # llama_kv_cache_dsa and its iswa form: an indexer cache beside the latent one
    COMPRESSED = "compressed"  # llama_kv_cache_dsv4


class Recurs(StrEnum):
    """How the engine tells a recurrent block."""

    NEVER = "never"
    ALWAYS = "always"
    NO_KV_HEADS = "no kv heads"
    NO_KV_HEADS_NO_FF = "no kv heads, no feed-forward"
    BY_INTERVAL = "by interval"  # attention.recurrent_layers, else every but each full_attention_interval-th block


class Window(NamedTuple):
    """Blocks that see only the last `attention.sliding_window` tokens.

    `period`: each so-manieth block is full where the file has no pattern (the last of each group, or its first); 0: none is;
    None: the engine insists on the file's pattern. `size`: where the file names none. `forced`: whatever the file names, unless
    that is 0. `blocks`: windowed only in models of so many. `key`: where this key is above 0, every block is windowed.
    `own`: the file's pattern is not read.
    """

    period: int | None = None
    dense_first: bool = False
    size: int = 0
    forced: int = 0
    attends: Attends = Attends.WINDOW
    blocks: int = 0
    key: str = ""
    own: bool = False


class Indexes(StrEnum):
    """Which blocks have an indexer of their own."""

    TRUNK = "trunk"
    AFTER_DENSE = "after the leading dense blocks"
    TYPES = "indexer.types"  # and none where the key is absent
    TYPES_OR_ALL = "indexer.types, else all"
    GLM = "indexer.types, else by trained window"  # GLM 5.2's own list for a window of 2**20 and above


class Facts(NamedTuple):
    """One architecture. `interval` is `full_attention_interval` where the file has none.

    `trunk_only`: predicting (NextN) blocks are kept out of the main cache. `kv_blocks`: only the first so many blocks have a
    cache of their own; `shares`: the last `attention.shared_kv_layers` have none. `borrows`: every block reads another model's
    cache. `router`: one more single-headed block behind the last. `keys_only`: values are never kept although the file has no MLA keys. `linear`: the state is head width squared a head.
    `indexes`, `row`, `pool`: which blocks are indexed, in how many key widths a cell, and the key that switches pooling on.
    `probe`: predicting blocks count only if the first of them has this tensor.
    """

    keeps: Keeps = Keeps.ATTENTION
    window: Window | None = None
    recurs: Recurs = Recurs.NEVER
    interval: int = 4
    trunk_only: bool = True
    kv_blocks: int = 0
    shares: bool = False
    borrows: bool = False
    router: bool = False
    keys_only: bool = False
    linear: bool = False
    indexes: Indexes = Indexes.TRUNK
    row: int = 3
    pool: str = "attention.indexer.kpool"
    probe: str = ""
    bare: bool = False  # only blocks without a feed-forward part keep anything
    causal: bool = True
    flash: bool = True  # false: flash attention is forced off
    upper: bool = False  # no architecture's: the most that unknown keys can mean


DEFAULT = Facts()
"""Full attention in every block of the trunk."""

_ENCODER = Facts(Keeps.NOTHING, causal=False)  # create_memory: no memory
_STATE = Facts(Keeps.STATE, recurs=Recurs.ALWAYS)
_HYBRID = Facts(Keeps.BOTH, recurs=Recurs.NO_KV_HEADS, trunk_only=False)
_INTERVAL = Facts(Keeps.BOTH, recurs=Recurs.BY_INTERVAL)
_PATTERN = Facts(window=Window())


def _every(period: int, *, dense_first: bool = False) -> Facts:
    return Facts(window=Window(period, dense_first))


_ROWS: dict[str, Facts] = {
    # No memory (llama-model.cpp, create_memory)
    "bert": _ENCODER,
    "jina-bert-v2": _ENCODER,
    "jina-bert-v3": _ENCODER,
    "nomic-bert": _ENCODER,
    "nomic-bert-moe": _ENCODER,
    "neo-bert": _ENCODER,
    "eurobert": _ENCODER,
    "wavtokenizer-dec": _ENCODER._replace(causal=True),
    "modern-bert": _ENCODER._replace(window=Window(3, dense_first=True)),  # modern-bert.cpp
    "gemma-embedding": _ENCODER._replace(window=Window(6)),  # gemma-embedding.cpp
    "dream": _ENCODER,
    "llada": _ENCODER,
    "llada-moe": _ENCODER,
    "rnd1": _ENCODER,
    "clef": _INTERVAL._replace(keeps=Keeps.NOTHING, causal=False),  # clef.cpp, on qwen35.cpp
    # State only (llm_arch_is_recurrent)
    "mamba": _STATE,
    "mamba2": _STATE,
    "rwkv6": _STATE,
    "rwkv6qwen2": _STATE,
    "rwkv7": _STATE,
    "arwkv7": _STATE,
    # State and attention (llm_arch_is_hybrid)
    "jamba": _HYBRID,  # jamba.cpp
    "plamo2": _HYBRID,  # plamo2.cpp
    "granitehybrid": _HYBRID,  # granite-hybrid.cpp
    "bailingmoe3": _HYBRID,  # bailingmoe3.cpp
    "kimi-linear": _HYBRID,  # kimi-linear.cpp
    "kimi-k3": _HYBRID,  # kimi-k3.cpp
    "lfm2moe": _HYBRID,  # lfm2moe.cpp
    "lfm2": _HYBRID._replace(window=Window(0, own=True)),  # lfm2.cpp: every attention block
    "falcon-h1": _HYBRID._replace(recurs=Recurs.ALWAYS),  # falcon-h1.cpp: every block has both
    "nemotron_h": _HYBRID._replace(recurs=Recurs.NO_KV_HEADS_NO_FF, bare=True),  # nemotron-h.cpp
    "nemotron_h_moe": _HYBRID._replace(recurs=Recurs.NO_KV_HEADS_NO_FF, bare=True),  # nemotron-h-moe.cpp
    "qwen3next": _INTERVAL,  # qwen3next.cpp
    "qwen35": _INTERVAL,  # qwen35.cpp
    "qwen35moe": _INTERVAL,  # qwen35moe.cpp
    "minimax-01": _INTERVAL._replace(interval=8, linear=True),  # minimax-01.cpp
    "qwen4exp": _INTERVAL._replace(keeps=Keeps.INDEXED_STATE, row=2, pool="attention.compress_ratios"),  # qwen4exp.cpp
    "glm5-next": _HYBRID._replace(
        keeps=Keeps.INDEXED_STATE, trunk_only=True, indexes=Indexes.TYPES_OR_ALL
    ),  # glm5-next.cpp, llama-hparams.h (three widths a row)
    # An indexer beside attention
    "deepseek32": Facts(Keeps.SPARSE),  # deepseek32.cpp
    "glm-dsa": Facts(Keeps.SPARSE, indexes=Indexes.GLM),  # glm-dsa.cpp
    "hy_v4": Facts(Keeps.SPARSE, indexes=Indexes.TYPES, trunk_only=False),  # hy-v4.cpp
    "dots3note": Facts(Keeps.SPARSE, Window(), indexes=Indexes.TYPES),  # dots3note.cpp
    "minimax-m3": Facts(Keeps.INDEXED, indexes=Indexes.AFTER_DENSE, trunk_only=False),  # minimax-m3.cpp
    "deepseek4": Facts(
        Keeps.COMPRESSED, Window(0, own=True), keys_only=True, trunk_only=False, probe="nextn.eh_proj.weight"
    ),  # deepseek4.cpp
    # Windows with a period of the engine's own
    "afmoe": _every(4),  # afmoe.cpp
    "cohere2": _every(4),  # cohere2.cpp
    "cohere2moe": _every(4, dense_first=True),  # cohere2moe.cpp
    "exaone-moe": Facts(window=Window(4, size=128)),  # exaone-moe.cpp
    "exaone4": Facts(window=Window(4, size=4096, blocks=64)),  # exaone4.cpp: the 32B model alone
    "gemma2": Facts(window=Window(2, size=4096)),  # gemma2.cpp
    "gemma3": _every(6),  # gemma3.cpp
    "gemma3n": Facts(window=Window(5), kv_blocks=20),  # gemma3n.cpp
    "gpt-oss": _every(2),  # openai-moe.cpp
    "laguna": _every(4, dense_first=True),  # laguna.cpp
    "llama4": Facts(window=Window(4, size=8192, forced=8192, attends=Attends.CHUNK)),  # llama4.cpp
    "mellum": _every(4),  # mellum.cpp
    "muse-glimmer": _every(4),  # muse-glimmer.cpp
    "olmo2": _every(4),  # olmo2.cpp
    "plamo3": _every(8),  # plamo3.cpp
    "smallthinker": Facts(window=Window(4, dense_first=True, forced=4096)),  # smallthinker.cpp
    # Windows by the file's pattern
    "gemma4": _PATTERN._replace(shares=True),  # gemma4.cpp
    "gemma4-assistant": Facts(window=Window(), borrows=True),  # gemma4-assistant.cpp: reads the target's cache
    "granite_swa": _PATTERN,  # granite-swa.cpp
    "maple": _PATTERN,  # maple.cpp
    "mimo2": _PATTERN,  # mimo2.cpp
    "spark2_5": _PATTERN,  # spark2-5.cpp
    "step35": _PATTERN,  # step35.cpp
    "dflash": Facts(window=Window(key="hyper_connection.count")),  # dflash.cpp
    # Others
    "graniteswitch": Facts(router=True, trunk_only=False),  # granite-switch.cpp
    "grok": Facts(flash=False),  # llama-context.cpp: flash attention is incompatible
}

# Full attention everywhere; a `sliding_window` key is not read (phi3.cpp switches it off by name).
_PLAIN = """
    apertus arcee arctic baichuan bailingmoe bailingmoe2 bitnet bloom chameleon chatglm codeshell cogvlm command-r dbrx deci
    deepseek deepseek2 deepseek2-ocr dots1 eagle3 ernie4_5 ernie4_5-moe exaone falcon gemma glm4 glm4moe gpt2 gptj gptneox
    granite granitemoe grovemoe hrm_text hunyuan-dense hunyuan-moe hunyuan_vl hy_v3 internlm2 jais jais2 llama llama-embed
    maincoder minicpm minicpm3 minimax-m2 mistral3 mistral4 mpt nanbeige nemotron olmo olmoe openelm orion paddleocr
    pangu-embedded phi2 phi3 phimoe plamo plm pockettts qwen qwen2 qwen2moe qwen2vl qwen3 qwen3moe qwen3tts qwen3vl qwen3vlmoe
    refact seed_oss smollm3 stablelm starcoder starcoder2 t5 t5encoder talkie xverse
"""

FACTS: Mapping[str, Facts] = MappingProxyType({**dict.fromkeys(_PLAIN.split(), DEFAULT), **_ROWS})
"""By `general.architecture`."""
