"""What a configuration key may say about itself beside its type, the forms that texts take, and the base that every group shares."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    Strict,
    field_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, PydanticCustomError

from blazar.application.config.dotted import too_deep
from blazar.application.config.sentences import sentences_of
from blazar.domain import teaching
from blazar.domain.errors import BadName
from blazar.domain.names import LONGEST_NAME, NAME, check_name


class Knob(NamedTuple):
    """Metadata of one key. `env`: variables that set it, the last one that is set wins. `per_model`: may be overridden.

    `daemon`: it says nothing about one model, so that no child can ever be told of it. `empty`: an empty variable is a value too.
    `path`: whether such a text names a file or a folder (None: never); it counts from the folder of config.toml.
    """

    env: tuple[str, ...] = ()
    per_model: bool = False
    daemon: bool = False
    empty: bool = False
    path: Callable[[str], bool] | None = None


PATH = Knob(path=bool)
"""Of a key that names a file or a folder and nothing else."""

# Engines read whole numbers as 32 bits, and end or wrap around beyond.
LARGEST = 2**31 - 1
MOST_PORTS = 65535
LONGEST_SAID = 100
"""Characters of a wrong value that are repeated: it may be a whole file between the wrong quotes."""
Whole = Annotated[int, Field(ge=0, le=LARGEST)]
Positive = Annotated[int, Field(ge=1, le=LARGEST)]

Words = Annotated[tuple[str, ...], Strict(strict=False)]
"""A TOML list of texts. Only the container is lenient (TOML knows no tuple); its items stay strict."""


def refused(wants: str, limit: object = "") -> PydanticCustomError:
    """The error whose sentence is ours; `wants` names it."""
    said = limit.encode("utf-8", "replace").decode()[:LONGEST_SAID] if isinstance(limit, str) else limit
    return PydanticCustomError("blazar", "{why}", {"why": teaching.config_wants(wants, said)})


def also(**facts: Any) -> Any:
    """What the JSON schema says of a value beside its type, for editors; `load_config` judges by validators of its own."""
    return Field(json_schema_extra=facts)


def portable(pattern: str) -> str:
    """A pattern in the words that ECMAScript has, which JSON Schema means: groups that ignore case are younger than most readers."""

    def both(group: re.Match[str]) -> str:
        return f"(?:{re.sub('[a-z]', lambda letter: f'[{letter[0]}{letter[0].upper()}]', group[1])})"

    return re.sub(r"\(\?i:([^()]*)\)", both, pattern)


@dataclass(frozen=True, slots=True)
class _Shaped(AfterValidator):
    """A validator that an editor knows, too."""

    pattern: str = ""

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {**handler(core), "pattern": self.pattern}


def shaped(pattern: str, wants: str, told: str = "") -> AfterValidator:
    """A text that matches as a whole, or is empty; `wants` names the sentence that says how it is written.

    `told`: what the JSON schema says instead, where that can say more than `pattern` has to.
    """
    form = re.compile(pattern, re.ASCII)  # engines read no other digits

    def check(text: str) -> str:
        if text and not form.fullmatch(text):
            raise refused(wants)
        return text

    return _Shaped(check, f"^(?:{portable(told or pattern)})?$")


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


NAMED = also(pattern=f"^{NAME}$", maxLength=LONGEST_NAME)
"""What an editor knows of a model's name."""
ModelName = Annotated[str, AfterValidator(model_name), NAMED]
ModelReference = Annotated[str, AfterValidator(model_reference), also(pattern=f"^(?:[^:]*:)?{NAME}$")]

PORT = r"0{0,4}(?:[1-9]\d{0,3}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d\d|655[0-2]\d|6553[0-5])"
"""1 to MOST_PORTS, as a pattern."""


def workers(text: str) -> str:
    """`HOST:PORT`, several with commas between them. ODD: no IPv6 address can be said: ggml's parser ends a host at its first colon."""
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


JsonObject = dict[str, Any] | Annotated[str, also(pattern=r"^\s*\{[\s\S]*\}\s*$")]
"""What `json_object` is given, as editors know it."""


def json_object(value: Any) -> Any:
    """A table, or its JSON as text; what is neither stays as it is and is refused for being no table."""
    try:
        read = json.loads(value) if isinstance(value, str) else value
        return value if too_deep(read) else read
    except (ValueError, RecursionError):
        return value


def _in_json(table: dict[str, Any]) -> dict[str, Any]:
    """TOML has dates and infinities, and numbers of any length; the engine is handed JSON."""
    try:
        json.dumps(table, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise refused("json") from error
    return table


JsonTable = Annotated[
    dict[str, Any], AfterValidator(_in_json), BeforeValidator(json_object, json_schema_input_type=JsonObject)
]
"""A table, or the JSON of one as text."""


_NEGATIVE = re.compile(r"-[\d.]")


def _command_line(words: tuple[str, ...]) -> tuple[str, ...]:
    """ODD: a negative number is a value and cannot come first: no flag is called -1 (case I4)."""
    if not all(words):
        raise refused("extra_empty")
    if words and (not words[0].startswith("-") or _NEGATIVE.match(words[0])):
        raise refused("extra_first", words[0])
    return words


ExtraWords = Annotated[
    tuple[str, ...],
    Strict(strict=False),
    AfterValidator(_command_line),
    also(prefixItems=[{"type": "string", "pattern": r"^-(?![\d.])"}], items={"type": "string", "minLength": 1}),
]
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
