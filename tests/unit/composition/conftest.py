"""A registry on loopback for tests of what is put together here."""

from collections.abc import Iterator

import pytest

from tests.support.proxies import forget_proxies
from tests.support.registry import Registry


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    forget_proxies(monkeypatch)
    server = Registry()
    yield server
    server.close()
