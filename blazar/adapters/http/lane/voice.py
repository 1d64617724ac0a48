"""The last step before a child: the request as this kind's server wants it.

For a kind that takes it as it is, nothing is parsed but a request with schemas whose patterns have to be said in other signs.

What changes is the domain's (`domain/wire/polite.py`); here it only meets the bytes.
"""

import re
from typing import Final

from blazar.adapters.http.lane import codec
from blazar.application.ports.upstream import ChildCall
from blazar.domain import teaching
from blazar.domain.manners import Manners
from blazar.domain.wire.converter import converted
from blazar.domain.wire.polite import Polite, as_it_is, asked_for_one, make_polite, refusal
from blazar.domain.wire.relax import schemas_in
from blazar.domain.wire.request import shown
from blazar.domain.wire.structured import Asked

UNCHANGED = Polite()


def spoken(
    call: ChildCall, manners: Manners, window: int, form_field: str = "response_format"
) -> tuple[ChildCall, Polite]:
    """The call as this child wants it; `form_field` is the caller's name of a wanted form. Raises where its kind has no such route."""
    if as_it_is(manners):
        return _in_signs(call), UNCHANGED
    if (error := refusal(call.path.decode(), manners)) is not None:
        raise error
    body = codec.decode(call.body)
    path = asked_for_one(call.path.decode(), body, manners).encode()
    made = make_polite(body, manners, window, form_field)
    return call._replace(path=path, body=codec.encode(body)), made


def converts(asked: Asked) -> Polite:
    """What llama.cpp's converter will not hold of the form that is wanted."""
    overlooked = converted(asked.schema).overlooked
    if not overlooked:
        return UNCHANGED
    said = teaching.warn_rewritten(shown(asked.field), teaching.schema_simplified(overlooked))
    return Polite(() if asked.of_call else (said,), held=False)  # a tool's schema is advice, a form is a promise


def _in_signs(call: ChildCall) -> ChildCall:
    """The call with the patterns of its schemas as llama.cpp's converter can hold them, tools' among them (C14)."""
    if b'"pattern"' not in call.body or _ESCAPED_PATTERN.search(call.body) is None:
        return call
    body = codec.decode(call.body)
    changed = False
    for holder, key, _ in schemas_in(body, "") if isinstance(body, dict) else ():
        schema = converted(holder[key]).schema
        changed = changed or schema is not holder[key]
        holder[key] = schema
    return call._replace(body=codec.encode(body)) if changed else call


_ESCAPED_PATTERN: Final = re.compile(rb'"pattern"\s*:\s*"(?:[^"\\]|\\[^\\u])*\\(?:\\|u005[cC])')
"""A pattern with a backslash in it: only those may have to be said otherwise, and looking costs less than parsing."""
