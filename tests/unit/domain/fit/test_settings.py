"""Cache types and what is open."""

import pytest

from blazar.domain.fit.settings import CACHE_TYPES, Settings


@pytest.mark.parametrize(
    ("name", "elements", "size"),
    [
        ("f32", 32, 128),
        ("f16", 32, 64),
        ("bf16", 32, 64),
        ("q8_0", 32, 34),
        ("q5_1", 32, 24),
        ("q5_0", 32, 22),
        ("q4_1", 32, 20),
        ("q4_0", 32, 18),
        ("iq4_nl", 32, 18),
    ],
)
def test_a_type_takes_what_ggml_says(name, elements, size):
    """Bytes for 32 elements (case F7); the table has these and no others."""
    packing = CACHE_TYPES[name]
    assert elements % packing.elements == 0
    assert elements // packing.elements * packing.bytes == size
    assert len(CACHE_TYPES) == 9


def test_everything_may_be_left_open():
    """A caller names what matters to it."""
    left = Settings()
    assert (left.ctx, left.parallel, left.cache_type_k, left.cache_type_v, left.gpu_layers) == (0, 0, "", "", None)
