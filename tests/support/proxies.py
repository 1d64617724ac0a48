"""The proxies of this shell are none of a test's."""

import pytest


def forget_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """For the rest of the test, in both spellings that there are of each."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
