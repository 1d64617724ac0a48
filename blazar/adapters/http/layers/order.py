"""The order of the layers (D7), as a value that a test can read. Outermost first."""

from collections.abc import Awaitable
from typing import Final

from blazar.adapters.http.asgi import App, Receive, Scope, Send
from blazar.adapters.http.layers.authenticate import authenticate
from blazar.adapters.http.layers.body_limit import body_limit
from blazar.adapters.http.layers.cors import cors
from blazar.adapters.http.layers.doors import Doors, Layer
from blazar.adapters.http.layers.host_check import host_check
from blazar.adapters.http.layers.request_log import request_log
from blazar.adapters.http.layers.session_pin import session_pin

# Auth stands inside CORS so that a page can read its 401, and preflights need no key.
LAYERS: Final[tuple[Layer, ...]] = (request_log, host_check, cors, authenticate, body_limit, session_pin)


def wrap(app: App, doors: Doors) -> App:
    """`app` inside all layers."""
    for layer in reversed(LAYERS):
        app = layer(app, doors)
    return app


class Doorway:
    """An app inside all layers, which are exchanged together when the configuration changes; a request keeps those it came through."""

    __slots__ = ("_app", "_layered")

    def __init__(self, app: App, doors: Doors) -> None:
        self._app = app
        self.exchange(doors)

    def exchange(self, doors: Doors) -> None:
        """Every request from now on."""
        self._layered = wrap(self._app, doors)

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Hand on without a frame of our own: this is on the hot path."""
        return self._layered(scope, receive, send)
