"""The vocabulary of shapes."""

import pytest

from blazar.domain.fit.shape import Attends, ModelShape, Tensor


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
