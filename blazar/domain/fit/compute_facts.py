"""What a block holds at once while it works: the table behind `compute`. Data only: no shape is read here.

llama.cpp's compute buffer is ggml-alloc's peak over one graph (ggml/src/ggml-alloc.c): every tensor of the graph lives from the
node that makes it to the last node that reads it, and the buffer ends where the highest of them ends. Each `Moment` is one such
crowd, taken from the order in which src/llama-graph.cpp and src/models of llama.cpp b11434 build their nodes. Holes that
ggml-alloc's best fit leaves between tensors are counted where they recur in every graph (the width of a freed tensor that its
successors do not fit into); the others are what the figures miss.
"""

from collections.abc import Mapping
from typing import NamedTuple


class Moment(NamedTuple):
    """One crowd of live tensors.

    `needs`: widths that must all be above 0, else no block has this moment. `tokens`: f32 elements a token, as multiples of the
    block's widths. `sequences`: multiples of the block's scan state, one for each sequence. `squares`: multiples of its heads
    times the square of the tokens, in f32. `scored` and `picked`: bytes for every token and each cell that an indexer scores
    or picks, `alone`: for each that it picks of one sequence only, `pools`: for each pool of cells, `spread`: for each cell of
    all sequences. `gathered`: multiples of an indexer's key, in f32, for each cell of all sequences once. `blocks`: bytes for
    each head of an indexer that picks whole blocks of cells, and each cell and token of one sequence. `beside`: bytes for every
    token and each cell of the window that compressed cells stand beside, `joined`: multiples of a cell's key, in f16, for each
    cell of both. `copies`: f16 copies of an f32 cache are alive, or without flash attention the heads' scores; `scores`:
    multiples of the latter besides. `after`: the block's attention is over, so that a mask which no later block reads is gone.
    """

    name: str
    needs: tuple[str, ...]
    tokens: Mapping[str, float]
    sequences: float = 0
    squares: float = 0
    scored: float = 0
    picked: float = 0
    alone: float = 0
    pools: float = 0
    spread: float = 0
    gathered: float = 0
    blocks: float = 0
    beside: float = 0
    joined: float = 0
    scores: float = 0
    copies: bool = False
    after: bool = False


