"""What the layers must be told. Values and ports only: no layer reads configuration or the environment."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from blazar.adapters.http.asgi import App
from blazar.application.access.accounts import Accounts
from blazar.application.ports.clock import Clock
from blazar.application.ports.entropy import Entropy
from blazar.application.ports.telemetry import Meter
from blazar.domain.keys import Key

BODY_LIMIT = 50 * 2**20
"""Bytes of one JSON body (D12)."""


@dataclass(frozen=True, slots=True)
class Doors:
    """Everything that the layers know beside the request. `refused(peer, path)` hears of requests without a valid key."""

    meter: Meter
    clock: Clock
    entropy: Entropy
    machine_names: Callable[[], Collection[str]]
    keys: tuple[Key, ...] = ()
    accounts: Accounts = field(default_factory=Accounts)  # what the keys have used: the same for the next doors
    cors_origins: tuple[str, ...] = ()
    allowed_hosts: tuple[str, ...] = ()
    body_limit: int = BODY_LIMIT
    refused: Callable[[str, str], None] = lambda _peer, _path: None


Layer = Callable[[App, Doors], App]
