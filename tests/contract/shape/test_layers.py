"""The order of the doors (D7) is a value, and it is this one."""

import ast
import asyncio
import subprocess
import sys
from pathlib import Path

from blazar.adapters.http.asgi import Receive, Scope, Send
from blazar.adapters.http.layers import order
from blazar.adapters.http.layers.authenticate import OPEN_PATHS
from blazar.adapters.http.layers.order import LAYERS, Doorway
from tests.unit.adapters.http.asgi_calls import KEY, doors, fine, run, scope_of

PACKAGE = Path(order.__file__).parents[1]


def test_the_order_of_the_contract() -> None:
    """Outermost first; CORS outside auth, so that preflights need no key and a page can read its 401."""
    names = [layer.__name__ for layer in LAYERS]
    assert names == ["request_log", "host_check", "cors", "authenticate", "body_limit", "session_pin"]


def test_only_health_is_open() -> None:
    """Beside HEAD / and preflights."""
    assert frozenset({"/health", "/healthz"}) == OPEN_PATHS


def imports_of(path: Path) -> set[str]:
    tree = ast.walk(ast.parse(path.read_text()))
    found = set()
    for node in tree:
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found


def test_no_layer_knows_the_web_framework() -> None:
    """They outlive the handler and stand before Quart is loaded: the daemon listens first (D2)."""
    early = [
        *(PACKAGE / "layers").glob("*.py"),
        *(PACKAGE / f"{n}.py" for n in ("asgi", "entrance", "errors", "routes")),
    ]
    heavy = {"quart", "werkzeug", "pydantic", "hypercorn", "httpx", "sqlmodel"}
    assert {path.name: found for path in early if (found := imports_of(path) & heavy)} == {}


def test_the_doors_can_be_exchanged_while_requests_are_under_way() -> None:
    """A request goes on behind the layers that it came through; the next one meets the new ones."""
    there = asyncio.Event()
    done = asyncio.Event()

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        there.set()
        await done.wait()
        await fine(scope, receive, send)

    async def main() -> None:
        doorway = Doorway(slow, doors())
        first = asyncio.create_task(run(doorway, scope_of("GET", "/api/tags")))
        await there.wait()
        doorway.exchange(doors(keys=(KEY,)))
        assert (await run(doorway, scope_of("GET", "/api/tags"))).status == 401
        done.set()
        assert (await first).status == 200

    asyncio.run(main())


def test_the_doors_open_before_anything_heavy_is_loaded() -> None:
    """Importing layers and entrance drags in no library, directly or not."""
    code = "import sys, blazar.adapters.http.layers.order, blazar.adapters.http.entrance; print(*sys.modules)"
    loaded = set(subprocess.check_output([sys.executable, "-c", code], text=True).split())
    assert loaded & {"quart", "werkzeug", "pydantic", "hypercorn", "httpx", "sqlmodel", "msgspec", "psutil"} == set()


def test_the_boundary_is_the_only_catch_all_in_the_shell() -> None:
    """`except Exception` stands in request_log and nowhere else under adapters/http (habit 17)."""
    broad = [
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or (isinstance(node.type, ast.Name) and node.type.id in ("Exception", "BaseException")))
    ]
    assert broad == ["layers/request_log.py"]
