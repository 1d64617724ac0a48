"""What a picture is and how large, by the first bytes of its file: PNG, JPEG, WebP. Draws nothing; what is not known is None."""

import binascii
import struct
from typing import Final, NamedTuple

FRONT: Final = 1 << 18
"""Bytes of a file that are looked at: JPEG writes its size behind a person's prompt, which sd-server keeps in the file."""
_PNG: Final = b"\x89PNG\r\n\x1a\n"
_JPEG: Final = b"\xff\xd8"
_NO_FRAMES: Final = frozenset({0xC4, 0xC8, 0xCC})
"""Markers among those of JPEG's frames (0xC0 to 0xCF) that are tables: of Huffman, an extension, of arithmetic coding."""


class Size(NamedTuple):
    """Pixels."""

    width: int
    height: int

    def __str__(self) -> str:
        return f"{self.width}x{self.height}"


class Picture(NamedTuple):
    """Its `form` is `png`, `jpeg` or `webp`; `size` is None where the file does not say it at its front."""

    form: str
    size: Size | None


def picture_of(text: str) -> Picture | None:
    """Of a picture in base64; None where the text is not base64 from end to end, or the file is no picture."""
    try:
        data = binascii.a2b_base64(text, strict_mode=True)[:FRONT]
    except ValueError:  # also of a text that is not ASCII
        return None
    form = form_of(data)
    return Picture(form, size_of(data)) if form else None


def form_of(data: bytes) -> str:
    """By what such files begin with; empty: none of them."""
    if data.startswith(_PNG):
        return "png"
    if data.startswith(_JPEG):
        return "jpeg"
    return "webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else ""


def size_of(data: bytes) -> Size | None:
    """Of a picture of which at least the front is there."""
    try:
        form = form_of(data)
        if form == "png":
            return Size(*struct.unpack_from(">II", data, 16))
        return _SIZED[form](data) if form else None
    except struct.error:
        return None


def _jpeg(data: bytes) -> Size | None:
    at = len(_JPEG)
    while True:
        lead, marker, length = struct.unpack_from(">BBH", data, at)
        if lead != 0xFF:
            return None
        if 0xC0 <= marker <= 0xCF and marker not in _NO_FRAMES:
            height, width = struct.unpack_from(">HH", data, at + 5)
            return Size(width, height)
        at += 2 + length


def _webp(data: bytes) -> Size | None:
    kind = data[12:16]
    if kind == b"VP8X":  # three bytes each, less one
        low, high, wide, tall = struct.unpack_from("<HBHB", data, 24)
        return Size((low | high << 16) + 1, (wide | tall << 16) + 1)
    if kind == b"VP8L":  # fourteen bits each, less one
        (bits,) = struct.unpack_from("<I", data, 21)
        return Size((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
    if kind == b"VP8 ":
        width, height = struct.unpack_from("<HH", data, 26)
        return Size(width & 0x3FFF, height & 0x3FFF)
    return None


_SIZED: Final = {"jpeg": _jpeg, "webp": _webp}
