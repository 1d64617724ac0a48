"""Metadata and tensor table → what each repeating block is: attention, window, recurrence, widths. Knows no cache.

Follows `load_hparams` of llama.cpp b11434 (src/llama-model.cpp); what an architecture adds is in `facts`.
"""

from collections.abc import Mapping
from typing import NamedTuple

from blazar.domain.fit.facts import Facts, Keeps, Recurs, Window
from blazar.domain.fit.keys import Keys
from blazar.domain.fit.shape import Attends, Block, Tensor

MOST_BLOCKS = 512
"""LLAMA_MAX_LAYERS (src/llama-hparams.h)."""

MOST_EXPERTS = 1024
"""LLAMA_MAX_EXPERTS (src/llama-hparams.h)."""

_FORMS = ("", "_swa", "_mla", "_mla_swa")  # of the keys that name a head's width

_STATELESS = (Keeps.STATE, Keeps.NOTHING)  # classes whose files may have no attention heads


class Stack(NamedTuple):
    """All blocks of a file. `trunk` of them are not predicting ones; `kv_heads` are as the file says, recurrent blocks or not."""

    blocks: tuple[Block, ...]
    trunk: int
    embedding: int
    experts: int
    window: int
    windowed: tuple[bool, ...]
    kv_heads: tuple[int, ...]
    mla: bool


class _Heads(NamedTuple):
    """Head counts a block, and head widths: full attention's and windowed attention's."""

    heads: tuple[int, ...]
    kv: tuple[int, ...]
    k: int
    v: int
    k_windowed: int
    v_windowed: int
    mla: bool


def stack(facts: Facts, keys: Keys, tensors: Mapping[str, Tensor]) -> Stack:
    """Read every block. Raises BadShape for what the engine would not load, before anything of the claimed size is made."""
    count = keys.needed("block_count")
    if count > MOST_BLOCKS:
        raise keys.bad("block_count", f"it is {count}, more than {MOST_BLOCKS}")
    nextn = _nextn(facts, keys, tensors, count)
    trunk = count - nextn
    embedding = _embedding(keys, tensors)
    heads = _heads(facts, keys, count, embedding)
    size, windowed = _windowed(facts.window, keys, count, trunk)
    ff = keys.each("feed_forward_length", count, (0,) * count)
    recurrent = _recurrent(facts, keys, heads.kv, ff, trunk)
    attends = facts.window.attends if facts.window else Attends.WINDOW
    experts = _Experts.read(keys, count)
    blocks = []
    for number in range(count):
        own = _attends_itself(facts, recurrent[number], heads.kv[number])
        look = (attends if windowed[number] else Attends.FULL) if own and number < trunk else Attends.NONE
        expert_ff, used = experts.of(number, ff[number], tensors)
        blocks.append(
            Block(
                number,
                look,
                recurrent[number],
                heads.heads[number],
                heads.kv[number] if own else 0,
                heads.k_windowed if windowed[number] else heads.k,
                heads.v_windowed if windowed[number] else heads.v,
                ff[number],
                expert_ff,
                used,
            )
        )
    return Stack(tuple(blocks), trunk, embedding, experts.total, size, windowed, heads.kv, heads.mla)


def _nextn(facts: Facts, keys: Keys, tensors: Mapping[str, Tensor], count: int) -> int:
    nextn = keys.number("nextn_predict_layers")
    if nextn > count:
        raise keys.bad("nextn_predict_layers", f"it is {nextn} of {count} blocks")
    if nextn and facts.probe and tensors and f"blk.{count - nextn}.{facts.probe}" not in tensors:
        return 0
    return nextn


def _embedding(keys: Keys, tensors: Mapping[str, Tensor]) -> int:
    if keys.has("embedding_length"):
        return keys.number("embedding_length")
    table = tensors.get("token_embd.weight")
    return table.shape[0] if table and table.shape else 0


def _heads(facts: Facts, keys: Keys, count: int, embedding: int) -> _Heads:
    heads = keys.each("attention.head_count", count, (0,) * count)
    kv = keys.each("attention.head_count_kv", count, heads)
    if not keys.has("attention.head_count"):
        heads = kv
    if facts.upper:
        return _most(keys, heads, kv, embedding)
    most = max(heads)
    if not most and facts.keeps not in _STATELESS:
        raise keys.bad("attention.head_count", "no block has an attention head")
    # The engine divides by the first block's heads; where that has none, the most any block has comes closest.
    whole = embedding // (heads[0] or most) if most else 0
    k = keys.number("attention.key_length", whole)
    v = keys.number("attention.value_length", whole)
    if most and not (k and v):
        raise keys.bad("attention.key_length" if embedding else "embedding_length", "heads would have no width")
    swa = keys.number("attention.key_length_swa", k), keys.number("attention.value_length_swa", v)
    mla = keys.number("attention.key_length_mla") > 0 and keys.number("attention.value_length_mla") > 0
    return _Heads(heads, kv, k, v, *swa, mla)


