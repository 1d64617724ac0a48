"""The census of doors on a real daemon: what the table says is what it does, on the hot paths and on uploads as on all others."""

from collections.abc import Iterator

import pytest

from blazar.adapters.http.routes import ROUTES
from tests.contract.shape.test_doors import DOORS, concrete
from tests.support.daemon import Daemon

OWNER, GUEST = "plm_root_5ecret0fTheOwner", "plm_scoped_5ecret0fAGuest"
CONFIG = f"""
[[keys]]
name = "owner"
key = "{OWNER}"
[[keys]]
name = "guest"
key = "{GUEST}"
models = ["m"]
"""
CALLERS = {
    "nobody": {},
    "stranger": {"authorization": "Bearer plm_of-nobody"},
    "guest": {"authorization": f"Bearer {GUEST}"},
}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """One with two keys and no model."""
    with Daemon(tmp_path_factory.mktemp("doors"), CONFIG) as made:
        yield made


def test_every_route_keeps_its_gate(daemon: Daemon) -> None:
    """Whoever has no key is nobody, whatever is asked for; nothing is loaded, and no configuration is written."""
    before = daemon.config_file.read_bytes()
    for route in ROUTES:
        for number, (caller, headers) in enumerate(CALLERS.items()):
            body = b"{}" if route.method not in ("GET", "HEAD") else None
            answer = daemon.ask(route.method, concrete(route.path), body, headers)
            wanted = DOORS[route.gate.value][number]
            assert (answer.status if answer.status in (401, 403) else 0) == wanted, (caller, route)
    owner = {"x-api-key": OWNER}
    assert daemon.ask("GET", "/api/ps", None, owner).json() == {"models": []}
    assert daemon.config_file.read_bytes() == before


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": OWNER},
        {"authorization": f"Basic {OWNER}"},
        {"authorization": f"Bearer{OWNER}"},
        {"authorization": "Bearer "},
        {"authorization": f"Bearer {OWNER}x"},
        {"authorization": f"Bearer {OWNER[:-1]}"},
        {"authorization": f"Bearer {OWNER.upper()}"},
        {"authorization": f'Bearer "{OWNER}"'},
        {"x-api-key": ""},
        {"x-api-key": f"{OWNER},{GUEST}"},
        {"x-api-key": f"Bearer {OWNER}"},
        {"cookie": f"key={OWNER}"},
        {"x-forwarded-for": "127.0.0.1", "x-real-ip": "127.0.0.1"},
        {"x-original-url": "/health", "x-rewrite-url": "/health"},
        {"x-http-method-override": "HEAD"},
    ],
)
def test_nothing_else_is_a_key(daemon: Daemon, headers: dict[str, str]) -> None:
    """Nor is a query, a cookie, or a word of a proxy."""
    for target in ("/api/config", f"/api/config?api_key={OWNER}&key={OWNER}&token={OWNER}"):
        answer = daemon.ask("GET", target, None, headers)
        assert answer.status == 401
        assert answer.headers["www-authenticate"] == "Bearer"


def test_a_key_is_shown_in_either_header(daemon: Daemon) -> None:
    """A client that sends a dummy in one may have the key in the other; the scheme's case is no matter."""
    for headers in (
        {"authorization": f"bearer {OWNER}"},
        {"authorization": f"Bearer  {OWNER} "},
        {"authorization": "Bearer ollama", "x-api-key": OWNER},
        {"authorization": f"Bearer {OWNER}", "x-api-key": "dummy"},
    ):
        assert daemon.ask("GET", "/api/config", None, headers).status == 200
