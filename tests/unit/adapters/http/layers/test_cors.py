"""Which pages may read answers (D9, J2, J4)."""

import asyncio

import pytest

from blazar.adapters.http.asgi import Receive, Scope, Send
from blazar.adapters.http.layers.cors import EXPOSED, cors
from tests.unit.adapters.http.asgi_calls import Spy, call, doors, fine, run, scope_of

LOCAL = [
    "http://localhost",
    "http://localhost:3000",
    "https://localhost:8443",
    "http://127.0.0.1:5173",
    "http://[::1]:3000",
    "http://0.0.0.0:8080",
    "app://obsidian.md",
    "file://",
    "tauri://localhost",
    "vscode-webview://1f2e",
    "vscode-file://vscode-app",
]
FOREIGN = [
    "https://evil.example",
    "http://localhost.evil.example",
    "http://localhost:80:80",
    "http://evil.example/http://localhost",
    "http://127.0.0.1.nip.io",
    "http://192.168.7.5:11435",
    "null",
    "",
    "ftp://localhost",
]


@pytest.mark.parametrize("origin", LOCAL)
def test_local_origins_may_always_read(origin: str) -> None:
    """The setup document's list, any port."""
    answer = call(cors(fine, doors()), "GET", "/", [("origin", origin)])
    assert (answer.status, answer.header("access-control-allow-origin")) == (200, origin)
    assert answer.header("vary") == "origin"
    assert answer.header("access-control-expose-headers") == EXPOSED.decode()
    assert "x-blazar-trace-id" in EXPOSED.decode()


@pytest.mark.parametrize("origin", FOREIGN)
def test_an_unlisted_origin_is_served_without_the_header(origin: str) -> None:
    """Looking is never refused, and the origin never reflected (J2, J4)."""
    answer = call(cors(fine, doors()), "GET", "/", [("origin", origin)])
    assert answer.status == 200
    assert [name for name, _ in answer.headers if name.startswith("access-control")] == []
    assert answer.header("vary") == "origin"


def test_listed_origins_are_added() -> None:
    """A trailing slash and letter case in the configuration do not matter; local ones stay."""
    app = cors(fine, doors(cors_origins=("https://App.example/",)))
    assert call(app, "GET", "/", [("origin", "https://app.example")]).header("access-control-allow-origin")
    assert call(app, "GET", "/", [("origin", "http://localhost:1")]).header("access-control-allow-origin")
    assert call(app, "GET", "/", [("origin", "https://app.example.evil")]).header("access-control-allow-origin") is None


def test_a_star_is_any_origin() -> None:
    """Without credentials, so literally a star."""
    app = cors(fine, doors(cors_origins=("*",)))
    assert call(app, "GET", "/", [("origin", "https://evil.example")]).header("access-control-allow-origin") == "*"


def test_a_request_without_origin_is_left_alone() -> None:
    """Programs are not pages: nothing is added."""
    assert call(cors(fine, doors()), "GET", "/").headers == [("content-type", "text/plain")]


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/api/delete", "/nowhere"])
@pytest.mark.parametrize("origin", ["http://localhost:3000", "https://listed.example", "https://evil.example"])
def test_preflights(method: str, path: str, origin: str) -> None:
    """Answered here on every path, with the requested headers echoed; a foreign page gets no permission and no 403."""
    wanted = "authorization,x-api-key,anthropic-version,x-stainless-os"
    asked = [("origin", origin), ("access-control-request-method", method), ("access-control-request-headers", wanted)]
    spy = Spy()
    answer = call(cors(spy, doors(cors_origins=("https://listed.example",))), "OPTIONS", path, asked)
    assert (answer.status, answer.body, spy.scopes) == (204, b"", [])
    if "evil" in origin:
        assert answer.headers == [("vary", "origin")]
        return
    assert answer.header("access-control-allow-origin") == origin
    assert answer.header("access-control-allow-methods") == "GET, POST, PUT, PATCH, DELETE"
    assert answer.header("access-control-allow-headers") == wanted
    assert answer.header("access-control-allow-private-network") is None


@pytest.mark.parametrize(("origin", "want"), [("http://localhost:3000", "true"), ("https://evil.example", None)])
def test_private_network_is_granted_to_allowed_origins_only(origin: str, want: str | None) -> None:
    """D9."""
    asked = [("origin", origin), ("access-control-request-method", "POST")]
    asked.append(("access-control-request-private-network", "true"))
    answer = call(cors(fine, doors()), "OPTIONS", "/api/chat", asked)
    assert answer.header("access-control-allow-private-network") == want


def test_what_is_no_header_list_is_not_echoed() -> None:
    """The echo is for names, not for whatever was sent."""
    asked = [("origin", "http://localhost"), ("access-control-request-method", "GET")]
    answer = call(cors(fine, doors()), "OPTIONS", "/", [*asked, ("access-control-request-headers", "a: b")])
    assert answer.header("access-control-allow-headers") is None


def test_options_without_a_wish_is_no_preflight() -> None:
    """It goes on, to the layers that ask for a key."""
    spy = Spy()
    call(cors(spy, doors()), "OPTIONS", "/", [("origin", "http://localhost")])
    assert len(spy.scopes) == 1


@pytest.mark.parametrize("origin", ["https://evil.example", "http://localhost"])
def test_an_engines_own_cors_headers_never_pass(origin: str) -> None:
    """An engine that answers '*' does not open us to a page (J21)."""

    async def engine(scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"access-control-allow-origin", b"*"), (b"access-control-allow-credentials", b"true")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    answer = call(cors(engine, doors()), "GET", "/", [("origin", origin)])
    assert answer.header("access-control-allow-credentials") is None
    assert answer.header("access-control-allow-origin") == (None if "evil" in origin else origin)


@pytest.mark.parametrize(
    ("origin", "served"),
    [("https://evil.example", False), ("http://localhost:1", True), ("http://box:11435", True), (None, True)],
)
def test_a_foreign_page_cannot_open_a_websocket(origin: str | None, served: bool) -> None:
    """Browsers let it try, so it is stopped here; a page of our own address may."""
    spy = Spy()
    headers = [("host", "box:11435"), *([("origin", origin)] if origin else [])]
    answer = asyncio.run(run(cors(spy, doors()), scope_of(kind="websocket", headers=headers)))
    assert bool(spy.scopes) is served
    assert [message["type"] for message in answer.messages] == ([] if served else ["websocket.close"])


def test_lifespan_passes() -> None:
    """It has no headers to look at."""
    spy = Spy()
    asyncio.run(run(cors(spy, doors()), {"type": "lifespan"}))
    assert len(spy.scopes) == 1


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("origin", ["https://evil.example", "null"])
def test_a_foreign_page_changes_nothing(method: str, origin: str) -> None:
    """A form or a text/plain request needs no preflight: it is refused with the reason, before anything runs."""
    answer = call(cors(fine, doors()), method, "/api/evict", [("origin", origin), ("content-type", "text/plain")])
    assert answer.status == 403
    assert "cors_origins" in answer.body.decode()
    assert answer.header("access-control-allow-origin") is None


def test_a_page_of_the_gateway_itself_may_write() -> None:
    """Browsers send an Origin with their own site's writes too."""
    assert call(cors(fine, doors()), "POST", "/", [("origin", "http://box:11435"), ("host", "box:11435")]).status == 200
