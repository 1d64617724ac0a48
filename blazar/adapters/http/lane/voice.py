"""The last step before a child: the request as this kind's server wants it. Parses nothing for a kind that takes it as it is.

What changes is the domain's (`domain/wire/polite.py`); here it only meets the bytes.
"""

from blazar.adapters.http.lane import codec
from blazar.application.ports.upstream import ChildCall
from blazar.domain.manners import Manners
from blazar.domain.wire.polite import Polite, as_it_is, make_polite, refusal

UNCHANGED = Polite()


def spoken(
    call: ChildCall, manners: Manners, window: int, form_field: str = "response_format"
) -> tuple[ChildCall, Polite]:
    """The call as this child wants it; `form_field` is the caller's name of a wanted form. Raises where its kind has no such route."""
    if as_it_is(manners):
        return call, UNCHANGED
    if (error := refusal(call.path.decode(), manners)) is not None:
        raise error
    body = codec.decode(call.body)
    made = make_polite(body, manners, window, form_field)
    return call._replace(body=codec.encode(body)), made