MOMENTS = (
    # build_qkv, then RoPE and the heads' norms, which need a second Q or K where the first is a view of the fused product.
    Moment("projections", ("q",), {"stream": 1, "hidden": 1, "q raw": 1, "q": 1, "k": 2, "v": 1}),
    # build_attn_mha: Q, the output, and f16 copies of K and V where the cache is f32.
    Moment("attention", ("q",), {"stream": 1, "hidden": 1, "q raw": 1, "out": 1}, copies=True),
    # MLA: Q as projected stays a hole below the absorbed Q, its position part, and their concatenation.
    Moment(
        "latent projections",
        ("q latent",),
        {"stream": 1, "hidden": 2, "q raw": 1, "q content": 1, "q position": 1, "q latent": 1, "k": 1},
    ),
    Moment(
        "latent attention",
        ("q latent",),
        {"stream": 1, "hidden": 2, "q raw": 1, "q latent": 1, "q content": 1},
        copies=True,
    ),
    # build_ffn: up, gate and their product; the norm is a hole by then.
    Moment("feed-forward", ("up",), {"stream": 1, "hidden": 2, "up": 1, "gate": 1, "gated": 1}, after=True),
    # gemma3n.cpp: predictions of all alternating streams wait for the block's end, between the rows that made them.
    Moment(
        "alternating", ("up", "alternating"), {"stream": 1, "hidden": 5, "up": 1, "gate": 1, "gated": 1}, after=True
    ),
    # t5.cpp, t5encoder.cpp: positions' bias as it is looked up and as it is laid out, beside the heads' scores.
    Moment("position bias", ("position bias",), {"stream": 1, "hidden": 2, "q raw": 1}, scores=2, copies=True),
    # build_moe_ffn: routing (logits, probabilities, biased ones, argsort), up, gate and product of the experts that a token
    # visits, then their outputs side by side.
    Moment("routing", ("experts",), {"stream": 1, "hidden": 1, "experts": 4}, after=True),
    Moment("experts", ("expert up",), {"stream": 1, "hidden": 2, "expert up": 1, "expert gate": 2}, after=True),
    Moment(
        "experts' outputs",
        ("expert out",),
        {"stream": 1, "hidden": 2, "expert up": 1, "expert out": 1, "expert hole": 1},
        after=True,
    ),
    # Several residual streams are freed where the experts' outputs do not fit in.
    Moment(
        "streamed experts",
        ("streamed", "expert out"),
        {"stream": 2, "hidden": 2, "expert up": 1, "expert out": 1, "expert hole": 1},
        after=True,
    ),
    Moment("shared experts", ("shared",), {"stream": 1, "hidden": 3, "shared": 3}, after=True),
    # mamba-base.cpp: input projection, convolution, step sizes, scan; the scan's result ends with every sequence's new state.
    Moment(
        "selective scan",
        ("scan in", "scan step"),
        {"stream": 1, "hidden": 2, "scan in": 1, "convolved": 1, "inner": 2},
        sequences=2,
    ),
    Moment(
        "state space scan",
        ("scan in", "inner"),
        {"stream": 1, "hidden": 2, "scan in": 1, "convolved": 1.5, "inner": 2},
        sequences=2,
    ),
    # delta-net-base.cpp: projection and its concatenation with the old rows, the convolved Q, K and V, the gate, the result.
    Moment("delta rule", ("delta",), {"stream": 1, "hidden": 2, "delta": 2, "inner": 2}, sequences=2),
    # minimax-01.cpp: decay between all pairs of a micro-batch's tokens, beside the one that is an input (`Geometry.decaying`),
    # and the product with it. One sequence has two of them, several have less: a figure that never falls is a little low for one.
    Moment("decay", ("decay",), {"stream": 1, "qkv": 1, "q": 2.25}, sequences=1.5, squares=1.7),
    # rwkv6-base.cpp: the token-shifted inputs of five projections, their outputs, the state; rwkv7-base.cpp has six, and keeps
    # the first block's values for all others, which lie where they keep the feed-forward part from using what is free below.
    Moment("time mix", ("time mix",), {"stream": 1, "hidden": 11, "time mix": 2}, sequences=2),
    Moment("time mix with rates", ("rate",), {"stream": 1, "hidden": 16, "time mix": 2}, sequences=2),
    Moment(
        "values kept",
        ("time mix", "up"),
        {"stream": 1, "hidden": 4, "up": 1, "gate": 1, "gated": 1},
        sequences=1,
        after=True,
    ),
    Moment("rates kept", ("rate", "up"), {"stream": 1, "hidden": 7, "up": 1, "gate": 1, "gated": 1}, after=True),
    # lfm2.cpp: B, C and X in one product, B*X and its concatenation with the old rows, the convolution.
    Moment("short convolution", ("short",), {"stream": 1, "hidden": 4, "short": 1}),
    # build_attn over an indexer's choice (deepseek32.cpp, glm-dsa.cpp): its queries before and after RoPE, then their
    # scores and the order of these. The zeros that unmask a choice are counted apart (`Geometry.waits`).
    Moment("indexer queries", ("index q",), {"stream": 1, "hidden": 3, "q latent": 2, "index q": 2}),
    Moment(
        "indexer choice",
        ("index q",),
        {"stream": 3, "hidden": 1, "q latent": 1, "index q": 1.5},
        scored=4,
        picked=4,
        copies=True,
    ),
    # minimax-m3.cpp: every head's choice of blocks is spread over one sequence's cells and turned, beside the mask in f32 and
    # one of positions. The engine reserves the latter for few positions only, and grows its buffer as these are reached.
    Moment("block choice", ("block q",), {"stream": 1, "hidden": 1, "q raw": 2}, scored=8, blocks=8),
    # deepseek4.cpp: the same over compressed cells, with four residual streams in flight.
    Moment("streamed queries", ("streamed q",), {"stream": 3.5, "hidden": 1, "q raw": 1, "q": 1}),
    Moment("compressed queries", ("compressed q",), {"stream": 3, "hidden": 1, "q": 1, "compressed q": 2}, scored=2),
    Moment(
        "compressed choice", ("compressed q",), {"stream": 3, "hidden": 1, "q": 1}, scored=6, picked=3.5, copies=True
    ),
    Moment(
        "joined attention",
        ("compressed q",),
        {"stream": 2, "hidden": 2, "q": 2},
        scored=2,
        beside=2,
        joined=1,
        copies=True,
    ),
    # glm5-next.cpp and qwen4exp.cpp: pools of cells are scored and picked, and the picked cells' mask is spread over the cells of
    # all sequences again. The first pools with a gate, for which every cell's key and gate are gathered.
    Moment("pool keys", ("pool gate",), {"stream": 2, "hidden": 2}, pools=2, picked=2, gathered=4),
    Moment("pool scores", ("pool q",), {"stream": 3, "hidden": 3, "pool q": 2}, pools=6, gathered=0.25),
    Moment(
        "pool choice",
        ("pool gate", "q latent"),
        {"stream": 3, "hidden": 2, "q latent": 1},
        picked=15.25,
        alone=1.2,
        copies=True,
    ),
    Moment("pool choice", ("pool q", "q"), {"stream": 3, "hidden": 2, "q raw": 2}, picked=23.5, copies=True),
    Moment(
        "spread choice", ("pool gate",), {"stream": 3, "hidden": 2}, pools=2, spread=2, scored=2, picked=4, copies=True
    ),
    Moment("spread choice", ("pool q",), {"stream": 3, "hidden": 2}, pools=2, spread=2, picked=4, copies=True),
    # qwen4exp.cpp: the spread mask and its sum with the cells' own, which takes that one's place once no later block reads it.
    Moment(
        "spread mask",
        ("pool q", "q"),
        {"stream": 2, "hidden": 1, "q raw": 1, "q": 1},
        pools=6,
        scored=4,
        alone=2,
        copies=True,
        after=True,
    ),
)
"""Every kind of block's crowds. A block has those whose widths it has."""

