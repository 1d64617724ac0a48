"""Reading and writing JSON on the cold routes: the same sentence for the same mistake everywhere (A21)."""

import json
import math
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from quart import Response, request

from blazar.domain import teaching
from blazar.domain.errors import Malformed

Shape = TypeVar("Shape", bound=BaseModel)

# What a wrong field should have been, by pydantic's own error type: our sentence, not the library's.
_WANTS = {
    "string_type": "text",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "list_type": "a list",
    "dict_type": "an object",
    "string_too_short": "text that is not empty",
}


async def read_object() -> dict[str, Any]:
    """The request's body, which must be one JSON object, whatever its content type says."""
    raw = await request.get_data(cache=False)
    assert isinstance(raw, bytes)
    if not raw.strip():
        raise Malformed(teaching.body_not_json("it is empty"))
    try:
        body = json.loads(raw.decode("utf-8-sig"))  # json alone would guess UTF-16 and UTF-32 too
    except UnicodeDecodeError:
        raise Malformed(teaching.body_not_json("it is not UTF-8 text")) from None
    except RecursionError:
        raise Malformed(teaching.body_not_json("it is nested too deeply")) from None
    except ValueError as error:
        raise Malformed(teaching.body_not_json(str(error))) from None
    if not isinstance(body, dict):
        raise Malformed(teaching.body_not_object())
    return body


async def read(shape: type[Shape]) -> Shape:
    """The body as `shape`, or the first thing that is wrong with it. JSON null means absent (A13)."""
    given = {name: value for name, value in (await read_object()).items() if value is not None}
    try:
        return shape.model_validate(given, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        if first["type"] == "missing":
            raise Malformed(teaching.field_missing(field), field) from None
        raise Malformed(teaching.field_wrong(field, _WANTS.get(first["type"], first["msg"])), field) from None


def reply(data: Any, status: int = 200) -> Response:
    """`data` as JSON. Numbers that JSON lacks become null: a model file's metadata may hold any float."""
    try:
        text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except ValueError:
        text = json.dumps(_finite(data), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Metadata strings may hold lone surrogates where a file is not UTF-8; they have no bytes of their own.
    return Response(text.encode("utf-8", "replace"), status=status, content_type="application/json")


def _finite(data: Any) -> Any:
    if isinstance(data, dict):
        return {name: _finite(value) for name, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data
