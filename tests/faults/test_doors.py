"""The census of doors on a real daemon: what the table says is what it does, on the hot paths and on uploads as on all others."""

import socket
from collections.abc import Iterator
from contextlib import closing

import pytest

from blazar.adapters.http.routes import ROUTES
from blazar.domain import teaching
from tests.contract.shape.test_doors import DOORS, concrete
from tests.support.daemon import WATCHDOG, Daemon

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


def say(daemon: Daemon, *pieces: bytes) -> bytes:
    """All that the daemon answers to these bytes, and to no more."""
    with closing(socket.create_connection(("127.0.0.1", daemon.port), timeout=WATCHDOG)) as client:
        for piece in pieces:
            client.sendall(piece)
        client.shutdown(socket.SHUT_WR)
        got = b""
        try:
            while data := client.recv(65536):
                got += data
        except ConnectionResetError:  # it did not read all of it
            pass
        return got


def asking(line: str, *, key: str = "", host: str = "localhost", more: str = "") -> bytes:
    shown = f"authorization: Bearer {key}\r\n" if key else ""
    return f"{line}\r\nhost: {host}\r\n{shown}{more}\r\n".encode()


FORMS = ["{}", "http://localhost{}", "HTTPS://127.0.0.1:1{}", "http://localhost/{}"]
NO_FORMS = [
    "a:{}",
    "x{};y",
    "http:{}",
    "//localhost{}",
    "ftp://localhost{}",
    "*{}",
    "{};x",
    "http:///{}",
    "localhost:1{}",
]
ODD = ["", "connection: close\r\n"]
"""Without and with the general parser."""


@pytest.mark.parametrize("form", [*FORMS, *NO_FORMS])
@pytest.mark.parametrize("more", ODD)
@pytest.mark.parametrize("path", [row.path for row in ROUTES if row.method == "GET" and row.gate == "manage"])
def test_no_form_of_a_target_is_a_way_around_a_gate(daemon: Daemon, form: str, more: str, path: str) -> None:
    """What a scoped key may not ask for it may not ask for in a whole URL either (RFC 9112, 3.2.2), nor in anything that is no path."""
    target = form.format(concrete(path))
    status = int(say(daemon, asking(f"GET {target} HTTP/1.1", key=GUEST, more=more)).split(b" ", 2)[1])
    assert status in ((403,) if form in FORMS else (400, 401, 403, 404)), target
    if form in FORMS:
        nobody = say(daemon, asking(f"GET {target} HTTP/1.1", more=more))
        assert nobody.startswith(b"HTTP/1.1 401 ")


@pytest.mark.parametrize("more", ODD)
def test_a_whole_url_is_asked_for_as_its_path(daemon: Daemon, more: str) -> None:
    """What needs no key needs none, the lane is found, and the host is judged that the URL names."""
    assert say(daemon, asking("GET http://localhost/health HTTP/1.1", more=more)).startswith(b"HTTP/1.1 200 ")
    assert say(daemon, asking("HEAD http://localhost HTTP/1.1", more=more)).startswith(b"HTTP/1.1 200 ")
    foreign = say(daemon, asking("GET http://evil.example/health HTTP/1.1", more=more))
    assert foreign.startswith(b"HTTP/1.1 403 ")
    ours = say(daemon, asking("GET http://localhost/health HTTP/1.1", host="evil.example", more=more))
    assert ours.startswith(b"HTTP/1.1 200 ")
    chat = asking("POST http://localhost/v1/chat/completions HTTP/1.1", key=OWNER, more=f"{more}content-length: 2\r\n")
    told = say(daemon, chat + b"{}")
    assert told.startswith(b"HTTP/1.1 400 ")
    assert b"model" in told
    assert say(daemon, asking("OPTIONS * HTTP/1.1", key=OWNER, more=more)).startswith(b"HTTP/1.1 200 ")


KIB = 1024


@pytest.mark.parametrize("more", ODD)
@pytest.mark.parametrize(
    ("size", "passes"), [(60 * KIB, True), (63 * KIB, True), (64 * KIB, True), (64 * KIB + 1, False), (70 * KIB, False)]
)
def test_a_whole_head_has_a_bound(daemon: Daemon, more: str, size: int, passes: bool) -> None:
    """Line and headers together, however they come: a 431 where the headers are to blame, a 414 where the URL is."""
    for line, refusal in (
        ("GET /health?{} HTTP/1.1\r\nhost: localhost\r\n%s\r\n", b"HTTP/1.1 414 "),
        ("GET /health HTTP/1.1\r\nhost: localhost\r\n%sx: {}\r\n\r\n", b"HTTP/1.1 431 "),
    ):
        frame = line % more
        head = frame.format("y" * (size - len(frame) + 2)).encode()
        assert len(head) == size
        for pieces in ((head,), (head[:40000], head[40000:])):
            assert say(daemon, *pieces).startswith(b"HTTP/1.1 200 " if passes else refusal)


@pytest.mark.parametrize("line", ["head / HTTP/1.1", "Head /v1/models HTTP/1.1", "get /health HTTP/1.1"])
def test_a_method_in_small_letters_is_told_so(daemon: Daemon, line: str) -> None:
    """With a sentence, and without a word in the log."""
    told = say(daemon, asking(line, key=OWNER))
    assert told.startswith(b"HTTP/1.1 400 ")
    assert teaching.method_in_small_letters(line.split(maxsplit=1)[0]).encode() in told
    assert "Traceback" not in daemon.errors.read_text()
