"""When a certificate holds."""

from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from blazar.domain.certificate import Validity, validity_of


def item(kind: int, *parts: bytes) -> bytes:
    """One DER value."""
    body = b"".join(parts)
    if len(body) < 0x80:
        return bytes([kind, len(body)]) + body
    length = len(body).to_bytes(2, "big")
    return bytes([kind, 0x82]) + length + body


def certificate(begins: bytes, ends: bytes, *, version: bool = True) -> bytes:
    """The frame of one: what stands before the two moments is of the right kind, and means nothing."""
    head = [item(0xA0, item(2, b"\x02"))] if version else []
    return item(0x30, item(0x30, *head, item(2, b"\x05"), item(0x30), item(0x30, b"x" * 300), item(0x30, begins, ends)))


def unix(*parts: int) -> float:
    return datetime(*parts, tzinfo=UTC).timestamp()


def test_both_spellings_of_a_moment_are_read() -> None:
    """Two digits of a year until 2049, four from then on (RFC 5280)."""
    der = certificate(item(0x17, b"491231235959Z"), item(0x18, b"20500101000000Z"))
    assert validity_of(der) == Validity(unix(2049, 12, 31, 23, 59, 59), unix(2050, 1, 1))
    der = certificate(item(0x17, b"500101000000Z"), item(0x17, b"260203040506Z"), version=False)
    assert validity_of(der) == Validity(unix(1950, 1, 1), unix(2026, 2, 3, 4, 5, 6))


def test_what_is_no_certificate_has_no_moment() -> None:
    """Cut off anywhere, of another kind, with times that are none."""
    whole = certificate(item(0x17, b"260203040506Z"), item(0x17, b"270203040506Z"))
    assert all(validity_of(whole[:size]) is None for size in range(len(whole)))
    for begins in (
        item(0x17, b"261303040506Z"),
        item(0x17, b"2602030405Z"),
        item(0x0C, b"260203040506Z"),
        item(0x17, b"\xff"),
    ):
        assert validity_of(certificate(begins, item(0x17, b"270203040506Z"))) is None
    assert validity_of(item(0x31, b"")) is None
    assert validity_of(b"\x30\x85\x01\x01\x01\x01\x01") is None


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=80))
def test_no_bytes_are_more_than_no_certificate(data: bytes) -> None:
    """Nothing is raised, whatever they are."""
    validity_of(data)
    validity_of(b"\x30\x82\x00\x50\x30\x4c" + data)
