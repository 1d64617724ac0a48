"""HTTPS of a real daemon: both protocols, renewal, and clients that trust it or never finish greeting it."""

import http.client
import json
import socket
import ssl
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.faults.conftest import StubDaemon
from tests.faults.streams import PATHS, body_for
from tests.support.certificates import dated, encrypted, pair
from tests.support.daemon import WATCHDOG, Answer, Daemon, wait_until


class Secure(Daemon):
    """Asked over TLS, whatever its certificate says."""

    def ask(self, method: str, path: str, body: Any = None, headers: Any = None) -> Answer:
        trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=WATCHDOG, context=trusting)
        with closing(connection):
            data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
            connection.request(method, path, body=data, headers={"content-type": "application/json", **(headers or {})})
            with connection.getresponse() as got:
                return Answer(got.status, {k.lower(): v for k, v in got.getheaders()}, got.read())


def configured(cert: Path, key: Path) -> str:
    return f'tls_cert = "{cert}"\ntls_key = "{key}"\n'


@pytest.fixture
def secure(tmp_path: Path) -> Iterator[Secure]:
    """One with a certificate that signs itself, in `tls/`."""
    with Secure(tmp_path, configured(*pair(tmp_path / "tls"))) as daemon:
        yield daemon


def client(daemon: Daemon, *, http2: bool = False) -> httpx.Client:
    """One that trusts the daemon's certificate as it is now, and no other."""
    trusting = ssl.create_default_context(cafile=daemon.home / "tls" / "tls.pem")
    limits = httpx.Limits(keepalive_expiry=None)
    return httpx.Client(
        base_url=daemon.url, verify=trusting, http2=http2, timeout=WATCHDOG, trust_env=False, limits=limits
    )


@pytest.mark.parametrize("http2", [False, True])
def test_both_protocols_carry_requests_and_streams(stub_daemon: StubDaemon, tmp_path: Path, http2: bool) -> None:
    """The same answers, headers and refusals; nobody is told to come by HTTPS alone from now on (no HSTS)."""
    plain = stub_daemon()
    body = body_for("a b c", stream=True)
    wanted = plain.ask("POST", PATHS["openai"], body)
    plain.stop()
    (tmp_path / "tls").mkdir()
    plain.config_file.write_text(plain.config_file.read_text() + configured(*pair(tmp_path / "tls")))
    daemon = Secure(tmp_path, plain.config_file.read_text(), plain.env)
    with daemon, client(daemon, http2=http2) as asking:
        assert daemon.url.startswith("https://127.0.0.1:")
        answer = asking.get("/health")
        assert (answer.http_version, answer.status_code) == ("HTTP/2" if http2 else "HTTP/1.1", 200)
        assert "strict-transport-security" not in answer.headers
        assert answer.headers["x-blazar-trace-id"].startswith("plm-")
        with asking.stream("POST", PATHS["openai"], json=body) as stream:
            told = b"".join(stream.iter_bytes())
        assert told.count(b"data: ") == wanted.body.count(b"data: ") > 3
        assert told.endswith(b"data: [DONE]\n\n")
        for dialect in ("ollama", "anthropic"):
            assert asking.post(PATHS[dialect], json=body_for("a", stream=False)).status_code == 200
        assert asking.post(PATHS["openai"], content=b"{").status_code == 400
        assert asking.get("/nope").status_code == 404
        assert asking.get("/health", headers={"host": "evil.example"}).status_code == 403
        # In pieces: httpx cuts frames off the front of one large body, and copies the rest each time.
        size = {"content-length": str(51 * 2**20)}
        large = asking.post("/api/show", content=(b"x" * 2**16 for _ in range(51 * 2**4)), headers=size)
        assert large.status_code == 413
        # A stream that its client leaves ends at the child as well.
        with asking.stream("POST", PATHS["openai"], json=body_for("a " * 200, stream=True)) as stream:
            next(stream.iter_bytes())

        def idle() -> bool:
            return [row["in_flight"] for row in asking.get("/api/ps").json()["models"]] == [0]

        assert wait_until(idle, WATCHDOG)


def test_a_renewed_certificate_is_served_without_a_restart(secure: Secure) -> None:
    """By itself; one that is half there changes nothing and is told in the log."""
    cert, key = secure.home / "tls" / "tls.pem", secure.home / "tls" / "tls.key"
    with client(secure) as before:
        assert before.get("/health").status_code == 200
        new_cert, new_key = pair(secure.home / "new")
        new_cert.replace(cert)
        log = secure.run_dir / "daemon.log"
        assert wait_until(lambda: b"HTTPS goes on with the certificate that it has" in log.read_bytes(), WATCHDOG)
        new_key.replace(key)
        assert wait_until(lambda: b"new connections are given the certificate" in log.read_bytes(), WATCHDOG)
        assert before.get("/health").status_code == 200  # on the connection that it has
    with client(secure) as after:
        assert after.get("/health").status_code == 200
    assert "certificate" in secure.must("doctor")