WIDTHS = {
    "attn_q": "q raw",
    "attn_q_b": "q raw",
    "attn_qkv": "qkv",
    "ffn_up": "up",
    "ffn_gate": "gate",
    "ffn_up_shexp": "shared",
    "ssm_in": "scan in",
    "ssm_x": "scan step",
    "shortconv.in_proj": "short",
    "time_mix_receptance": "time mix",
    "time_mix_a2": "rate",
}
"""Tensor of a block → the width that its product has: its second extent."""

MASKS = {"full": 2, "window": 2, "indexer": 2, "csa": 2, "hca": 2}
"""Bytes that a cache's mask takes for every cell and token (build_attn_inp_kq_mask: f16 with flash attention)."""

TEXT_ONLY = frozenset({"cogvlm", "deepseek4", "graniteswitch", "eagle3", "dflash", "gemma4-assistant"})
"""Architectures that take no batches of text and images mixed (`llm_arch_supports_mixed_batch`, src/llama-arch.cpp).
All others keep a second set of input rows, which nothing ever frees (`build_inp_embd`)."""

HIDDEN_ONLY = frozenset(
    {
        "bert",
        "eurobert",
        "gemma-embedding",
        "jina-bert-v2",
        "jina-bert-v3",
        "llama-embed",
        "modern-bert",
        "neo-bert",
        "nomic-bert",
        "nomic-bert-moe",
        "t5encoder",
        "wavtokenizer-dec",
    }
)
"""Architectures whose graph ends at hidden rows whatever tensors a file has, and reads no cache (src/models)."""

LOGITS = {"chameleon": 2}
"""Rows as wide as the vocabulary for every output, where not one: chameleon.cpp copies them to blot out image tokens."""

ALL_OUTPUTS = frozenset({"cogvlm", "dflash", "eagle3"})
"""Architectures that make logits of every token, whatever is asked for (no output ids in their src/models)."""
