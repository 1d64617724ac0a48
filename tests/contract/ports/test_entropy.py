"""What every source of secrets must do."""

import pytest

from blazar.adapters.telemetry.entropy import OsEntropy
from tests.fakes.entropy import CountingEntropy


@pytest.mark.parametrize("source", [OsEntropy, CountingEntropy])
def test_tokens_are_hex_of_the_wanted_length_and_differ(source):
    """Two digits a byte, never the same twice."""
    entropy = source()
    tokens = [entropy.token(16) for _ in range(100)]
    assert len(set(tokens)) == 100
    assert {len(token) for token in tokens} == {32}
    assert all(int(token, 16) >= 0 for token in tokens)
