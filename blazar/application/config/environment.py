"""Keys from environment variables: which of them are set, and what a text is as the key's type has it. Judges no value."""

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any, NamedTuple

from pydantic.fields import FieldInfo

from blazar.application.config.knob import knob_of, parts_of
from blazar.application.config.log_filter import understood
from blazar.application.config.model import Config
from blazar.application.config.variables import VARIABLES
from blazar.domain import teaching

# Nineteen digits hold every number that a key may have; Python refuses to read thousands of them.
_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")
_DECIMAL = re.compile(r"[+-]?([0-9]{1,19}(\.[0-9]{0,19})?|\.[0-9]{1,19})")
SWITCHES = {
    **dict.fromkeys(("true", "1", "yes", "on"), True),
    **dict.fromkeys(("false", "0", "no", "off"), False),
}
"""How a variable says true and false, in any case."""


_OURS = "BLAZAR_"
_ALIKE = 0.9  # with the common beginning: one or two letters amiss; the installer's variables are less alike than that


class Found(NamedTuple):
    """One key that a variable sets."""

    key: str
    variable: str
    value: Any


@cache
def variables() -> tuple[tuple[str, str], ...]:
    """Every variable that sets a key, with that key; of those that set the same one, the stronger comes later."""
    return tuple((variable, key) for key, field in Config.model_fields.items() for variable in knob_of(field).env)


def from_environment(env: Mapping[str, str]) -> Iterator[Found]:
    """Keys that are set. An empty variable sets none, unless empty means something to its key."""
    for variable, key in variables():
        if (said := env.get(variable)) is None:
            continue
        field = Config.model_fields[key]
        text = understood(said.strip()) if variable == "RUST_LOG" else said.strip()
        if text or knob_of(field).empty:
            yield Found(key, variable, typed(field, text))


def unread(env: Mapping[str, str]) -> Iterator[str]:
    """Names that look like variables of ours and are none, with what was meant; others that begin alike may be anybody's."""
    known = {*(variable for variable, _ in variables()), *(variable.name for variable in VARIABLES)}
    for name in sorted(env):
        if not name.startswith(_OURS) or name in known:
            continue
        key = name.removeprefix(_OURS).lower()
        own = next((variable for variable, of in reversed(variables()) if of == key), "")
        if key in Config.model_fields and not own:
            yield teaching.variable_for_no_key(name, key)
        elif meant := own or next(iter(get_close_matches(name, sorted(known), n=1, cutoff=_ALIKE)), ""):
            yield teaching.variable_unread(name, meant)


def typed(field: FieldInfo, text: str) -> Any:
    """A text as the key's type has it; what is no such value stays text and is refused with its sentence."""
    kinds = set(parts_of(field.annotation))
    if tuple in kinds:
        return [word for part in text.split(",") if (word := part.strip())]
    if bool in kinds:
        return SWITCHES.get(text.lower(), text)
    if int in kinds and _WHOLE.fullmatch(text):
        return int(text)
    if float in kinds and _DECIMAL.fullmatch(text):
        return float(text)
    return text
