"""May a remote's key travel to this URL? The ladder: encrypted, this machine, the local network (warned), anything else (refused).

Judges the text alone. No name is looked up: what it means here says nothing about what it will mean when the key is sent.
"""

import ipaddress
import re
from typing import NamedTuple

from blazar.domain import teaching

_OURS = frozenset({"localhost", "127.0.0.1", "::1"})
_LOCAL = tuple(
    ipaddress.ip_network(text)
    for text in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "fd00::/8", "fe80::/10")
)
_AUTHORITY = re.compile(r"(?:\[(?P<six>[^\[\]]+)\]|(?P<name>[^\[\]:%]+))(?::(?P<port>\d{1,5}))?", re.ASCII)
LARGEST_PORT = 65535
# What a parser drops or turns round could make the host that is judged another one than the host that is dialled.
_ODD = re.compile(r"[\s\\\x00-\x1f\x7f?#]")


class Verdict(NamedTuple):
    """Both empty: accepted. `refusal` is the end of a sentence about the key that holds the URL."""

    warning: str = ""
    refusal: str = ""


def judge(name: str, url: str, allow_insecure: bool = False) -> Verdict:
    """What boot does about the remote called `name`."""
    scheme, mark, rest = url.partition("://")
    if not mark or scheme.lower() not in {"http", "https"}:
        return Verdict(refusal=teaching.remote_url_scheme())
    authority = rest.partition("/")[0]
    if "@" in authority:
        return Verdict(refusal=teaching.remote_url_credentials())
    host = "" if _ODD.search(url) else _host(authority)
    if not host:
        return Verdict(refusal=teaching.remote_url_shape())
    if scheme.lower() == "https" or host in _OURS:
        return Verdict()
    return _in_clear(name, host, allow_insecure)


def _in_clear(name: str, host: str, allow_insecure: bool) -> Verdict:
    """To another machine, for everybody on the way to read."""
    if _is_local(host):
        return Verdict(warning=teaching.remote_url_local(name, host))
    if allow_insecure:
        return Verdict(warning=teaching.remote_url_insecure(name, host))
    return Verdict(refusal=teaching.remote_url_public(host))


def _host(authority: str) -> str:
    """Name or address in lower case, without brackets; "" where there is none, or no port behind it that could be one."""
    found = _AUTHORITY.fullmatch(authority)
    if found is None or int(found["port"] or 0) > LARGEST_PORT:
        return ""
    if not found["six"]:
        return found["name"].lower()
    try:
        ipaddress.IPv6Address(found["six"])
    except ValueError:
        return ""
    return found["six"].lower()


def _is_local(host: str) -> bool:
    """Only a plain literal: a number that some resolvers take for an address is a name, and a mapped address is not the table's."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return any(address in network for network in _LOCAL if network.version == address.version)
