"""The vocabulary of shapes."""

from dataclasses import replace

import pytest

from blazar.domain.fit.demand import memory
from blazar.domain.fit.shape import Attends, ModelShape, Tensor, heads_of
from tests.support.fit_shapes import CLOSED, GIB, Dense


def test_a_shape_is_a_value_that_nobody_changes():
    """Plans remember what they worked out of a shape by its identity."""
    shape = ModelShape("llama", True, 4096, 64, 320, ())
    with pytest.raises(AttributeError):
        shape.embedding = 1
    with pytest.raises(TypeError):
        shape.keys["x"] = 1


def test_a_tensor_row_names_its_fields():
    """So that rows of any reader can be told apart from bare tuples."""
    assert Tensor("output.weight", (64, 320), "f16", 40960)._fields == ("name", "shape", "type", "bytes")
    assert Attends("window") is Attends.WINDOW


def test_heads_are_a_small_model_of_the_same_file():
    """Their own blocks' weights and a cache as long as the trunk's; embedding and output are the trunk's, and nobody counts them twice."""
    whole = Dense(blocks=8, size=4 * GIB).shape()
    heads = heads_of(replace(whole, nextn=1))
    assert {row.name.partition(".ffn")[0].partition(".attn")[0] for row in heads.tensors} == {"blk.7"}
    counted, trunk = memory(heads, CLOSED), memory(replace(whole, nextn=1), CLOSED)
    assert counted.weights_bytes == memory(whole, CLOSED).weights_bytes - trunk.weights_bytes
    assert sum(cache.bytes for cache in counted.caches) * 8 == sum(
        cache.bytes for cache in memory(whole, CLOSED).caches
    )
    assert not heads.recurrent
