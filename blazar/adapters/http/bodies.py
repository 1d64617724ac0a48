"""Reading and writing JSON on the cold routes: the same sentence for the same mistake everywhere (A21)."""

import json
import math
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError
from quart import Response, request

from blazar.adapters.http.lane.codec import body_object
from blazar.domain import teaching
from blazar.domain.errors import Malformed

Shape = TypeVar("Shape", bound=BaseModel)

# What a wrong field should have been, by pydantic's own error type: our sentence, not the library's.
_MUST: Final = {
    "string_type": "string",
    "bool_type": "boolean",
    "int_type": "integer",
    "float_type": "number",
    "list_type": "list",
    "dict_type": "object",
}
# Fields that say the same on every route, whatever is wrong with them.
_ALWAYS: Final = dict.fromkeys(("model", "name", "source", "destination"), "model") | {
    "target": "model",
    "keep_alive": "duration",
    "gpu": "sizes",
    "ram": "number",
}


async def read_object() -> dict[str, Any]:
    """The request's body, which must be one JSON object, whatever its content type says."""
    raw = await request.get_data(cache=False)
    assert isinstance(raw, bytes)
    return body_object(raw)


async def read(shape: type[Shape]) -> Shape:
    """The body as `shape`, or the first thing that is wrong with it. JSON null means absent (A13)."""
    given = {name: value for name, value in (await read_object()).items() if value is not None}
    try:
        return shape.model_validate(given, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = str(first["loc"][0])  # shapes are flat; what follows are the branches of a union
        if first["type"] == "missing":
            raise Malformed(teaching.field_missing(field), field) from None
        raise Malformed(teaching.field_must(field, _ALWAYS.get(field) or _MUST[first["type"]]), field) from None


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
