"""How a registry says that a token is needed and where one is to be had (`WWW-Authenticate: Bearer realm="…"`), and what of that is believed.

The address comes from the registry's answer: it is asked only where it is the registry's own. Asks nobody itself.
"""

import re
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from blazar.domain.addresses import is_loopback

LONGEST = 16 << 10
"""Characters of a token: those of real registries have about two thousand."""
_SCHEME = re.compile(r"\s*bearer\s+(.*)", re.IGNORECASE | re.DOTALL)
_PARAMETER = re.compile(r'([A-Za-z][A-Za-z0-9_-]*)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))')
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_TOKEN = re.compile(r"[\x21-\x7e]+")


class Challenge(NamedTuple):
    """What a 401 says: `realm` is the address at which a token is to be had for `service` and `scope`."""

    realm: str
    service: str = ""
    scope: str = ""


def challenge_in(header: str) -> Challenge | None:
    """None where there is none, or where its realm is words for people (as Hugging Face has it) and no address."""
    match = _SCHEME.match(header[:4096])
    if match is None:
        return None
    said = {name.lower(): quoted or plain for name, quoted, plain in _PARAMETER.findall(match[1])}
    if not _ADDRESS.match(said.get("realm", "")):
        return None
    return Challenge(said["realm"], said.get("service", ""), said.get("scope", ""))


def token_address(challenge: Challenge, base: str) -> str | None:
    """The address to ask; None where it is not the registry's own, or would be asked in the clear (case H12)."""
    try:
        realm, own = urlsplit(challenge.realm), urlsplit(base)
        place, home = (realm.scheme, realm.hostname, realm.port), (own.scheme, own.hostname, own.port)
    except ValueError:
        return None
    if place != home or realm.username is not None or realm.password is not None:
        return None
    if realm.scheme != "https" and not is_loopback(realm.hostname or ""):
        return None
    query = parse_qsl(realm.query)
    query += [("service", challenge.service)] if challenge.service else []
    query += [("scope", scope) for scope in challenge.scope.split()]
    return urlunsplit((realm.scheme, realm.netloc, realm.path, urlencode(query), ""))


def token_in(answer: Any) -> str:
    """The token of a token server's answer; "" where there is none that could be sent."""
    found = (answer.get("token") or answer.get("access_token")) if isinstance(answer, dict) else None
    return found if isinstance(found, str) and len(found) <= LONGEST and _TOKEN.fullmatch(found) else ""
