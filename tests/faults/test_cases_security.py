"""Keys, hosts, origins, names and addresses: what a daemon with keys lets in, tells, and writes down."""

import socket
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.faults.conftest import StubDaemon
from tests.faults.streams import PATHS, body_for
from tests.support.daemon import WATCHDOG, Answer, Daemon, wait_until

ROOT, SCOPED, WRONG = "plm_root_5ecret0fTheOwner", "plm_scoped_5ecret0fAGuest", "plm_wrong_5ecret0fNobody"
# The stub is taken for an engine with a projector: what is asked here is which addresses are let through.
CONFIG = f"""
engine_env = {{ LLAMA_ARG_MMPROJ = "seeing" }}
[[keys]]
name = "owner"
key = "{ROOT}"
[[keys]]
name = "guest"
key = "{SCOPED}"
models = ["m:latest", "e"]
"""
LANES = [*PATHS.values(), "/v1/completions", "/api/generate", "/v1/messages/count_tokens"]
EMBEDS = ["/v1/embeddings", "/api/embed", "/api/embeddings"]
TRAVERSALS = [
    "../../../../etc/passwd",
    "..%2f..%2fetc%2fpasswd",
    "%2e%2e/%2e%2e/etc/passwd",
    "..\\..\\etc",
    "/etc/passwd",
    "m/../../secret",
    "sha256:../../../../tmp/x",
    "m\x00.gguf",
    "daemon",
    ".",
    "..",
    "m#../../x",
]


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def ask(daemon: Daemon, method: str, path: str, body: Any = None, key: str = ROOT, **headers: str) -> Answer:
    return daemon.ask(method, path, body, bearer(key) | headers)


def body_of(path: str, model: str) -> dict[str, Any]:
    if path in EMBEDS:
        return {"model": model, "input": "x"}
    if path in ("/v1/completions", "/api/generate"):
        return {"model": model, "prompt": "x", "stream": False}
    return body_for("x", stream=False, model=model)


def children(daemon: Daemon) -> list[int]:
    return daemon.children()


@pytest.mark.parametrize("path", LANES)
def test_a_scoped_key_may_use_its_models_and_no_other(cases: Daemon, path: str) -> None:
    """403 in the dialect's shape on every lane, and nothing is loaded for it."""
    ask(cases, "POST", "/api/evict", {"model": "other"})
    got = ask(cases, "POST", path, body_of(path, "other"), SCOPED)
    assert got.status == 403
    assert b"may use e, m:latest, and not 'other'" in got.body
    assert "other" not in [row["name"] for row in ask(cases, "GET", "/api/ps").json()["models"]]
    for spelling in ("m", "m:latest", "M"):
        assert ask(cases, "POST", path, body_of(path, spelling), SCOPED).status == 200, spelling


@pytest.mark.parametrize("path", EMBEDS)
def test_a_scoped_key_is_scoped_for_embeddings_too(cases: Daemon, path: str) -> None:
    """Its list holds one embedding model."""
    assert ask(cases, "POST", path, body_of(path, "e"), SCOPED).status == 200
    assert ask(cases, "POST", path, body_of(path, "other"), SCOPED).status == 403


def test_a_warm_model_is_no_way_around_a_scope(cases: Daemon) -> None:
    """The look-up of the hot path knows the scope as well as the slow one."""
    assert ask(cases, "POST", PATHS["openai"], body_of(PATHS["openai"], "other")).status == 200
    for _ in range(3):
        assert ask(cases, "POST", PATHS["openai"], body_of(PATHS["openai"], "other"), SCOPED).status == 403


def test_a_scoped_key_manages_nothing(cases: Daemon) -> None:
    """Neither by the management routes nor by an empty prompt with keep_alive 0."""
    for method, path, body in (
        ("POST", "/api/load", {"model": "m"}),
        ("POST", "/api/evict", {"model": "m"}),
        ("DELETE", "/api/delete", {"model": "m"}),
        ("POST", "/api/copy", {"source": "m", "destination": "x"}),
        ("POST", "/api/create", {"model": "x", "from": "m"}),
        ("POST", f"/api/blobs/sha256:{'0' * 64}", {"model": "m"}),
        ("GET", "/api/doctor", None),
        ("POST", "/api/generate", {"model": "m", "keep_alive": 0}),
        ("POST", "/api/generate", {"model": "other", "keep_alive": 0}),
        ("POST", "/api/chat", {"model": "m", "messages": [], "keep_alive": 0}),
    ):
        got = ask(cases, method, path, body, SCOPED)
        assert got.status == 403, path
        assert b"managing this server needs a key without a models list" in got.body


