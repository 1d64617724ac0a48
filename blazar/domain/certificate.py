"""From when until when a certificate holds, read out of its DER (X.509, RFC 5280). Judges no signature, reads no file."""

from datetime import UTC, datetime
from typing import Final, NamedTuple

_SEQUENCE: Final = 0x30
_VERSION: Final = 0xA0
_UTC_TIME: Final = 0x17
_GENERAL_TIME: Final = 0x18
_PIVOT: Final = 50  # two digits of a year below it are this century's (RFC 5280)


class Validity(NamedTuple):
    """Unix times."""

    begins: float
    ends: float


class _Item(NamedTuple):
    """One value: its kind, and where its bytes begin and end."""

    kind: int
    start: int
    end: int


def validity_of(der: bytes) -> Validity | None:
    """None for what is no certificate."""
    try:
        signed = _item(der, _expected(_item(der, 0), _SEQUENCE).start)
        item = _item(der, _expected(signed, _SEQUENCE).start)
        if item.kind == _VERSION:
            item = _item(der, item.end)
        for _ in range(3):  # the serial number, the algorithm and who issued it stand before
            item = _item(der, item.end)
        begins = _item(der, _expected(item, _SEQUENCE).start)
        return Validity(_moment(der, begins), _moment(der, _item(der, begins.end)))
    except (IndexError, ValueError):
        return None


def _item(der: bytes, at: int) -> _Item:
    kind, length, start = der[at], der[at + 1], at + 2
    if length & 0x80:
        count = length & 0x7F
        if not 1 <= count <= 4:
            raise ValueError
        length, start = int.from_bytes(der[start : start + count]), start + count
    if start + length > len(der):
        raise ValueError
    return _Item(kind, start, start + length)


def _expected(item: _Item, kind: int) -> _Item:
    if item.kind != kind:
        raise ValueError
    return item


def _moment(der: bytes, item: _Item) -> float:
    text = der[item.start : item.end].decode("ascii")
    if item.kind == _UTC_TIME:
        text = ("20" if int(text[:2]) < _PIVOT else "19") + text
    elif item.kind != _GENERAL_TIME:
        raise ValueError
    if len(text) != len("20260203040506Z"):  # or shorter ones would be read, too
        raise ValueError
    return datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC).timestamp()
