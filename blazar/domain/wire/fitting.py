"""A request's schemas as its engine's grammar library takes them (C14, C15): before it is asked, and no further than it needs.

For libraries that fail a request in words of their own. What is taken away or not held is named; what is left accepts more, never less.
"""

import re
from typing import Any, Final, NamedTuple

from blazar.domain import teaching
from blazar.domain.grammars import AS_IT_IS, Grammar
from blazar.domain.whole_numbers import whole
from blazar.domain.wire.relax import schemas_in
from blazar.domain.wire.request import shown
from blazar.domain.wire.schema import COUNTS, GONE, LIMITS, Walk

_SWITCHES: Final = frozenset({"items", "additionalProperties"})


class Fitted(NamedTuple):
    """The warnings, and whether the wanted form is held to the letter."""

    warnings: tuple[str, ...] = ()
    held: bool = True


def fit(body: dict[str, Any], grammar: Grammar, form_field: str) -> Fitted:
    """Change the schemas of the child's `body` in place; `form_field` is what the caller calls the wanted form."""
    if grammar is AS_IT_IS:
        return Fitted()
    warnings: list[str] = []
    held = True
    for holder, key, field in schemas_in(body, form_field):
        is_form = field == form_field
        walk = Fit(holder[key], grammar, lenient=not is_form)
        holder[key] = walk.whole()
        # A tool's schema is advice to most models, a form is a promise.
        lost = tuple(dict.fromkeys((*walk.changed, *(sorted(walk.overlooked) if is_form else ()))))
        if lost:
            held = held and not is_form
            warnings.append(teaching.warn_rewritten(shown(field), teaching.schema_simplified(lost)))
    return Fitted(tuple(warnings), held)


class Fit(Walk):
    """One way through one schema. Names as changed what the answer is held to no more."""

    def __init__(self, root: dict[str, Any], grammar: Grammar, *, lenient: bool) -> None:
        super().__init__(root, lenient)
        self._grammar = grammar
        self.overlooked: set[str] = set()

    def schema(self, value: Any, depth: int) -> Any:
        if value is True or (value is False and not self._grammar.closed):
            return value
        if isinstance(value, dict) and value.get("uniqueItems") is False:
            value = {key: item for key, item in value.items() if key != "uniqueItems"}  # says nothing
        out = super().schema(value, depth)
        if self._grammar.either and "oneOf" in out and "anyOf" not in out:
            out["anyOf"] = out.pop("oneOf")
            self.changed.append("oneOf")
        if self._grammar.closed:
            _open(out)
        return out

    def keyword(self, key: str, item: Any, depth: int) -> Any:
        grammar = self._grammar
        if key in grammar.refuses:
            return GONE
        if key in grammar.overlooks:
            self.overlooked.add(key)
        if isinstance(item, bool) and key in _SWITCHES:
            return item
        if key == "format":
            known = grammar.formats is None or (isinstance(item, str) and item in grammar.formats)
            return item if known else GONE
        if key == "pattern" and isinstance(item, str):
            return GONE if grammar.signs and re.search(grammar.signs, item) else item
        if key in COUNTS or key in LIMITS:
            return self._number(item)
        return super().keyword(key, item, depth)

    def _number(self, item: Any) -> Any:
        """ODD: a whole float is written as a whole number. Typed readers refuse 10.0; as 10 nothing is lost, so nothing is told."""
        if not isinstance(item, int | float) or isinstance(item, bool) or abs(item) >= self._grammar.largest:
            return GONE
        number = whole(item)
        return item if number is None else number


def _open(out: dict[str, Any]) -> None:
    """Say what the standard means by silence; nothing is lost by it."""
    if isinstance(out.get("items"), list) and "prefixItems" not in out:
        out["prefixItems"] = out.pop("items")
    if "minItems" in out or "minContains" in out:
        out.setdefault("items", {})
    if "minProperties" in out:
        out.setdefault("additionalProperties", {})
