"""Judges JSON Schemas with `jsonschema`, which is imported on the first question only. Never follows a reference."""

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
