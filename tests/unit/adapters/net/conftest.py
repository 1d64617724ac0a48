"""Two servers on loopback for every test of this folder: a registry, and a content network it sends its readers to."""

from collections.abc import Iterator

import pytest

from blazar.adapters.net import patience
from tests.support.proxies import forget_proxies
from tests.support.registry import Registry


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy of this shell would be asked for loopback addresses too."""
    forget_proxies(monkeypatch)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses between two tries take no time here."""
    monkeypatch.setattr(patience, "PAUSE_SECS", 0.001)


@pytest.fixture
def registry() -> Iterator[Registry]:
    server = Registry()
    yield server
    server.close()


@pytest.fixture
def network() -> Iterator[Registry]:
    server = Registry()
    yield server
    server.close()
