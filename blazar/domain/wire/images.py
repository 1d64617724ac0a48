"""OpenAI's image requests: what is checked before anything is loaded, and the answer in the form that was asked for. Pure.

ODD: `url` is answered with a `data:` URL. There is no place that a picture could be fetched from later, and none is kept.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from blazar.domain import teaching
from blazar.domain.errors import EngineSaid, Malformed
from blazar.domain.wire.pictures import Picture, picture_of
from blazar.domain.wire.request import ignored, want_text

MOST_PICTURES: Final = 8
"""What sd-server draws at once (0.4.7): of ten, OpenAI's own bound, it draws eight and says nothing."""
LONGEST_SIDE: Final = 8192
"""Pixels. A picture of eight thousand by eight thousand takes more memory than any card has; a typing error should not try."""
LONGEST_PROMPT: Final = 16_000
"""Bytes. OpenAI's widest bound is 32 000 characters (gpt-image-1; 4000 for DALL-E 3, 1000 for DALL-E 2), and so many end sd-server: its regular
expressions recurse once a byte. In threads with 8 MiB of stack (0.4.7) 24 000 were drawn and 32 000 ended it, and 16 000 were whatever they spelled."""
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
    if len(prompt.encode("utf-8", "surrogatepass")) > LONGEST_PROMPT:
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


def pictures_in(answer: Any, model: str, count: int) -> tuple[Picture, ...]:
    """What was drawn. Raises `EngineSaid` where that is not so many pictures, whatever the engine's status was."""
    rows = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(rows, list) or not rows:
        raise EngineSaid(502, teaching.child_drew_nothing(model))
    if len(rows) != count:
        raise EngineSaid(502, teaching.child_drew_otherwise(model, len(rows), count))
    found = [_picture(row) for row in rows]
    pictures = tuple(picture for picture in found if picture is not None)
    if len(pictures) != count:
        raise EngineSaid(502, teaching.child_drew_no_picture(model))
    return pictures


def with_urls(answer: Mapping[str, Any], pictures: Sequence[Picture]) -> dict[str, Any]:
    """The answer with URLs instead of base64, each of the type that its picture really has."""
    rows = zip(answer["data"], pictures, strict=True)
    return {
        **answer,
        "data": [{"url": f"data:{TYPES[picture.form]};base64,{row['b64_json']}"} for row, picture in rows],
    }


def drawn_otherwise(asked: Mapping[str, Any], pictures: Sequence[Picture]) -> tuple[str, ...]:
    """That a picture has another size or form than was asked for: engines round sides up to what a model can draw."""
    wanted, drawn = (asked.get("size"), asked.get("output_format")), pictures[0]
    warnings = []
    if wanted[0] and drawn.size is not None and str(drawn.size) != wanted[0]:
        warnings.append(teaching.warn_rewritten("size", teaching.picture_resized(str(wanted[0]), str(drawn.size))))
    if wanted[1] and drawn.form != wanted[1]:
        became = teaching.picture_reformed(str(wanted[1]), drawn.form)
        warnings.append(teaching.warn_rewritten("output_format", became))
    return tuple(warnings)


def _picture(row: Any) -> Picture | None:
    text = row.get("b64_json") if isinstance(row, dict) else None
    return picture_of(text) if isinstance(text, str) else None
