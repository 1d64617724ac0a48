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
    """JSON Schema, draft 2020-12 unless the schema names another one or can only be of an earlier one."""

    def flaw(self, schema: Any) -> str | None:
        from jsonschema import SchemaError

        if isinstance(schema, bool):  # "anything" and "nothing" are schemas
            return None
        if not isinstance(schema, dict):
            return teaching.schema_flaw("object")
        if not isinstance(schema.get("$schema", ""), str):
            return teaching.schema_flaw("dialect")
        try:
            _dialect(schema).check_schema(schema)
        except SchemaError as error:
            place = "/".join(str(part) for part in error.path)
            why = error.message if len(error.message) <= _LONGEST else f"{error.message[:_LONGEST]}…"
            return teaching.schema_flaw_at(place, why) if place else why
        except RecursionError:
            return teaching.schema_flaw("deep")
        return None

    def breach(self, schema: Any, text: str, *, lenient: bool = False) -> str | None:
        from jsonschema.exceptions import UnknownType
        from jsonschema.validators import extend
        from referencing import Registry
        from referencing.exceptions import Unresolvable

        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return teaching.sentinel_no_json()
        try:
            if isinstance(schema, bool):
                return None if schema or lenient else teaching.sentinel_place("", "false")
            if not _quickly_named(schema) or (lenient and self.flaw(schema) is not None):
                return None
            kind = extend(_dialect(schema), {"pattern": _pattern})  # type: ignore[no-untyped-call] # jsonschema has no types for it
            error = next(kind(schema, registry=Registry()).iter_errors(value), None)
        except (RecursionError, re.error, Unresolvable, UnknownType, TypeError, AttributeError):
            return None if lenient else teaching.sentinel_unjudged()
        return None if error is None else _place(error)


def _place(error: Any) -> str:
    """Which part of the schema it is, without a word of the value."""
    place = "/".join(str(part) for part in list(error.absolute_schema_path)[:-1])
    return teaching.sentinel_place(place[:_LONGEST_PLACE], str(error.validator))


def _dialect(schema: dict[str, Any]) -> Any:
    """ODD: a list of items makes a schema one of an earlier draft. Clients write it without a word of the draft, and engines hold it."""
    from jsonschema import Draft201909Validator, Draft202012Validator
    from jsonschema.validators import validator_for

    return validator_for(schema, default=Draft201909Validator if _lists_items(schema) else Draft202012Validator)


def _lists_items(schema: Any) -> bool:
    inner = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    listed = isinstance(schema, dict) and isinstance(schema.get("items"), list)
    return listed or any(_lists_items(one) for one in inner)


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


_LONGEST_PLACE = 120
_LONGEST_MATCHED = 4096
_LONGEST_PATTERN = 1000
_ESCAPED = re.compile(r"\\.", re.DOTALL)
_CLASS = re.compile(r"\[\^?\]?[^\]]*\]")
_GROUP_REPEATED = re.compile(r"\)[*+{?]")
_OPEN = re.compile(r"[*+]|\{\d*,\d*\}|\{\d{3,}")
"""Repetitions without a bound, or with a bound worth none."""
