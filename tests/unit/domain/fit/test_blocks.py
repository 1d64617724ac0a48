"""What each block of a stack is."""

import pytest

from blazar.domain.errors import BadShape
from blazar.domain.fit.gguf import shape_from_gguf
from blazar.domain.fit.shape import Attends
from tests.support.fit_rows import conventional, shape_of


def test_leading_dense_blocks_visit_no_expert() -> None:
    """DeepSeek V3's first three blocks are dense, by the tensor table."""
    used = [block.experts_used for block in shape_of("deepseek-v3-shape").blocks]
    assert used[:4] == [0, 0, 0, 8]


def test_recurrent_blocks_attend_to_nothing() -> None:
    """A hybrid's blocks are told apart; where every block has both, both are said."""
    kinds = {(block.attends, block.recurrent) for block in shape_of("jamba-3b-shape").blocks}
    assert kinds == {(Attends.FULL, False), (Attends.NONE, True)}
    assert {(block.attends, block.recurrent) for block in shape_of("falcon-h1-dense").blocks} == {(Attends.FULL, True)}


def test_experts_that_do_not_exist_cannot_be_used() -> None:
    """A token visits no more experts than there are."""
    with pytest.raises(BadShape, match="expert_used_count"):
        conventional("llama", expert_count=4, expert_used_count=5)


def test_windowed_blocks_have_their_own_widths() -> None:
    """A windowed block's heads are as wide as the keys for windowed attention say."""
    found = conventional("gemma3", attention__sliding_window=64, attention__key_length_swa=32)
    assert {(block.attends, block.k_head) for block in found.blocks} == {(Attends.WINDOW, 32), (Attends.FULL, 64)}


def test_predicting_blocks_are_no_part_of_the_trunk() -> None:
    """They stand at the end, attend to nothing in a plain load, and may only be as many as there are blocks."""
    found = conventional("glm4moe", nextn_predict_layers=2)
    assert [block.attends for block in found.blocks[-3:]] == [Attends.FULL, Attends.NONE, Attends.NONE]
    with pytest.raises(BadShape, match="nextn_predict_layers"):
        conventional("glm4moe", nextn_predict_layers=13)


def test_a_pattern_shorter_than_the_stack_leaves_the_rest_full() -> None:
    """Patterns may leave predicting blocks out; the engine reads what is there."""
    found = conventional("gemma4", attention__sliding_window=64, attention__sliding_window_pattern=[True, False])
    assert [block.attends for block in found.blocks[:3]] == [Attends.WINDOW, Attends.FULL, Attends.FULL]


def test_head_widths_are_the_first_blocks_share_of_the_embedding() -> None:
    """Without keys for widths the embedding is divided by the first block's heads, even where others have more."""
    keys = {"block_count": 2, "embedding_length": 512, "attention.head_count": [4, 8]}
    found = shape_from_gguf({"general.architecture": "deci", **{f"deci.{k}": v for k, v in keys.items()}}, ())
    assert [(block.heads, block.kv_heads, block.k_head) for block in found.blocks] == [(4, 4, 128), (8, 8, 128)]
