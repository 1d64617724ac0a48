"""Which facts hold for an architecture: the table's, else what the file's own keys say by convention, else an upper bound.

A new architecture whose keys follow the conventions of the others needs no row. One whose keys hint at something that they do
not settle (a window without a pattern, a latent rank without head widths, a state without a list of its blocks) is charged for
the most that it could be.
"""

from blazar.domain.fit.blocks import MOST_BLOCKS
from blazar.domain.fit.facts import DEFAULT, FACTS, Facts, Keeps, Recurs, Window
from blazar.domain.fit.keys import Keys

_STATE_KEYS = ("ssm.state_size", "wkv.head_size", "shortconv.l_cache", "kda.head_dim")
_STATE_HINTS = (*_STATE_KEYS, "attention.recurrent_layers", "full_attention_interval")
_INDEX_KEYS = ("attention.indexer.key_length", "attention.indexer.head_count", "attention.compress_ratios")


def facts_for(keys: Keys) -> tuple[Facts, bool]:
    """The facts, and whether they are known (false: figures are upper bounds)."""
    listed = FACTS.get(keys.arch)
    if listed is not None:
        return listed, True
    window, settled = _window(keys)
    if not settled or any(keys.any(key) for key in _INDEX_KEYS) or _latent(keys):
        return _bound(keys), False
    if not keys.has("attention.head_count") or not keys.has("embedding_length"):
        return _bound(keys), False
    if not any(keys.any(key) for key in _STATE_HINTS):
        return DEFAULT._replace(window=window, shares=True), True
    recurs = _recurs(keys)
    if recurs is Recurs.NEVER or not any(keys.any(key) for key in _STATE_KEYS):
        return _bound(keys), False
    return Facts(Keeps.BOTH, window, recurs, trunk_only=recurs is Recurs.BY_INTERVAL, shares=True), True


def _window(keys: Keys) -> tuple[Window | None, bool]:
    """Windowed if the file has a window and a pattern, and whether that is settled."""
    if not keys.any("attention.sliding_window"):
        return None, True
    return (Window(), True) if keys.has("attention.sliding_window_pattern") else (None, False)


def _latent(keys: Keys) -> bool:
    """A latent rank whose cache the keys do not settle."""
    return keys.any("attention.kv_lora_rank") and not keys.any("attention.key_length_mla")


def _recurs(keys: Keys) -> Recurs:
    """NEVER: not told, or every block is listed, and then attention may lie beside the state."""
    listed = keys.array("attention.recurrent_layers", MOST_BLOCKS)
    if (listed is not None and 0 not in listed) or (listed is None and keys.any("attention.recurrent_layers")):
        return Recurs.NEVER
    if keys.has("attention.recurrent_layers") or keys.any("full_attention_interval"):
        return Recurs.BY_INTERVAL
    heads = keys.array("attention.head_count_kv", MOST_BLOCKS)
    return Recurs.NO_KV_HEADS if heads is not None and 0 in heads else Recurs.NEVER


def _bound(keys: Keys) -> Facts:
    """Full attention in every block, predicting ones too, and a state beside it where any key speaks of one."""
    state = any(keys.any(key) for key in _STATE_HINTS)
    return Facts(
        Keeps.BOTH if state else Keeps.ATTENTION,
        recurs=Recurs.ALWAYS if state else Recurs.NEVER,
        trunk_only=False,
        upper=True,
    )