@pytest.mark.parametrize("name", TRAVERSALS)
def test_no_route_that_takes_a_name_leaves_its_folder(cases: Daemon, name: str) -> None:
    """Encoded or plain, a path is an unknown model or no name at all: never a file, never a 500 (J6, J11)."""
    for method, path, body in (
        ("POST", PATHS["openai"], body_for("x", stream=False, model=name)),
        ("POST", PATHS["ollama"], body_for("x", stream=False, model=name)),
        ("POST", PATHS["anthropic"], body_for("x", stream=False, model=name)),
        ("POST", "/v1/embeddings", {"model": name, "input": "x"}),
        ("POST", "/api/show", {"model": name}),
        ("POST", "/api/load", {"model": name}),
        ("POST", "/api/evict", {"model": name}),
        ("DELETE", "/api/delete", {"model": name}),
        ("POST", "/api/create", {"model": "created", "from": name}),
        ("POST", "/api/create", {"model": "created", "files": {name: f"sha256:{'0' * 64}"}}),
        ("POST", f"/api/blobs/sha256:{quote(name, safe='')}", {"model": "m"}),
        ("POST", "/api/copy", {"source": name, "destination": "copied"}),
        ("POST", "/api/copy", {"source": "m", "destination": name}),
    ):
        got = ask(cases, method, path, body)
        allowed = (200,) if path == "/api/copy" and name == "daemon" and body.get("source") == "m" else (400, 404)
        assert got.status in allowed, (path, got)
        assert b"root:" not in got.body
    ask(cases, "DELETE", "/api/delete", {"model": "daemon"})
    below = [path for path in cases.home.rglob("*") if path.name in ("passwd", "secret", "x")]
    assert below == []


@pytest.mark.parametrize(
    "target",
    [
        "/..%2f..%2fetc/passwd",
        "/v1/models/..%2f..%2f..%2fetc%2fpasswd",
        "/v1/models/%2e%2e/%2e%2e/etc/passwd",
        "/v1/models/....//....//etc/passwd",
        "/api/explain?model=..%2f..%2f..%2fetc%2fpasswd",
        "/v1/models/%00",
        "/v1/models/%ff%fe",
        "//etc/passwd",
        "/static/../../etc/passwd",
    ],
)
def test_an_encoded_path_is_a_404_whatever_it_spells(cases: Daemon, target: str) -> None:
    """Sent byte for byte, as no client library would (J11)."""
    with socket.create_connection(("127.0.0.1", cases.port), timeout=WATCHDOG) as client:
        head = f"GET {target} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {ROOT}\r\nconnection: close\r\n\r\n"
        client.sendall(head.encode())
        seen = b""
        while data := client.recv(65536):
            seen += data
    assert int(seen.split(b" ", 2)[1]) in (400, 404), seen[:200]
    assert b"root:" not in seen


ADDRESSES = [
    "http://127.0.0.1:1/",
    "http://[::ffff:127.0.0.1]/",
    "http://2130706433/",
    "https://cat.invalid/cat.png",
    "file:///etc/passwd",
    "FILE:///etc/passwd",
    "//169.254.169.254/latest",
    "",
]


@pytest.mark.parametrize("url", ADDRESSES)
def test_no_address_reaches_a_child(cases: Daemon, url: str) -> None:
    """The engine would fetch it from wherever it can reach: only data goes through, in every dialect (J9, J10)."""
    image = {"type": "image_url", "image_url": {"url": url}}
    parts: list[tuple[str, dict[str, Any]]] = [
        (PATHS["openai"], image),
        (PATHS["openai"], {"type": "image_url", "image_url": url}),
        (PATHS["openai"], {"type": "video_url", "video_url": {"url": url}}),
        (PATHS["anthropic"], {"type": "image", "source": {"type": "url", "url": url}}),
    ]
    for path, part in parts:
        body = body_for("", stream=False) | {"messages": [{"role": "user", "content": [part]}]}
        assert ask(cases, "POST", path, body).status == 400, path
    escaped = '{"model":"m","messages":[{"role":"user","content":[{"type":"image\\u005furl","image\\u005f\\u0075rl":{"url":"%s"}}]}]}'
    assert ask(cases, "POST", PATHS["openai"], (escaped % url).encode()).status == 400


