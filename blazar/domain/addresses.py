"""Whether a network address is out in public: what a request, or a list from elsewhere, may make this machine ask (D14). Pure."""

import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final, NamedTuple

_TRANSLATED: Final = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"), IPv6Network("::/96"))
"""Prefixes that carry an IPv4 address to a translator of this network, which may lead anywhere inside."""
_DNS64: Final = IPv6Network("64:ff9b::/96")
"""By which resolvers of networks without IPv4 name a server that has nothing else: the prefix that all translators share, and its address."""
_TUNNELLED: Final = IPv4Network("198.18.0.0/15")
"""Addresses of no machine (benchmarks): by them tunnels and proxies that answer for the resolver tell what is outside."""
_OF_THE_CLOUD: Final = (IPv4Network("168.63.129.16/32"), IPv4Network("192.0.0.0/24"))
"""Where providers tell their machines secrets at addresses that look public: Azure; Oracle, in a block that Pythons differ about."""
_LOCAL_NAMES: Final = (".localhost", ".local", ".internal")
_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")
_NUMBER: Final = re.compile(r"(?:0[xX][0-9A-Fa-f]*|[0-9]+)")


def is_public(text: str) -> bool:
    """Of an address as a resolver says it; a name, or one with a zone, is none.

    Private, loopback, link-local, carrier-grade NAT, multicast, reserved and unspecified ones are not; nor is any that only wraps an
    IPv4 address (mapped, 6to4, Teredo, NAT64), whatever it wraps: no public server is named so.
    """
    try:
        address = ip_address(text)
    except ValueError:
        return False
    if not address.is_global or address.is_multicast or address.is_reserved:
        return False
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _OF_THE_CLOUD)
    return not _wraps(address)


def leads_out(text: str) -> bool:
    """Whether an address that a resolver says of a name is out there, or stands for one that is.

    More than `is_public`: a download goes where the network's own resolver sends everything outside.
    """
    try:
        address = ip_address(text)
    except ValueError:
        return False
    if isinstance(address, IPv4Address):
        return address in _TUNNELLED or is_public(text)
    if address in _DNS64:
        return is_public(str(IPv4Address(int(address) & 0xFFFFFFFF)))
    return is_public(text)


class Ours(NamedTuple):
    """What a person named and may lie inside, whatever it resolves to: hosts, or hosts with a port. `where` names the setting."""

    hosts: tuple[str, ...] = ()
    where: str = ""

    def has(self, host: str, port: int) -> bool:
        """A host without a port is named with all of its ports."""
        named = {known.lower() for known in self.hosts}
        return not named.isdisjoint({host.lower(), f"{host}:{port}".lower()})


def is_inside(host: str) -> bool:
    """Whether the host of an address is this machine or one of its network, as far as its spelling tells; of one that is odd, it is.

    Resolvers take "127.1", "2130706433" and "0x7f.1" for 127.0.0.1, and find names without a dot in their own network only.
    """
    name = host.strip("[]").removesuffix(".").lower()
    try:
        ip_address(name)
    except ValueError:
        spelled = _PLAIN_NAME.fullmatch(name) is not None and "." in name
        numbers = all(_NUMBER.fullmatch(part) for part in name.split("."))
        return not spelled or numbers or name.endswith(_LOCAL_NAMES)
    return not is_public(name)


def is_loopback(host: str) -> bool:
    """Whether a host, without port and brackets, is this machine and nothing else: what is said to it is heard by nobody."""
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _wraps(address: IPv6Address) -> bool:
    known = address.ipv4_mapped or address.sixtofour or address.teredo
    return known is not None or any(address in network for network in _TRANSLATED)
