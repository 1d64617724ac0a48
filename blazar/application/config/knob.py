"""What a configuration key may say about itself beside its type, and the base that every group shares."""

import re
from typing import Annotated, ClassVar, NamedTuple

from pydantic import AfterValidator, BaseModel, ConfigDict, Strict
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from blazar.domain import teaching


class Knob(NamedTuple):
    """Metadata of one key. `env`: variables that set it, the last one that is set wins. `per_model`: may be overridden."""

    env: tuple[str, ...] = ()
    per_model: bool = False


Words = Annotated[tuple[str, ...], Strict(strict=False)]
"""A TOML list of texts. Only the container is lenient (TOML knows no tuple); its items stay strict."""


def shaped(pattern: str, wants: str) -> AfterValidator:
    """A text that matches as a whole, or is empty; `wants` names the sentence that says how it is written."""
    form = re.compile(pattern)

    def check(text: str) -> str:
        if text and not form.fullmatch(text):
            raise PydanticCustomError("blazar", "{why}", {"why": teaching.config_wants(wants)})
        return text

    return AfterValidator(check)


class Keys(BaseModel):
    """A group of keys. `title` heads it in the docs; `group` is its optional table in the file ("": root-only, D26).

    Strict on purpose: `port = "11435"` is a mistake that a person should see, not a number.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True, defer_build=True)

    title: ClassVar[str] = ""
    group: ClassVar[str] = ""


def knob_of(field: FieldInfo) -> Knob:
    """The metadata of a field; an empty one where it has none."""
    return next((item for item in field.metadata if isinstance(item, Knob)), Knob())
