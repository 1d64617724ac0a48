"""What each engine's grammar library makes of a JSON Schema: keywords it refuses a request for, and those it reads over. Data.

llama.cpp's converter has no row's worth: what it refuses is asked again (`wire/relax.py`), what it reads over stands in `wire/converter.py`.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from blazar.domain.kinds import EngineKind


class Grammar(NamedTuple):
    """One library's.

    For any of `refuses` the whole request fails, so they must not reach it; `overlooks` are taken and not held. `formats` are the
    string formats that it knows (None: another one does no harm). `either` says that `oneOf` fails unless its branches can be
    told apart, so it is said as `anyOf`. `signs` is what it refuses in a pattern. No bound may reach `largest`. `closed` says that
    what a list or an object holds beside what is named is nothing unless it is said, so that a least number without it fails; that
    lists by place must be called `prefixItems`; and that a value that nothing fits fails the request.
    """

    refuses: frozenset[str] = frozenset()
    overlooks: frozenset[str] = frozenset()
    formats: frozenset[str] | None = None
    either: bool = False
    signs: str = ""
    largest: float = float("inf")
    closed: bool = False


AS_IT_IS: Final = Grammar()

_CONDITIONS: Final = frozenset({"not", "if", "then", "else", "dependentSchemas", "dependentRequired", "dependencies"})
_ARRAYS: Final = frozenset({"uniqueItems", "contains", "minContains", "maxContains", "unevaluatedItems"})
_REFERRING: Final = r"\\[1-9bBk]"
"""Back references, and boundaries of words, which look around."""

# llguidance 1.9.1, each asked: what is in neither of its two lists (implemented, annotations: parser/src/json/schema.rs) is an error
# ("Unimplemented keys"), so is an unknown format. It compiles bounds on the number of properties in special cases only.
LLGUIDANCE: Final = Grammar(
    refuses=_CONDITIONS
    | _ARRAYS
    | {"propertyNames", "unevaluatedProperties", "minProperties", "maxProperties", "$dynamicRef", "$recursiveRef"},
    formats=frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid", "uri"}),
    either=True,
    signs=r"\(\?(?:[=!]|<[=!])|" + _REFERRING,
)

# xgrammar 0.2.9, each asked (cpp/json_schema_converter.cc, regex_converter.cc): it warns in its log, or not at all, of what it reads
# over, `oneOf` as `anyOf`, and of several schemas in `allOf` it holds none.
XGRAMMAR: Final = Grammar(
    overlooks=_CONDITIONS | _ARRAYS | {"multipleOf", "oneOf", "allOf", "$dynamicRef", "unevaluatedProperties"},
    signs=r"\(\?(?:[=!]|<)|\\[pP]|" + _REFERRING,
    largest=2.0**63,
    closed=True,
)

GRAMMARS: Final[Mapping[EngineKind, Grammar]] = {
    EngineKind.LLAMACPP: AS_IT_IS,
    EngineKind.MISTRALRS: LLGUIDANCE,
    EngineKind.SGLANG: XGRAMMAR,
}
"""Kinds without a row hold an answer to nothing."""
