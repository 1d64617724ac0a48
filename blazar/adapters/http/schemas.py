"""Judges JSON Schemas, and answers by them, with `jsonschema`, which is imported on the first question only.

Never follows a reference out of a schema. Must not be held up by a pattern: a match that backtracks holds the whole process.
"""

import json
import re
from typing import Any

from blazar.application.ports.schemas import Schemas
from blazar.domain import teaching

_LONGEST = 300
"""Characters of a reason: the library quotes the offending value, which may be the whole schema."""


class JsonSchemas(Schemas):
    """JSON Schema, draft 2020-12 unless the schema names another one."""

    def flaw(self, schema: Any) -> str | None:
        from jsonschema import Draft202012Validator, SchemaError
        from jsonschema.validators import validator_for

        if isinstance(schema, bool):  # "anything" and "nothing" are schemas
            return None
        if not isinstance(schema, dict):
            return teaching.schema_flaw("object")
        if not isinstance(schema.get("$schema", ""), str):
            return teaching.schema_flaw("dialect")
        try:
            validator_for(schema, default=Draft202012Validator).check_schema(schema)
        except SchemaError as error:
            place = "/".join(str(part) for part in error.path)
            why = error.message if len(error.message) <= _LONGEST else f"{error.message[:_LONGEST]}…"
            return teaching.schema_flaw_at(place, why) if place else why
        except RecursionError:
            return teaching.schema_flaw("deep")
        return None

    def agrees(self, schema: Any, text: str) -> bool:
        from jsonschema import Draft202012Validator
        from jsonschema.validators import extend, validator_for
        from referencing import Registry
        from referencing.exceptions import Unresolvable

        try:
            value = json.loads(text)
            if not _quickly_named(schema):
                return True
            kind = extend(validator_for(schema, default=Draft202012Validator), {"pattern": _pattern})  # type: ignore[no-untyped-call]
            return bool(kind(schema, registry=Registry()).is_valid(value))
        except (ValueError, RecursionError, re.error, Unresolvable):
            return False


def _pattern(validator: Any, pattern: Any, value: Any, schema: Any) -> Any:
    """ODD: a pattern that could take for ever is taken on trust. The engine was told it, and `re` cannot be stopped."""
    del schema
    from jsonschema import ValidationError

    if not validator.is_type(value, "string") or len(value) > _LONGEST_MATCHED or not is_quick(pattern):
        return
    if not re.search(pattern, value):
        yield ValidationError("pattern")


def is_quick(pattern: Any) -> bool:
    """Whether matching it ends soon, by a look at its signs alone: at most one open repetition, and none of a group."""
    if not isinstance(pattern, str) or len(pattern) > _LONGEST_PATTERN:
        return False
    bare = _CLASS.sub("c", _ESCAPED.sub("c", pattern))
    return _GROUP_REPEATED.search(bare) is None and len(_OPEN.findall(bare)) <= 1


def _quickly_named(schema: Any) -> bool:
    """Whether every pattern for names of properties is quick: those are searched in places that cannot be replaced one by one."""
    if isinstance(schema, list):
        return all(_quickly_named(one) for one in schema)
    if not isinstance(schema, dict):
        return True
    named = schema.get("patternProperties")
    quick = not isinstance(named, dict) or all(is_quick(pattern) for pattern in named)
    return quick and all(_quickly_named(one) for one in schema.values())


_LONGEST_MATCHED = 4096
_LONGEST_PATTERN = 1000
_ESCAPED = re.compile(r"\\.", re.DOTALL)
_CLASS = re.compile(r"\[\^?\]?[^\]]*\]")
_GROUP_REPEATED = re.compile(r"\)[*+{?]")
_OPEN = re.compile(r"[*+]|\{\d*,\d*\}|\{\d{3,}")
"""Repetitions without a bound, or with a bound worth none."""
