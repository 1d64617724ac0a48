"""Where GitHub is, the variables that name another place for it, and what of all that is a person's own. Loads no HTTP client: the daemon reads this as it starts."""

from collections.abc import Iterable
from urllib.parse import urlsplit

from blazar.domain.addresses import Ours

API = "https://api.github.com"
FILES = "https://github.com"
BASE_VARIABLE, FILES_VARIABLE = "BLAZAR_GH_BASE", "BLAZAR_INSTALL_BASE_URL"


def ours_of(addresses: Iterable[str], where: str, hosts: Iterable[str] = ()) -> Ours:
    """These hosts, and those of these addresses; one that is none, or "", names nothing."""
    return Ours((*hosts, *filter(None, map(_netloc, addresses))), where)


def _netloc(address: str) -> str:
    try:
        return urlsplit(address).netloc.rpartition("@")[2]
    except ValueError:
        return ""