def test_the_command_line_finds_its_own_daemon(secure: Secure) -> None:
    """By the note; one that is named must prove itself, and a key is not sent before."""
    assert secure.url in secure.must("status")
    secure.must("ps")
    named = ("--host", f"https://127.0.0.1:{secure.port}")
    for verb in ("ps", "status"):
        refused = secure.cli(*named, verb)
        assert refused.returncode == 4
        assert "SSL_CERT_FILE" in refused.stderr
    secure.env["SSL_CERT_FILE"] = str(secure.home / "tls" / "tls.pem")
    secure.must(*named, "ps")
    assert secure.cli("--host", f"http://127.0.0.1:{secure.port}", "ps").returncode in (1, 4)


def test_old_tls_and_plain_text_get_nowhere(secure: Secure) -> None:
    """And hurt nobody else."""
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    old.set_ciphers("ALL:@SECLEVEL=0")
    old.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        old.maximum_version = ssl.TLSVersion.TLSv1_1
    with socket.create_connection(("127.0.0.1", secure.port), WATCHDOG) as raw, pytest.raises(OSError):
        old.wrap_socket(raw)
    with socket.create_connection(("127.0.0.1", secure.port), WATCHDOG) as raw:
        raw.sendall(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert b"HTTP/1.1 200" not in raw.recv(1000)
    assert secure.ask("GET", "/health").status == 200


def test_who_never_greets_is_hung_up_on(secure: Secure) -> None:
    """A connection that is opened and left says nothing, and is not held for ever; others are served meanwhile."""
    silent = [socket.create_connection(("127.0.0.1", secure.port), WATCHDOG) for _ in range(20)]
    try:
        assert secure.ask("GET", "/health").status == 200
        assert [connection.recv(100) for connection in silent] == [b""] * 20
    finally:
        for connection in silent:
            connection.close()


def test_a_pair_that_cannot_be_used_is_one_sentence(tmp_path: Path) -> None:
    """Exit 1 and no traceback, before the port is bound; a restart says it before anything is stopped."""
    cert, key = pair(tmp_path / "tls")
    for text in (
        configured(cert, tmp_path / "no.key"),
        configured(cert, encrypted(key, tmp_path / "locked.key")),
        configured(cert, pair(tmp_path / "tls", "other")[1]),
        f'tls_cert = "{cert}"\n',
    ):
        daemon = Daemon(tmp_path, text)
        done = daemon.cli("serve", "--port", "0")
        assert done.returncode == 1
        assert done.stderr.count("\n") == 1
        assert done.stderr.startswith("error: ")
        assert "tls_" in done.stderr or str(cert) in done.stderr
    with Secure(tmp_path, configured(cert, key)) as daemon:
        daemon.config_file.write_text(configured(cert, tmp_path / "no.key"))
        assert "no.key" in daemon.cli("restart").stderr
        assert daemon.ask("GET", "/health").status == 200


def test_an_expired_one_is_served_and_shouted_about(tmp_path: Path) -> None:
    """In the log and by the doctor: clients tell nobody here that they refuse it."""
    with Secure(tmp_path, configured(*dated(tmp_path, "20200101000000Z", "20210101000000Z"))) as daemon:
        assert "expired on 2021-01-01" in daemon.cli("doctor").stdout
        assert b"expired on 2021-01-01" in (daemon.run_dir / "daemon.log").read_bytes()


def test_the_command_line_is_told_of_https_and_of_its_own_daemon(secure: Secure) -> None:
    """Named without https:// it hears how to name it; a second `serve` on that port hears whose it is."""
    for words in (("ps",), ("status",)):
        plain = secure.cli("--host", f"127.0.0.1:{secure.port}", *words)
        assert plain.returncode == 4
        assert f"speaks HTTPS: name it with https:// (--host https://127.0.0.1:{secure.port})" in plain.stderr
    for words in ((), ("--detach",)):
        second = secure.cli("serve", "--port", str(secure.port), *words)
        assert second.returncode == 3
        assert "this folder's own daemon listens there already" in second.stderr
    assert secure.ask("GET", "/health").status == 200
