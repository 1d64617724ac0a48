"""Makes a Quart blueprint of a family's handlers and its rows of the route table. Writes no path of its own."""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from quart import Blueprint, Response

from blazar.adapters.http.routes import ROUTES, WITH_SLASHES

Handler = Callable[..., Awaitable[Response]]


def blueprint(family: str, handlers: Mapping[str, Handler]) -> Blueprint:
    """One blueprint with every row `family.*`. A row without a handler, or the other way round, is an error at start."""
    made: Any = Blueprint(family, __name__)
    rows = [route for route in ROUTES if route.key.partition(".")[0] == family and not route.upload]
    unused = set(handlers) - {route.key.partition(".")[2] for route in rows}
    assert not unused, f"{family}: no route for {unused}"
    for route in rows:
        name = route.key.partition(".")[2]
        made.add_url_rule(rule_of(route.path), name, handlers[name], methods=[route.method])
    return made  # type: ignore[no-any-return]


def rule_of(path: str) -> str:
    """The table's `{id}` in Quart's spelling."""
    return re.sub(r"\{(\w+)\}", r"<path:\1>" if path in WITH_SLASHES else r"<\1>", path)
