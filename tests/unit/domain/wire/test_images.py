"""Image requests and their answers."""

import base64
import struct
from typing import Any

import pytest

from blazar.domain import teaching
from blazar.domain.errors import EngineSaid, Malformed
from blazar.domain.wire.images import drawn_otherwise, image_request, image_warnings, pictures_in, with_urls
from blazar.domain.wire.pictures import Picture, Size


def test_what_is_understood_is_asked() -> None:
    """Names of ours and the form of the answer stay here; nulls are absent, an automatic size is the engine's."""
    body = {
        "model": "m",
        "prompt": "a cat",
        "n": 2,
        "size": "64x32",
        "seed": None,
        "response_format": "url",
        "user": "u",
    }
    assert image_request(body) == {"prompt": "a cat", "n": 2, "size": "64x32"}
    assert image_request({"prompt": "a cat", "size": "auto"}) == {"prompt": "a cat"}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "prompt"),
        ({"prompt": "  "}, "prompt"),
        ({"prompt": 7}, "prompt"),
        ({"prompt": "x" * 16_001}, "prompt"),
        ({"prompt": "\N{SNOWMAN}" * 5_334}, "prompt"),
        ({"n": 0}, "n"),
        ({"n": 9}, "n"),
        ({"n": True}, "n"),
        ({"n": "2"}, "n"),
        ({"steps": 0}, "steps"),
        ({"steps": 1001}, "steps"),
        ({"size": "64"}, "size"),
        ({"size": "0x64"}, "size"),
        ({"size": "9000x64"}, "size"),
        ({"size": "64X64"}, "size"),
        ({"size": "64x64\n"}, "size"),
        ({"size": "6\u0664x6\u0664"}, "size"),
        ({"size": 64}, "size"),
        ({"seed": "x"}, "seed"),
        ({"seed": True}, "seed"),
        ({"seed": 2**63}, "seed"),
        ({"cfg_scale": -1}, "cfg_scale"),
        ({"cfg_scale": "much"}, "cfg_scale"),
        ({"cfg_scale": float("nan")}, "cfg_scale"),
        ({"output_format": "gif"}, "output_format"),
        ({"output_format": ["png"]}, "output_format"),
        ({"output_format": {"png": 1}}, "output_format"),
        ({"output_compression": 101}, "output_compression"),
        ({"response_format": "png"}, "response_format"),
        ({"response_format": ["url"]}, "response_format"),
    ],
)
def test_what_is_wrong_names_its_field(body: dict[str, Any], field: str) -> None:
    """Before anything is loaded."""
    with pytest.raises(Malformed) as refused:
        image_request({"prompt": "a cat", **body} if field != "prompt" else body)
    assert refused.value.field == field


def test_what_no_engine_does_is_said() -> None:
    """One warning for each such field that asks for something."""
    warnings = image_warnings({"model": "m", "prompt": "x", "quality": "hd", "style": None, "n": 1})
    assert warnings == ("ignored; 'quality' has no effect here",)


def test_a_prompt_is_bounded_in_bytes() -> None:
    """The engine's expressions recurse once a byte, so that a letter of four counts four times."""
    for prompt in ("x" * 16_000, "\N{GRINNING FACE}" * 4_000):
        assert image_request({"prompt": prompt})["prompt"] == prompt


def as_text(data: bytes) -> str:
    return base64.b64encode(data).decode()


PNG = as_text(b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + struct.pack(">II", 64, 72))
JPEG = as_text(b"\xff\xd8\xff")


def test_odd_url_is_answered_with_a_data_url() -> None:
    """Each is one that holds its picture, of the type that the picture has."""
    answer = {"created": 1, "data": [{"b64_json": PNG}, {"b64_json": JPEG}], "output_format": "png"}
    urls = [{"url": f"data:image/png;base64,{PNG}"}, {"url": f"data:image/jpeg;base64,{JPEG}"}]
    assert with_urls(answer, pictures_in(answer, "m", 2)) == {**answer, "data": urls}


def test_another_size_than_asked_is_said() -> None:
    """Engines round up; where no size was asked for, or the picture's is not known, there is nothing to say."""
    drawn = pictures_in({"data": [{"b64_json": PNG}]}, "m", 1)
    (said,) = drawn_otherwise({"size": "63x65"}, drawn)
    assert said == teaching.warn_rewritten("size", teaching.picture_resized("63x65", "64x72"))
    assert drawn_otherwise({"size": "64x72"}, drawn) == drawn_otherwise({}, drawn) == ()
    assert drawn_otherwise({"size": "63x65"}, (Picture("jpeg", None),)) == ()


def test_another_form_than_asked_is_said() -> None:
    """It is a picture nevertheless."""
    drawn = (Picture("png", Size(64, 72)),)
    (said,) = drawn_otherwise({"output_format": "jpeg"}, drawn)
    assert said == teaching.warn_rewritten("output_format", teaching.picture_reformed("jpeg", "png"))
    assert drawn_otherwise({"output_format": "png"}, drawn) == ()


def refused(answer: Any, count: int = 1) -> str:
    with pytest.raises(EngineSaid) as failed:
        pictures_in(answer, "m", count)
    assert failed.value.status == 502
    return str(failed.value)


@pytest.mark.parametrize("answer", [None, [], {}, {"data": []}, {"data": 7}, {"data": {"b64_json": PNG}}])
def test_a_success_without_a_picture_is_none(answer: Any) -> None:
    """502: the engine failed to answer."""
    assert refused(answer) == teaching.child_drew_nothing("m")


@pytest.mark.parametrize(("drawn", "asked"), [(1, 2), (3, 2), (2, 1)])
def test_more_or_less_pictures_than_asked_are_none(drawn: int, asked: int) -> None:
    """Whoever asked for two would take the second for missing, or pay for a third."""
    assert refused({"data": [{"b64_json": PNG}] * drawn}, asked) == teaching.child_drew_otherwise("m", drawn, asked)


@pytest.mark.parametrize(
    "row",
    [
        {},
        7,
        None,
        {"b64_json": ""},
        {"b64_json": 7},
        {"b64_json": "QQ=="},
        {"b64_json": PNG + "?"},
        {"b64_json": f"data:image/png;base64,{PNG}"},
        {"b64_json": as_text(b"GIF89a")},
        {"url": "file:///etc/passwd"},
    ],
)
def test_what_is_no_picture_is_never_passed_on(row: Any) -> None:
    """Nor are the others beside it."""
    assert refused({"data": [row]}) == teaching.child_drew_no_picture("m")
    assert refused({"data": [{"b64_json": PNG}, row]}, 2) == teaching.child_drew_no_picture("m")