def test_nothing_inside_is_asked_for_a_picture(cases: Daemon) -> None:
    """Not this machine, by any of its names, in any dialect: nobody knocks at its doors (D14)."""
    with socket.create_server(("127.0.0.1", 0)) as inside:
        inside.setblocking(False)
        port = inside.getsockname()[1]
        for host in ("127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "2130706433", "0x7f.1"):
            url = f"http://{host}:{port}/cat.png"
            for path, part in (
                (PATHS["openai"], {"type": "image_url", "image_url": {"url": url}}),
                (PATHS["anthropic"], {"type": "image", "source": {"type": "url", "url": url}}),
            ):
                body = body_for("", stream=False) | {"messages": [{"role": "user", "content": [part]}]}
                answer = ask(cases, "POST", path, body)
                assert answer.status == 400, answer.body
                assert b"not a public one" in answer.body
            named = {"model": "m", "stream": False, "messages": [{"role": "user", "content": "x", "images": [url]}]}
            assert ask(cases, "POST", PATHS["ollama"], named).status == 400
        with pytest.raises(BlockingIOError):
            inside.accept()


def test_an_image_that_is_sent_along_goes_through(cases: Daemon) -> None:
    """A data URL is no address (J10)."""
    part = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    body = body_for("", stream=False) | {"messages": [{"role": "user", "content": [part]}]}
    assert ask(cases, "POST", PATHS["openai"], body).status == 200


def test_no_secret_is_written_down_anywhere(cases: Daemon) -> None:
    """Not in a header, not in a query, not a wrong one, not the child's: no log, no audit line, no answer has them (J12)."""
    texts: list[bytes] = []
    for key in (ROOT, SCOPED, WRONG):
        for path in (*LANES, "/api/tags", "/nope"):
            method = "GET" if path in ("/api/tags", "/nope") else "POST"
            body = None if method == "GET" else body_of(path, "m")
            texts.append(ask(cases, method, path, body, key).body)
            texts.append(cases.ask(method, f"{path}?api_key={key}&key={key}", body, {"x-api-key": key}).body)
            texts.append(cases.ask(method, f"{path}?token={key}", body).body)
    texts.append(ask(cases, "GET", "/metrics").body)
    texts.append(ask(cases, "GET", "/api/doctor").body)
    texts.append(ask(cases, "GET", "/api/explain?model=m").body)
    audit = cases.data / "log" / "audit.jsonl"
    assert wait_until(lambda: audit.exists() and b'"guest"' in audit.read_bytes(), WATCHDOG)
    child_keys = [path.read_text().strip() for path in cases.run_dir.glob("*.apikey")]
    assert child_keys
    files = [path for folder in (cases.run_dir, audit.parent) for path in folder.rglob("*") if path.is_file()]
    logs = [path for path in [*files, cases.errors] if path.suffix not in (".apikey", ".db")]
    assert any(path.name == "daemon.log" for path in logs)
    for secret in (ROOT, SCOPED, WRONG, *child_keys):
        assert not any(secret.encode() in text for text in texts)
        for path in logs:
            assert secret.encode() not in path.read_bytes(), path


def test_a_child_shows_no_secret_and_admits_no_foreign_page(cases: Daemon) -> None:
    """Loopback, a key by file, local origins only: in `ps aux` there is nothing to steal (J21)."""
    assert ask(cases, "POST", PATHS["openai"], body_of(PATHS["openai"], "m")).status == 200
    secrets = [path.read_text().strip().encode() for path in cases.run_dir.glob("*.apikey")]
    for pid in children(cases):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        shown = b" ".join(words) + Path(f"/proc/{pid}/environ").read_bytes()
        assert not any(secret in shown for secret in (*secrets, ROOT.encode(), SCOPED.encode()))
        assert words[words.index(b"--cors-origins") + 1] == b"localhost"
        assert words[words.index(b"--host") + 1] == b"127.0.0.1"
        assert b"--api-key" not in words
        assert b"*" not in words


def test_a_child_cannot_be_used_past_the_gateway(cases: Daemon) -> None:
    """It answers 401 to whoever does not hold its own key, the gateway's keys included (J21)."""
    (row,) = [row for row in ask(cases, "GET", "/api/ps").json()["models"] if row["name"] == "m"]
    import http.client

    for key in ("", ROOT):
        connection = http.client.HTTPConnection("127.0.0.1", row["port"], timeout=WATCHDOG)
        try:
            connection.request("POST", PATHS["openai"], b"{}", bearer(key))
            with connection.getresponse() as answer:
                assert answer.status == 401
        finally:
            connection.close()


def test_a_wide_bind_widens_no_policy(stub_daemon: StubDaemon) -> None:
    """On 0.0.0.0 a foreign page gets no permission and a foreign Host no answer (J2); a local tool's preflight passes (J4)."""
    daemon = stub_daemon(config='host = "0.0.0.0"\n')
    evil = daemon.ask("GET", "/api/tags", headers={"origin": "https://evil.example"})
    assert "access-control-allow-origin" not in evil.headers
    assert daemon.ask("GET", "/api/tags", headers={"host": "evil.example"}).status == 403
    wanted = "authorization,x-api-key,anthropic-version,x-stainless-lang"
    asking = {"origin": "http://localhost:3000", "access-control-request-method": "POST"}
    preflight = daemon.ask("OPTIONS", PATHS["openai"], headers=asking | {"access-control-request-headers": wanted})
    assert preflight.status in (200, 204)
    assert preflight.headers["access-control-allow-origin"] == "http://localhost:3000"
    assert preflight.headers["access-control-allow-headers"].replace(" ", "").lower() == wanted


def test_code_in_a_body_is_text(cases: Daemon, calls: Any) -> None:
    """Templates, functions, imports: a request is data to us, whatever it says (J15)."""
    text = "{{ ''.__class__.__mro__ }} __import__('os').system('touch pwned') ${jndi:ldap://x}"
    body = body_for(text, stream=False) | {"chat_template_kwargs": {"x": text}}
    assert ask(cases, "POST", PATHS["openai"], body).status == 200
    assert calls()[0]["messages"][0]["content"] == text
    assert not list(cases.home.rglob("pwned"))
