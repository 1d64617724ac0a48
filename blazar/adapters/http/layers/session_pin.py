"""Reads which named session a request belongs to and keeps it in the scope. What a pin does is decided where children are."""

import re
from collections.abc import Awaitable
from typing import Final

from blazar.adapters.http.asgi import App, Receive, Scope, Send, headers_of
from blazar.adapters.http.errors import refuse
from blazar.adapters.http.layers.doors import Doors
from blazar.domain import teaching
from blazar.domain.errors import Malformed

SESSION: Final = "blazar.session"
"""Where the name lies in the scope; absent without the header."""

# A name becomes a file name later (session banks), so the alphabet is that of one path component, and not of dots alone.
_NAME = re.compile(rb"(?!\.+$)[A-Za-z0-9._:-]{1,128}")


def session_pin(app: App, doors: Doors) -> App:  # noqa: ARG001 - every layer takes the same two
    """Note the session of a request; one that cannot be a name is refused."""

    def layer(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] == "lifespan":
            return app(scope, receive, send)
        name = headers_of(scope).get(b"x-blazar-session")
        if name is not None:
            if not _NAME.fullmatch(name):
                return refuse(scope, send, Malformed(teaching.session_name_wrong(), "x-blazar-session"))
            scope[SESSION] = name.decode()
        return app(scope, receive, send)

    return layer
