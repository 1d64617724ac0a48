"""What a configuration key may say about itself beside its type, the forms that texts take, and the base that every group shares."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, get_args, get_origin

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, Strict, field_validator
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from blazar.application.config.dotted import too_deep
from blazar.application.config.sentences import sentences_of
from blazar.domain import teaching
from blazar.domain.errors import BadName
from blazar.domain.names import check_name


class Knob(NamedTuple):
    """Metadata of one key. `env`: variables that set it, the last one that is set wins. `per_model`: may be overridden.

    `daemon`: it says nothing about one model, so that no child can ever be told of it. `empty`: an empty variable is a value too.
    """

    env: tuple[str, ...] = ()
    per_model: bool = False
    daemon: bool = False
    empty: bool = False


# Engines read whole numbers as 32 bits, and end or wrap around beyond.
LARGEST = 2**31 - 1
MOST_PORTS = 65535
Whole = Annotated[int, Field(ge=0, le=LARGEST)]
Positive = Annotated[int, Field(ge=1, le=LARGEST)]

Words = Annotated[tuple[str, ...], Strict(strict=False)]
"""A TOML list of texts. Only the container is lenient (TOML knows no tuple); its items stay strict."""


def refused(wants: str, limit: object = "") -> PydanticCustomError:
    """The error whose sentence is ours; `wants` names it."""
    return PydanticCustomError("blazar", "{why}", {"why": teaching.config_wants(wants, limit)})


def shaped(pattern: str, wants: str) -> AfterValidator:
    """A text that matches as a whole, or is empty; `wants` names the sentence that says how it is written."""
    form = re.compile(pattern, re.ASCII)  # engines read no other digits

    def check(text: str) -> str:
        if text and not form.fullmatch(text):
            raise refused(wants)
        return text

    return AfterValidator(check)


def model_name(text: str) -> str:
    """A text that may be a model's name."""
    try:
        return check_name(text)
    except BadName as error:
        raise refused("name") from error


def model_reference(text: str) -> str:
    """A text that may name a model of this gateway or, after a colon, of another one."""
    for name in (text, text.partition(":")[2]):
        with suppress(BadName):
            check_name(name)
            return text
    raise refused("model")


def workers(text: str) -> str:
    """`HOST:PORT`, several with commas between them. ODD: ggml's parser ends a host at its first colon, so that no IPv6 address can be said."""
    for one in text.split(",") if text else ():
        host, _, port = one.rpartition(":")
        if ":" in host:
            raise refused("worker_v6")
        if host and port.isascii() and port.isdecimal() and not 1 <= int(port[:6]) <= MOST_PORTS:
            raise refused("worker_port")
    return text


def _holds_nul(value: Any) -> bool:
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, dict):
        return any(map(_holds_nul, (*value, *value.values())))
    return isinstance(value, list | tuple) and any(map(_holds_nul, value))


def json_object(value: Any) -> Any:
    """A table, or its JSON as text; what is neither stays as it is and is refused for being no table."""
    try:
        read = json.loads(value) if isinstance(value, str) else value
        return value if too_deep(read) else read
    except (ValueError, RecursionError):
        return value


_NEGATIVE = re.compile(r"-[\d.]")


def _command_line(words: tuple[str, ...]) -> tuple[str, ...]:
    """ODD: a negative number is a value and no flag (case I4), so that it cannot come first."""
    if not all(words):
        raise refused("extra_empty")
    if words and (not words[0].startswith("-") or _NEGATIVE.match(words[0])):
        raise refused("extra_first", words[0])
    return words


ExtraWords = Annotated[tuple[str, ...], Strict(strict=False), AfterValidator(_command_line)]
"""Words of a command line in their order, repetitions included: flags, each before its values."""


class Keys(BaseModel):
    """A group of keys. `title` heads it in the docs; `group` is its optional table in the file ("": root-only, D26).

    `daemon`: none of its keys says anything about one model, but for those that may be overridden.
    Strict on purpose: `port = "11435"` is a mistake that a person should see, not a number.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False, defer_build=True)

    title: ClassVar[str] = ""
    group: ClassVar[str] = ""
    daemon: ClassVar[bool] = False

    @field_validator("*", mode="after")
    @classmethod
    def _carried(cls, value: Any) -> Any:
        """What a text says ends up as a word, a variable or a path of the system, and all of them end at a NUL."""
        if _holds_nul(value):
            raise refused("nul")
        return value

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """Put the sentence under each field into it; the schema is built later, and takes them along."""
        for name, sentence in sentences_of(cls).items():
            if name in cls.model_fields:
                cls.model_fields[name].description = sentence


def knob_of(field: FieldInfo) -> Knob:
    """The metadata of a field; an empty one where it has none."""
    return next((item for item in field.metadata if isinstance(item, Knob)), Knob())


def parts_of(annotation: Any) -> Iterator[Any]:
    """The plain types that an annotation is made of, without None: `tuple[Annotated[str, …], …] | None` has tuple and str."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from parts_of(get_args(annotation)[0])
        return
    if isinstance(origin or annotation, type) and annotation is not NoneType and origin is not UnionType:
        yield origin or annotation
    if origin is Literal:
        yield from dict.fromkeys(type(word) for word in get_args(annotation))
        return
    for part in get_args(annotation):
        yield from parts_of(part)


def table_in(annotation: Any) -> type[Keys] | None:
    """The keys of the table or tables that a value is, None for a plain value."""
    return next((part for part in parts_of(annotation) if issubclass(part, Keys)), None)
