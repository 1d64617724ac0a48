"""Which proxy an address is asked through."""

import pytest

from blazar.adapters.net.proxies import Proxy, proxy_for, unusable
from tests.support.proxies import forget_proxies


@pytest.fixture(autouse=True)
def none_set(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_proxies(monkeypatch)


def test_the_scheme_s_own_comes_before_the_one_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the HTTP client has it; passwords are nobody's to read."""
    assert proxy_for("https://hub.example/x") is None
    monkeypatch.setenv("ALL_PROXY", "http://me:secret@one:1")
    assert proxy_for("https://hub.example/x") == Proxy("http://one:1", "ALL_PROXY")
    monkeypatch.setenv("https_proxy", "two:2")
    assert proxy_for("https://hub.example/x") == Proxy("two:2", "https_proxy")
    assert proxy_for("http://hub.example/x") == Proxy("http://one:1", "ALL_PROXY")


def test_some_are_asked_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine, and what NO_PROXY names."""
    monkeypatch.setenv("ALL_PROXY", "http://one:1")
    monkeypatch.setenv("NO_PROXY", ".inside,hub.example")
    assert [proxy_for(f"https://{host}/") for host in ("localhost", "127.0.0.1", "a.inside", "hub.example")] == [
        None
    ] * 4
    assert proxy_for("https://other.example/") is not None


@pytest.mark.parametrize(
    ("url", "said"), [("socks5h://there:1", "SOCKS is not spoken"), ("nonsense://there", "cannot be used")]
)
def test_one_that_cannot_be_used_is_named(monkeypatch: pytest.MonkeyPatch, url: str, said: str) -> None:
    """By its variable."""
    monkeypatch.setenv("HTTP_PROXY", "http://fine:1")
    monkeypatch.setenv("ALL_PROXY", url)
    assert said in unusable("hub.example")
    assert "hub.example cannot be reached: ALL_PROXY names" in unusable("hub.example")
