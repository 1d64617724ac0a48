"""What somebody says of an API key, by the API or the command line: checked field by field, before anything is done. Pure."""

from collections.abc import Mapping
from typing import Any, Final

from blazar.domain import teaching
from blazar.domain.errors import Malformed

LIMITS: Final = ("rpm", "tpm", "daily_tokens", "max_concurrent")
SETTINGS: Final = ("models", *LIMITS, "weight")
"""In the order in which a file says them."""
MOST: Final = 2**53
"""Beyond, a JSON client of another language reads another number."""
MOST_MODELS: Final = 1000
LONGEST_MODEL: Final = 256


def checked_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings as a file says them, in its order. None takes one away. Raises `Malformed`."""
    for field in given:
        if field not in SETTINGS:
            raise Malformed(teaching.key_field_unknown(field, SETTINGS), field)
    return {field: _checked(field, given[field]) for field in SETTINGS if field in given}


def _checked(field: str, value: Any) -> Any:
    if value is None:
        return None
    if field == "models":
        return _models(value)
    if field == "weight":
        if type(value) not in (int, float) or not 0 < value <= MOST:
            raise Malformed(teaching.field_must(field, "above_zero"), field)
        return float(value)
    if type(value) is not int or not 1 <= value <= MOST:
        raise Malformed(teaching.field_must(field, "positive"), field)
    return value


def _models(value: Any) -> list[str]:
    if isinstance(value, list | tuple) and any(isinstance(name, str) and not name.strip() for name in value):
        raise Malformed(teaching.key_model_unnamed(), "models")
    if not isinstance(value, list | tuple) or len(value) > MOST_MODELS or not all(map(_is_model, value)):
        raise Malformed(teaching.field_must("models", "model_names"), "models")
    if not value:  # whoever means "none of them" would get all, and the management besides
        raise Malformed(teaching.key_models_empty(), "models")
    return list(dict.fromkeys(value))


def _is_model(name: Any) -> bool:
    """Of this server or of another one: what it means is found out when it is asked for."""
    return isinstance(name, str) and 0 < len(name) <= LONGEST_MODEL and name.isprintable() and name.strip() == name
