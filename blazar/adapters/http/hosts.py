"""What this machine is called: the addresses of its interfaces and its own names (D8). Decides nothing about requests."""

import socket
from ipaddress import ip_address

import psutil


def machine_names() -> frozenset[str]:
    """Addresses without zone, and the host name with and without its domain and as `NAME.local` (mDNS).

    Asks the kernel and never a name server, so it cannot block. Read anew on each call: laptops change networks.
    """
    found = set()
    for addresses in psutil.net_if_addrs().values():
        for address in addresses:
            if address.family in (socket.AF_INET, socket.AF_INET6):
                found.add(str(ip_address(address.address.partition("%")[0])))
    name = socket.gethostname().lower()
    if name:
        short = name.partition(".")[0]
        found |= {name, short, f"{short}.local"}
    return frozenset(found)
