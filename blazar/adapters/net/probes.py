"""What a host says about one file before any of it is fetched: how long it is, and by which digest its registry knows it.

One byte is asked for: content networks sign addresses for one method, so that HEAD is refused where GET is answered.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import httpx

from blazar.adapters.net.entities import said_by
from blazar.adapters.net.web import Web

LARGEST = 2**50
"""Bytes of one file; anything beyond is no size."""
_TOTAL = re.compile(r"bytes (?:\d+-\d+|\*)/(\d{1,16})")
_SHA256 = re.compile(r'"?([0-9a-f]{64})"?')
_LINKED_SIZE, _LINKED_ETAG = "x-linked-size", "x-linked-etag"


class Told(NamedTuple):
    """`size` is -1 and the words are "" where nothing is said. `etag` is strong and without quotes."""

    size: int = -1
    sha256: str = ""
    etag: str = ""


def told_of(web: Web, url: str, name: str) -> Told:
    """Ask. Raises what `Web.get` raises: of a file that this account may not read, too."""
    with web.get(url, name, {"range": "bytes=0-0"}) as answer:
        told = read_told([*answer.history, answer])
    if told.size >= 0 or answer.status_code != 206:
        return told
    # `bytes 0-0/*` is proper: of the whole it may say how long that is. No byte of it is read.
    with web.get(url, name) as answer:
        return read_told([*answer.history, answer])


def read_told(answers: Sequence[httpx.Response]) -> Told:
    """From the answers of one question, in order. The registry's own words (`X-Linked-…`) are on the redirect to the file."""
    last = answers[-1].headers
    sizes = [_number(answer.headers.get(_LINKED_SIZE, "")) for answer in answers]
    ranged = _TOTAL.fullmatch(last.get("content-range", "").strip())
    whole = _number(last.get("content-length", "")) if answers[-1].status_code == 200 else -1
    sizes += [_number(ranged[1]) if ranged else -1, whole]
    digests = [_SHA256.fullmatch(answer.headers.get(_LINKED_ETAG, "").strip()) for answer in answers]
    return Told(
        next((size for size in sizes if size >= 0), -1),
        next((digest[1] for digest in digests if digest), ""),
        said_by(last).bare,
    )


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 16 and int(text) <= LARGEST else -1
