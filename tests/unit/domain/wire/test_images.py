"""Image requests and their answers."""

import base64
import struct
from typing import Any

import pytest

from blazar.domain import teaching
from blazar.domain.errors import EngineSaid, Malformed
from blazar.domain.wire.images import image_reply, image_request, image_warnings, size_warnings


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
        ({"prompt": "x" * 4001}, "prompt"),
        ({"n": 0}, "n"),
        ({"n": 11}, "n"),
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


def test_odd_url_is_answered_with_a_data_url() -> None:
    """Where URLs are wanted each picture is one that holds itself; else the answer passes as it is."""
    answer = {"created": 1, "data": [{"b64_json": "QQ=="}], "output_format": "png"}
    assert image_reply(answer, "m", urls=False, media="image/png") is None
    changed = image_reply(answer, "m", urls=True, media="image/png")
    assert changed == {**answer, "data": [{"url": "data:image/png;base64,QQ=="}]}


def test_another_size_than_asked_is_said() -> None:
    """Engines round up; where no size was asked for, or the picture's is not known, there is nothing to say."""
    png = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + struct.pack(">II", 64, 72)
    answer = {"data": [{"b64_json": base64.b64encode(png).decode()}]}
    (said,) = size_warnings({"size": "63x65"}, answer)
    assert said == teaching.warn_rewritten("size", teaching.picture_resized("63x65", "64x72"))
    assert size_warnings({"size": "64x72"}, answer) == size_warnings({}, answer) == ()
    assert size_warnings({"size": "63x65"}, {"data": [{"b64_json": "QQ=="}]}) == ()


@pytest.mark.parametrize(
    "answer", [None, [], {}, {"data": []}, {"data": [{}]}, {"data": [{"b64_json": ""}]}, {"data": 7}]
)
def test_a_success_without_a_picture_is_none(answer: Any) -> None:
    """502: the engine failed to answer."""
    with pytest.raises(EngineSaid) as failed:
        image_reply(answer, "m", urls=False, media="image/png")
    assert failed.value.status == 502
