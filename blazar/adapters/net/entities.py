"""Which version of a file an answer is of, as its host says it. Decides whether the bytes of two answers may be put together.

A digest decides better: nobody asks here where one was promised. Facts: RFC 9110, 8.8: a weak tag, and a date, tell a change but
do not vouch for bytes.
"""

from collections.abc import Mapping
from typing import NamedTuple

MOST_TAG = 200
_WEAK = "W/"


class Entity(NamedTuple):
    """`etag` and `modified` as they were sent; "" where nothing was said."""

    etag: str = ""
    modified: str = ""

    @property
    def strong(self) -> str:
        """The tag that vouches for bytes: by it a later process goes on."""
        return "" if self.etag.startswith(_WEAK) else self.etag

    @property
    def bare(self) -> str:
        """The strong tag as listings keep it: without quotes, and no longer than anybody needs."""
        return self.strong.strip('"')[:MOST_TAG]

    @property
    def tells_changes(self) -> bool:
        """Whether another version would show at all."""
        return bool(self.etag or self.modified)

    def is_kept_by(self, later: "Entity") -> bool:
        """Whether an answer that says `later` is of this version. One that says less than this is not known to be."""
        if self.etag and _opaque(self.etag) != _opaque(later.etag):
            return False
        # A date may differ between two servers of one host; where nothing stronger speaks, it is what there is.
        return bool(self.strong) or self.modified == later.modified


def said_by(headers: Mapping[str, str]) -> Entity:
    """What an answer says."""
    return Entity(headers.get("etag", "").strip(), headers.get("last-modified", "").strip())


def _opaque(etag: str) -> str:
    """Without its weakness: a proxy that compresses makes a strong tag weak."""
    return etag.removeprefix(_WEAK)
