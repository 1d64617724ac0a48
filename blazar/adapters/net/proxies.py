"""Which proxy of the environment an address is asked through, and how sentences name it. Chooses none: the HTTP client does, by the same rules."""

import os
from typing import NamedTuple
from urllib.parse import urlsplit
from urllib.request import getproxies_environment, proxy_bypass

from blazar.domain import teaching
from blazar.domain.addresses import is_loopback

_SCHEMES = ("http", "https", "all")


class Proxy(NamedTuple):
    """Its address without what opens it, and the variable that names it, as it is spelt there."""

    address: str
    variable: str


def proxy_for(url: str) -> Proxy | None:
    """None where the address is asked directly: this machine always is."""
    parts = urlsplit(url)
    proxies = getproxies_environment()
    scheme = next((one for one in (parts.scheme, "all") if proxies.get(one)), "")
    host = parts.hostname or ""
    if not scheme or is_loopback(host) or proxy_bypass(host):
        return None
    return _named(scheme, proxies[scheme])


def unusable(host: str) -> str:
    """What is said where the client cannot use one: SOCKS needs a library that is not here."""
    proxies = {scheme: url for scheme, url in getproxies_environment().items() if scheme in _SCHEMES}
    for scheme, url in proxies.items():
        if url.lower().startswith("socks"):
            return teaching.remote_proxy_socks(host, *_named(scheme, url))
    odd = next((scheme for scheme, url in proxies.items() if not url.lower().startswith(("http://", "https://"))), "")
    named = _named(odd or next(iter(proxies), "all"), "")
    return teaching.remote_proxy_unusable(host, named.variable)


def _named(scheme: str, url: str) -> Proxy:
    lower = f"{scheme}_proxy"  # of two spellings the small one wins
    kind, mark, rest = url.rpartition("://")
    shown = f"{kind}{mark}{rest.rpartition('@')[2]}"
    return Proxy(shown[:200], lower if os.environ.get(lower) else lower.upper())
