"""What every source of secrets must do."""

import pytest

from blazar.adapters.telemetry.entropy import OsEntropy
from blazar.application.ports.entropy import Entropy
from tests.fakes.entropy import CountingEntropy


@pytest.fixture(params=[OsEntropy, CountingEntropy])
def entropy(request: pytest.FixtureRequest) -> Entropy:
    made: Entropy = request.param()
    return made


def test_tokens_differ(entropy: Entropy) -> None:
    """Never the same twice."""
    assert len({entropy.token(16) for _ in range(100)}) == 100


@pytest.mark.parametrize("nbytes", [1, 4, 16, 32])
def test_tokens_are_hex_of_the_wanted_length(entropy: Entropy, nbytes: int) -> None:
    """Two digits a byte, lower case: they go into headers, files and trace ids."""
    token = entropy.token(nbytes)
    assert len(token) == 2 * nbytes
    assert set(token) <= set("0123456789abcdef")
