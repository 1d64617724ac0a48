"""Talking to a daemon: answers, refusals, streams, and what is not a daemon at all."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from blazar.adapters.cli.client import DaemonClient, DaemonFailed, DaemonRefused
from blazar.domain import teaching
from blazar.domain.errors import Fault, Malformed, Unreachable
from tests.support.certificates import pair
from tests.support.command_line import StubDaemon


@pytest.mark.parametrize(
    "body",
    [
        {"error": "model 'x' not found"},
        {"error": {"message": "model 'x' not found", "type": "blazar_error", "param": None, "code": 404}},
        {"type": "error", "error": {"type": "not_found_error", "message": "model 'x' not found"}, "request_id": "r"},
    ],
)
def test_a_refusal_keeps_its_sentence_in_every_envelope(stub: StubDaemon, body: dict[str, Any]) -> None:
    """ollama, native and Anthropic shapes carry one string, and it is printed as it is (D10)."""
    stub.answers["GET", "/api/ps"] = (404, body)
    with pytest.raises(DaemonRefused, match=r"^model 'x' not found$") as refused:
        DaemonClient(stub.url).call("GET", "/api/ps")
    assert refused.value.status == 404


def test_a_refusal_keeps_the_field_that_it_is_about(stub: StubDaemon) -> None:
    """Where the envelope names one; anything else there is none."""
    for param, field in (("kv", "kv"), (None, None), (5, None)):
        stub.answers["GET", "/api/ps"] = (400, {"error": {"message": "no", "param": param}})
        with pytest.raises(DaemonRefused) as refused:
            DaemonClient(stub.url).call("GET", "/api/ps")
        assert refused.value.field == field


def test_a_server_error_is_a_fault(stub: StubDaemon) -> None:
    """5xx is the daemon's doing, 4xx the caller's."""
    stub.answers["GET", "/api/ps"] = (502, {"error": "the engine stopped"})
    with pytest.raises(DaemonFailed, match="the engine stopped"):
        DaemonClient(stub.url).call("GET", "/api/ps")


@pytest.mark.parametrize(("status", "body"), [(500, b"<html>"), (404, b"[]"), (404, {"error": 3}), (200, b"<html>")])
def test_what_is_not_ours_is_said_so(stub: StubDaemon, status: int, body: Any) -> None:
    """Another program on the port does not produce a riddle."""
    stub.answers["GET", "/api/ps"] = (status, body)
    with pytest.raises(Fault, match="not a Blazar daemon"):
        DaemonClient(stub.url).call("GET", "/api/ps")


def test_body_and_key_are_sent(stub: StubDaemon) -> None:
    """JSON out, bearer key, JSON in."""
    stub.answers["POST", "/api/load"] = (200, {"model": "m"})
    assert DaemonClient(stub.url, "plm_x").call("POST", "/api/load", {"model": "m"}) == {"model": "m"}
    (asked,) = stub.asked
    assert asked.body == {"model": "m"}
    assert asked.headers["authorization"] == "Bearer plm_x"
    assert asked.headers["content-type"] == "application/json"


def test_an_empty_answer_is_an_empty_object(stub: StubDaemon) -> None:
    """/api/delete and /api/copy say nothing."""
    stub.answers["DELETE", "/api/delete"] = (200, b"")
    assert DaemonClient(stub.url).call("DELETE", "/api/delete", {"model": "m"}) == {}


def test_a_daemon_that_does_not_say_which_row_went_says_nothing(stub: StubDaemon) -> None:
    """An older one: the verb has what was typed then."""
    stub.answers["DELETE", "/api/delete"] = (200, b"")
    assert DaemonClient(stub.url).remove({"model": "m"}) == ""


def test_a_key_cannot_smuggle_header_lines() -> None:
    """Line breaks in BLAZAR_API_KEY are refused, not sent."""
    with pytest.raises(Malformed, match="BLAZAR_API_KEY"):
        DaemonClient("http://127.0.0.1:1", "a\r\nx: y")


def test_nobody_there_is_unreachable(free_port: int) -> None:
    """Connection refused is exit 4, with how to start one."""
    client = DaemonClient(f"http://127.0.0.1:{free_port}")
    with pytest.raises(Unreachable, match="blazar serve"):
        client.call("GET", "/api/ps")
    assert client.health() is None


@pytest.fixture
def free_port() -> Iterator[int]:
    """A port that nobody listens on, nor gets as long as the test runs."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield int(held.getsockname()[1])


@pytest.mark.parametrize("host", ["a..b", "x" * 64, "\udcff"])
def test_a_name_that_cannot_be_looked_up_is_refused(host: str) -> None:
    """Not every text is a host name; the codec that says so is nobody's business."""
    with pytest.raises(Malformed, match="HOST:PORT"):
        DaemonClient(f"http://{host}:1").call("GET", "/")


