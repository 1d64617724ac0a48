"""Forms and sizes of pictures by the first bytes of their files."""

import base64
import struct

import pytest

from blazar.domain.wire.pictures import FRONT, Picture, Size, form_of, picture_of, size_of

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + struct.pack(">II", 64, 72)
WEBP = b"RIFF\x00\x00\x00\x00WEBP"


def jpeg(*segments: tuple[int, bytes]) -> bytes:
    return b"\xff\xd8" + b"".join(struct.pack(">BBH", 0xFF, mark, len(body) + 2) + body for mark, body in segments)


FRAME = b"\x08" + struct.pack(">HH", 72, 64) + b"\x03"


@pytest.mark.parametrize(
    "data",
    [
        PNG,
        jpeg((0xE0, b"JFIF\x00"), (0xE1, b"a prompt" * 900), (0xC4, b"tables"), (0xC0, FRAME)),
        jpeg((0xC2, FRAME)),
        WEBP + b"VP8X" + bytes(8) + b"\x3f\x00\x00\x47\x00\x00",
        WEBP + b"VP8L" + bytes(4) + b"\x2f" + struct.pack("<I", 63 | 71 << 14),
        WEBP + b"VP8 " + bytes(4) + b"\x00\x00\x00\x9d\x01\x2a" + struct.pack("<HH", 64 | 1 << 14, 72),
    ],
)
def test_the_size_of_a_picture(data: bytes) -> None:
    """Of all formats that can be asked for; the rest of the file need not be there."""
    assert size_of(data) == Size(64, 72)
    assert picture_of(base64.b64encode(data).decode()) == Picture(form_of(data), Size(64, 72))
    assert str(size_of(data)) == "64x72"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"GIF89a",
        PNG[:20],
        b"\xff\xd8",
        jpeg((0xE0, b"JFIF")),
        b"\xff\xd8\x00\x00\x00\x00",
        jpeg((0xC0, b"")),
        WEBP + b"VP8X",
        WEBP + b"ALPH" + bytes(20),
    ],
)
def test_what_is_no_picture_has_no_size(data: bytes) -> None:
    """Nor has one whose front is cut off, or that nobody here can read: it may be a picture nevertheless."""
    assert size_of(data) is None
    picture = picture_of(base64.b64encode(data).decode())
    assert picture == (Picture(form_of(data), None) if form_of(data) else None)


def test_the_form_is_what_files_begin_with() -> None:
    """Not what anybody says about them."""
    assert [form_of(data) for data in (PNG, jpeg(), WEBP, b"GIF89a", b"RIFF\x00\x00\x00\x00WAVE", b"")] == [
        "png",
        "jpeg",
        "webp",
        "",
        "",
        "",
    ]


@pytest.mark.parametrize("text", ["", "QQ=", "Q", "\N{SNOWMAN}", "!!", "data:image/png;base64,iVBORw0KGgo="])
def test_what_is_no_base64_is_no_picture(text: str) -> None:
    """Whatever an engine wrote."""
    assert picture_of(text) is None


def test_base64_holds_from_end_to_end() -> None:
    """A client would fail at its last character as at its first; only the front of the file is looked at."""
    text = base64.b64encode(PNG + bytes(FRONT)).decode()
    assert picture_of(text) == Picture("png", Size(64, 72))
    assert picture_of(text + "?") is None
    assert picture_of(text[:-4] + "\n" + text[-4:]) is None
    assert picture_of(
        base64.b64encode(jpeg((0xE1, bytes(60000)), *[(0xE1, bytes(60000))] * 9, (0xC0, FRAME))).decode()
    ) == Picture("jpeg", None)