def _most(keys: Keys, heads: tuple[int, ...], kv: tuple[int, ...], embedding: int) -> _Heads:
    """The most that unknown keys can mean: every block as wide as the widest, and never narrower than a latent row."""
    count, most = len(heads), max(heads)
    whole = -(-embedding // max(most, 1))
    latent = keys.number("attention.kv_lora_rank") + keys.number("rope.dimension_count")
    k = max(whole, latent, *(keys.number(f"attention.key_length{form}") for form in _FORMS))
    v = max(whole, latent, *(keys.number(f"attention.value_length{form}") for form in _FORMS))
    if not k:
        raise keys.bad("embedding_length", "heads would have no width")
    return _Heads((max(most, 1),) * count, (max(*kv, 1),) * count, k, v, k, v, False)


def _windowed(window: Window | None, keys: Keys, count: int, trunk: int) -> tuple[int, tuple[bool, ...]]:
    """The window in tokens (0: none), and which blocks are windowed."""
    none = (False,) * count
    if window is None or (window.blocks and window.blocks != trunk):
        return 0, none
    size = keys.number("attention.sliding_window", window.size)
    if not size:
        return 0, none
    size = window.forced or size
    if window.key and keys.number(window.key):
        return size, (True,) * count
    pattern = None if window.own else keys.array("attention.sliding_window_pattern", MOST_BLOCKS)
    if pattern is not None:
        padded = (*pattern, *none)
        found = tuple(bool(one) for one in padded[:count])
    else:
        found = _periodic(window, keys, count, trunk)
    return (size, found) if any(found) else (0, none)


def _periodic(window: Window, keys: Keys, count: int, trunk: int) -> tuple[bool, ...]:
    period = window.period
    if not window.own:
        period = keys.number("attention.sliding_window_pattern", 1 if period is None else period)
    full = 0 if window.dense_first else (period or 1) - 1
    if not period:
        # Predicting blocks are windowed too where no block is full (deepseek4.cpp), and in no other pattern.
        return (True,) * count
    return tuple(number < trunk and number % period != full for number in range(count))


def _recurrent(facts: Facts, keys: Keys, kv: tuple[int, ...], ff: tuple[int, ...], trunk: int) -> tuple[bool, ...]:
    count = len(kv)
    if facts.recurs is Recurs.ALWAYS:
        return (True,) * count
    if facts.recurs is Recurs.NO_KV_HEADS:
        return tuple(heads == 0 for heads in kv)
    if facts.recurs is Recurs.NO_KV_HEADS_NO_FF:
        return tuple(number < trunk and kv[number] == 0 and ff[number] == 0 for number in range(count))
    if facts.recurs is Recurs.BY_INTERVAL:
        interval = keys.number("full_attention_interval", facts.interval)
        if not keys.has("attention.recurrent_layers") and not interval:
            raise keys.bad("full_attention_interval", "it is 0")
        regular = tuple(number < trunk and (number + 1) % max(interval, 1) != 0 for number in range(count))
        return tuple(bool(one) for one in keys.each("attention.recurrent_layers", count, regular))
    return (False,) * count


def _attends_itself(facts: Facts, recurrent: bool, kv_heads: int) -> bool:
    if not kv_heads or facts.keeps is Keeps.STATE:
        return False
    return not recurrent or facts.recurs is Recurs.ALWAYS


class _Experts(NamedTuple):
    """`of` reads a table of tensors first: which blocks are dense, metadata tells in a dozen ways."""

    total: int
    used: tuple[int, ...]
    ff: tuple[int, ...]
    dense: int

    @classmethod
    def read(cls, keys: Keys, blocks: int) -> "_Experts":
        count = keys.number("expert_count")
        if count > MOST_EXPERTS:
            raise keys.bad("expert_count", f"it is {count}, more than {MOST_EXPERTS}")
        none = (0,) * blocks
        used = keys.each("expert_used_count", blocks, none)
        if count and max(used) > count:
            raise keys.bad("expert_used_count", f"it is {max(used)} of {count} experts")
        ff = keys.each("expert_feed_forward_length", blocks, none)
        return cls(count, used, ff, keys.number("leading_dense_block_count"))

    def of(self, number: int, ff: int, tensors: Mapping[str, Tensor]) -> tuple[int, int]:
        """One expert's width and how many a token visits, both 0 in a dense block."""
        if not self.total:
            return 0, 0
        down = tensors.get(f"blk.{number}.ffn_down_exps.weight")
        if down is None and (tensors or number < self.dense):
            return 0, 0
        if down is not None and down.shape:
            return down.shape[0], self.used[number]
        return self.ff[number] or ff, self.used[number]