def test_health_tells_starting_from_ready(stub: StubDaemon) -> None:
    """503 is an answer here, not an error."""
    client = DaemonClient(stub.url)
    assert client.health() == {"status": "ok", "version": "9.9", "uptime_secs": 75}
    stub.answers["GET", "/health"] = (503, {"status": "starting"})
    assert client.health() == {"status": "starting"}
    stub.answers["GET", "/health"] = (200, [b'"hello"\n'])
    with pytest.raises(Fault, match="not a Blazar daemon"):
        client.health()


def test_a_stream_is_read_line_by_line(stub: StubDaemon) -> None:
    """Each object is there before the next one was sent."""
    seen = threading.Event()
    stub.answers["POST", "/api/chat"] = (200, [{"n": 1}, b"\n", lambda: seen.wait(20), {"n": 2}])
    got = []
    with DaemonClient(stub.url).stream("/api/chat", {}) as answer:
        for event in answer.events():
            got.append(event["n"])
            seen.set()  # the server sends the second only after we had the first
    assert got == [1, 2]


def test_an_error_inside_a_stream_is_raised(stub: StubDaemon) -> None:
    """The status was 200 by then; the sentence still arrives (D35)."""
    stub.answers["POST", "/api/chat"] = (200, [{"n": 1}, {"error": "the engine for 'm' stopped"}])
    with (
        pytest.raises(DaemonFailed, match="the engine for 'm' stopped"),
        DaemonClient(stub.url).stream("/api/chat", {}) as answer,
    ):
        list(answer.events())


def interrupt_after_one(events: Iterator[Any]) -> None:
    """As a person does who has read enough."""
    next(events)
    raise KeyboardInterrupt


def test_leaving_a_stream_closes_the_connection(stub: StubDaemon) -> None:
    """Ctrl-C must stop the engine: the daemon sees its client go."""
    endless = [{"n": 0}, *([b'{"x": "' + b"y" * 65536 + b'"}\n'] * 2000)]
    stub.answers["POST", "/api/chat"] = (200, endless)
    with (
        pytest.raises(KeyboardInterrupt),
        DaemonClient(stub.url).stream("/api/chat", {}) as answer,
    ):
        interrupt_after_one(answer.events())
    assert stub.gone.wait(20)


def serve_raw(answer: bytes) -> Iterator[str]:
    """One connection that gets these bytes and then the end."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def once() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(answer)

        thread = threading.Thread(target=once)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread.join()


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (b"", "closed the connection"),
        (b"SSH-2.0-OpenSSH\r\n", "not a Blazar daemon"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{", "closed the connection"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{", "closed the connection"),
    ],
)
def test_broken_answers_are_sentences(answer: bytes, sentence: str) -> None:
    """A reset, another protocol and half a body become faults, never tracebacks."""
    for url in serve_raw(answer):
        with pytest.raises(Fault, match=sentence):
            DaemonClient(url).call("GET", "/api/ps")


def test_half_a_line_at_the_end_of_a_stream_is_a_fault() -> None:
    """A cut connection must not look like a whole answer."""
    answer = b'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\n{"n"\r\n'
    for url in serve_raw(answer):
        with pytest.raises(Fault, match="closed the connection"), DaemonClient(url).stream("/x", {}) as got:
            list(got.events())


def test_silence_is_bounded() -> None:
    """A daemon that hangs is told apart from one that is gone."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = DaemonClient(f"http://127.0.0.1:{listener.getsockname()[1]}")
        with pytest.raises(Fault, match="did not answer within"):
            client.call("GET", "/api/ps", timeout=0.05)


def test_a_missing_key_says_where_this_program_takes_it_from(stub: StubDaemon) -> None:
    """The daemon speaks of headers, which nobody types on a command line."""
    stub.answers["GET", "/api/ps"] = (401, {"error": {"message": "missing or invalid API key"}})
    with pytest.raises(
        DaemonRefused, match=r"API key; the command line takes its key from BLAZAR_API_KEY, else .*\[\[keys\]\]"
    ):
        DaemonClient(stub.url).call("GET", "/api/ps")


@contextlib.contextmanager
def hanging_up(tls: ssl.SSLContext | None) -> Iterator[str]:
    """A server that speaks TLS, or that hangs up on whoever comes; its address with http://."""

    def serve(listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            with contextlib.suppress(OSError), client:
                if tls is not None:
                    tls.wrap_socket(client, server_side=True).close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(10)


def test_a_daemon_that_speaks_https_is_told_so(tmp_path: Path) -> None:
    """Whoever names it without https:// hears how to name it, and not that it has gone."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*pair(tmp_path))
    with hanging_up(context) as url:
        for ask in (lambda: DaemonClient(url).call("GET", "/api/ps"), lambda: DaemonClient(url).health()):
            with pytest.raises(Unreachable) as refused:
                ask()
            assert str(refused.value) == teaching.daemon_speaks_tls(url)
            assert url.replace("http:", "https:") in str(refused.value)
    with hanging_up(None) as url, pytest.raises(Fault) as gone:
        DaemonClient(url).call("GET", "/api/ps")
    assert str(gone.value) == teaching.daemon_gone(url)
