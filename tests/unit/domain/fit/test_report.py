"""Sums that a report must get right by itself."""

from blazar.domain.fit.report import Cache, LayerBytes, Memory


def test_a_cache_is_the_sum_of_its_layers():
    """Keys and values apart, as the engine's log has them."""
    cache = Cache("full", 256, 1, (LayerBytes(0, 10, 4), LayerBytes(1, 20, 6)))
    assert (cache.k_bytes, cache.v_bytes, cache.bytes) == (30, 10, 40)
    assert cache.layers[0].bytes == 14


def test_the_total_has_every_part_once():
    """Each part is a power of two, so that a part left out or counted twice shows."""
    report = Memory(1, 2, 4, 8, 16, 32, 64, (), ())
    assert report.total_bytes == 127
    assert report.refused is None
    assert not report.upper_bound
