"""Mail addresses, secrets and IPv4 addresses out of a text that is shown to a person.

Decides by shape alone and rather takes too much. Linear in the text, whatever it holds: names and paths come from callers.
"""

import re
from typing import Final

# A run begins only where its predecessor does not belong to it, and is never given back: no text is read twice from many places.
_MAIL: Final = re.compile(r"(?<![\w.%+'-])('*+)[\w.%+'-]++@[\w-]++(?:\.[\w-]++)++")
"""Quotes before it are the sentence's."""
_BEARER: Final = re.compile(r"\b(bearer|basic)(\s{1,8})[\w.~+/=-]{8,}+", re.IGNORECASE)
"""Of a length that a secret has: our own sentences speak of "Bearer or x-api-key"."""
_NAMED: Final = re.compile(r"\b((?:x-)?api[-_]?key[\"']?\s{0,8}[:=]\s{0,8}[\"']?)[^\s\"',;&\[]++", re.IGNORECASE)
_PREFIXED: Final = re.compile(
    r"(?<![A-Za-z0-9])(?:plm_[\w-]++|(?:sk|pk|rk)[-_][\w-]{16,}+|(?:hf|gh[a-z]|github_pat|glpat|xox[a-z])[-_][\w-]{10,}+"
    r"|A[KS]IA[A-Z0-9]{12,}+|AIza[\w-]{20,}+|eyJ[\w-]++\.[\w-]++(?:\.[\w-]++)?)"
)
"""Our own keys, and the beginnings by which others' are known. Shorter ones are words: `sk-learn`, `hf_hub`."""
_OCTET: Final = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_IPV4: Final = re.compile(
    r"(?<!host ')(?<!\d)(?<!\d\.)(?!\d{1,3}\.\d\d\.\d{3}\.\d{3} [A-Z] )"
    rf"{_OCTET}(?:\.{_OCTET}){{3}}(?!\d)(?!\.\d)"
)
"""Not how this machine was called in our own sentence, which says what to do about it, nor the minutes before an engine's line."""

MAIL: Final = "[mail]"
HIDDEN: Final = "[secret]"
ADDRESS: Final = "[address]"


def scrub(text: str) -> str:
    """`text` with a word in brackets in the place of each of them; doing it twice changes nothing more."""
    text = _BEARER.sub(rf"\1\2{HIDDEN}", text)
    text = _NAMED.sub(rf"\1{HIDDEN}", text)
    text = _PREFIXED.sub(HIDDEN, text)
    return _IPV4.sub(ADDRESS, _MAIL.sub(rf"\1{MAIL}", text))
