"""OpenAI's image requests: what is checked before anything is loaded, and the answer in the form that was asked for. Pure.

ODD: `url` is answered with a `data:` URL. There is no place that a picture could be fetched from later, and none is kept.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from blazar.domain import teaching
from blazar.domain.errors import EngineSaid, Malformed
from blazar.domain.wire.pictures import size_of_text
from blazar.domain.wire.request import ignored, want_text

MOST_PICTURES: Final = 10
"""OpenAI's own bound for one request."""
LONGEST_SIDE: Final = 8192
"""Pixels. A picture of eight thousand by eight thousand takes more memory than any card has; a typing error should not try."""
LONGEST_PROMPT: Final = 4000
"""Characters: OpenAI's own bound for DALL-E 3. Ten times as many end sd-server, whose search for its tag recurses (32 000 were seen to)."""
_SIZE: Final = re.compile(r"([1-9]\d{0,4})x([1-9]\d{0,4})", re.ASCII)
FORMATS: Final = ("b64_json", "url")
TYPES: Final = {"png": "image/png", "jpeg": "image/jpeg", "webp": "image/webp"}
"""What a picture may be encoded as, and its media type."""
PASSED: Final = ("n", "size", "seed", "steps", "cfg_scale", "output_format", "output_compression")
OURS: Final = frozenset({"model", "prompt", "response_format", "keep_alive", "user", *PASSED})


def image_request(body: Mapping[str, Any]) -> dict[str, Any]:
    """What the child is asked, in OpenAI's words. Raises `Malformed`."""
    prompt = want_text(body, "prompt")
    if not prompt.strip():
        raise Malformed(teaching.field_missing("prompt"), "prompt")
    if len(prompt) > LONGEST_PROMPT:
        raise Malformed(teaching.field_must("prompt", "image_prompt"), "prompt")
    if body.get("response_format") not in (None, *FORMATS):
        raise Malformed(teaching.field_must("response_format", "image_format"), "response_format")
    asked = {"prompt": prompt} | {field: body[field] for field in PASSED if body.get(field) is not None}
    for field, most in (("n", MOST_PICTURES), ("steps", 1000), ("output_compression", 100)):
        _check_count(asked, field, most)
    seed, scale = asked.get("seed", 0), asked.get("cfg_scale", 1.0)
    if isinstance(seed, bool) or not isinstance(seed, int) or abs(seed) >= 2**63:
        raise Malformed(teaching.field_must("seed", "integer"), "seed")
    if isinstance(scale, bool) or not isinstance(scale, int | float) or not 0 <= scale <= 1000:
        raise Malformed(teaching.field_must("cfg_scale", "image_scale"), "cfg_scale")
    if asked.get("output_format", "png") not in tuple(TYPES):  # a list is a value too, and no key of a table
        raise Malformed(teaching.field_must("output_format", "image_type"), "output_format")
    _check_size(asked)
    return asked


def _check_count(asked: Mapping[str, Any], field: str, most: int) -> None:
    value = asked.get(field, 1)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise Malformed(teaching.field_from_one_to(field, most), field)


def _check_size(asked: dict[str, Any]) -> None:
    if asked.get("size") == "auto":
        del asked["size"]
    size = asked.get("size", "512x512")
    found = _SIZE.fullmatch(size) if isinstance(size, str) else None
    if found is None or max(int(found[1]), int(found[2])) > LONGEST_SIDE:
        raise Malformed(teaching.field_must("size", "image_size"), "size")


def image_warnings(body: Mapping[str, Any]) -> tuple[str, ...]:
    """Fields that ask for what no local engine does (quality, style, background …)."""
    return tuple(ignored(field) for field, value in body.items() if field not in OURS and value is not None)


def image_reply(answer: Any, model: str, *, urls: bool, media: str) -> dict[str, Any] | None:
    """The answer with URLs instead of base64; None where it can pass as it is. Raises `EngineSaid` where there is no picture in it."""
    rows = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(rows, list) or not rows or not all(_is_picture(row) for row in rows):
        raise EngineSaid(502, teaching.child_drew_nothing(model))
    if not urls:
        return None
    pictures = [{"url": f"data:{media};base64,{row['b64_json']}"} for row in rows]
    return {**answer, "data": pictures}


def size_warnings(asked: Mapping[str, Any], answer: Any) -> tuple[str, ...]:
    """That a picture has another size than the one that was asked for: engines round sides up to what a model can draw."""
    size = asked.get("size")
    drawn = size_of_text(answer["data"][0]["b64_json"]) if size else None
    if drawn is None or str(drawn) == size:
        return ()
    return (teaching.warn_rewritten("size", teaching.picture_resized(str(size), str(drawn))),)


def _is_picture(row: Any) -> bool:
    return isinstance(row, dict) and isinstance(row.get("b64_json"), str) and bool(row["b64_json"])
