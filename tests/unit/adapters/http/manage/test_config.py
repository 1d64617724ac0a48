"""GET /api/config."""

from blazar.adapters.http.layers.doors import Key
from tests.unit.adapters.http.asgi_calls import KEY, call, doors
from tests.unit.adapters.http.gateway import Parts


def test_the_running_configuration_is_shown() -> None:
    """As the use case gives it."""
    assert call(Parts().app, "GET", "/api/config").json() == {"path": "config.toml", "values": {"port": 11435}}


def test_a_scoped_key_does_not_see_it() -> None:
    """It names keys and folders: for managers only."""
    parts = Parts(layers=doors(keys=(KEY, Key("guest", "plm_guest", ("m",)))))
    assert call(parts.app, "GET", "/api/config", [("authorization", "Bearer plm_guest")]).status == 403
