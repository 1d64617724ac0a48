"""Talks to a running daemon, over `http.client` (D25). What the daemon refuses is raised with its own sentence, verbatim.

Nothing is retried: a request may have been acted upon.
"""

import http.client
import json
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from blazar.domain import teaching
from blazar.domain.choices import Choice
from blazar.domain.errors import ChoiceOpen, Fault, Malformed, Refusal, Unreachable

UNAUTHORIZED = 401
CONNECT = 5.0
QUICK = 30.0
"""Seconds for answers that the daemon has at hand; loads, evictions and generations are waited for as long as they take."""


class DaemonRefused(Refusal):
    """The daemon said no (4xx); its sentence, and the field that it is about where it says one."""

    choice: ChoiceOpen | None = None
    """The question which of several is meant, where it is that."""

    def __init__(self, sentence: str, status: int, field: str | None = None) -> None:
        super().__init__(sentence)
        self.status, self.field = status, field


class DaemonFailed(Fault):
    """The daemon or an engine behind it failed (5xx, or an error inside a stream); its sentence."""

    def __init__(self, sentence: str, status: int) -> None:
        super().__init__(sentence)
        self.status = status


class Untrusted(Unreachable):
    """Something answers, by a certificate that nobody vouches for here: a key must not get there."""


class DaemonClient:
    """One daemon, one connection a request. `no_key` says why a key could not be found where it should stand; "" is no trouble.

    `ours`: it was found by the note of this folder, whose process lives: its certificate names it on the network, and proves nothing here.
    """

    def __init__(
        self, url: str, key: str | None = None, no_key: Callable[[], str] = str, *, ours: bool = False
    ) -> None:
        parts = urlsplit(url)
        self._ours = ours
        self.url, self._no_key = url, no_key
        self._host, self._port, self._tls = parts.hostname or "127.0.0.1", parts.port, parts.scheme == "https"
        self._headers = {"Accept": "application/json"}
        if key:
            if not key.isascii() or not key.isprintable():  # it would break the header line
                raise Malformed(teaching.unauthorized() + teaching.cli_key())
            self._headers["Authorization"] = f"Bearer {key}"

    def call(self, method: str, path: str, body: Any = None, *, timeout: float | None = QUICK) -> Any:
        """One request, the decoded JSON answer."""
        with self._request(method, path, body, timeout) as answer:
            raw = answer.read()
        try:
            return json.loads(raw) if raw else {}
        except ValueError as garbled:
            raise Fault(teaching.daemon_not_ours(self.url)) from garbled

    def remove(self, body: Any) -> str:
        """What the catalog called the model that is gone; "" from a daemon that does not say."""
        with self._request("DELETE", "/api/delete", body, None) as answer:  # drains for up to 30 s first (D4)
            answer.read()
            return answer.header("x-blazar-model")

    def stream(self, path: str, body: Any) -> "Answer":
        """POST, and an answer whose NDJSON lines are read as they come; close it to abort."""
        return self._request("POST", path, body, None)

    def listen(self, path: str, silence: float) -> "Answer":
        """GET, and an answer whose lines are read as they come, with at most that many seconds between two."""
        return self._request("GET", path, None, silence)

    def health(self, timeout: float = CONNECT) -> dict[str, Any] | None:
        """What /health says (`status` is "ok" or "starting"), or None where nothing answers."""
        try:
            with self._request("GET", "/health", None, timeout, raise_for_status=False) as answer:
                said = json.loads(answer.read())
        except Untrusted:
            raise
        except (Unreachable, Fault):
            return None
        except ValueError as garbled:
            raise Fault(teaching.daemon_not_ours(self.url)) from garbled
        if not isinstance(said, dict) or "status" not in said:
            raise Fault(teaching.daemon_not_ours(self.url))
        return said

    def _connection(self) -> http.client.HTTPConnection:
        if not self._tls:
            return http.client.HTTPConnection(self._host, self._port, timeout=CONNECT)
        import ssl  # a tenth of what a thin verb costs

        context = ssl.create_default_context()
        if self._ours:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return http.client.HTTPSConnection(self._host, self._port, timeout=CONNECT, context=context)

    def _request(
        self, method: str, path: str, body: Any, timeout: float | None, *, raise_for_status: bool = True
    ) -> "Answer":
        connection = self._connection()
        data = None if body is None else json.dumps(body).encode()
        headers = self._headers if data is None else {**self._headers, "Content-Type": "application/json"}
        answer: Answer | None = None
        try:
            try:
                connection.connect()
            except OSError as refused:
                raise _why_not(self.url, refused) from refused
            except UnicodeError as odd:  # no name that could be looked up: "a..b", a label of 64 letters
                raise Malformed(teaching.host_unusable(self.url), "host") from odd
            connection.sock.settimeout(timeout)
            begun = Answer(self.url, connection, timeout)
            self._begin(begun, method, path, (data, headers))
            if raise_for_status:
                self._raise_for_status(begun)
            answer = begun
        finally:
            if answer is None:  # Ctrl-C included: the request must not go on at the other end
                connection.close()
        return answer

    def _begin(self, begun: "Answer", method: str, path: str, said: tuple[bytes | None, dict[str, str]]) -> None:
        """What hangs up on a plain request, or answers it with no HTTP, may be spoken to by HTTPS."""
        try:
            begun.begin(method, path, *said)
        except Fault:
            if begun.status or self._tls or not self._greets():
                raise
            raise Untrusted(teaching.daemon_speaks_tls(self.url)) from None

    def _greets(self) -> bool:
        """Whether TLS is spoken there. Nothing is sent by it."""
        import ssl

        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        trial = http.client.HTTPSConnection(self._host, self._port, timeout=CONNECT, context=context)
        try:
            trial.connect()
        except OSError:
            return False
        finally:
            trial.close()
        return True

    def _raise_for_status(self, answer: "Answer") -> None:
        """A file that cannot be read is why no key, or an old one, was sent: that is what has to be put right."""
        try:
            answer.raise_for_status()
        except DaemonRefused as refused:
            if refused.status != UNAUTHORIZED:
                raise
            # The daemon speaks of headers, which nobody types here.
            told = f"{self._no_key() or refused}{teaching.cli_key()}"
            raise DaemonRefused(told, UNAUTHORIZED, refused.field) from refused


class Answer:
    """One answer, read whole or line by line. Leaving its `with` block closes the connection, which aborts the request."""

    def __init__(self, url: str, connection: http.client.HTTPConnection, timeout: float | None) -> None:
        self._url, self._connection, self._timeout = url, connection, timeout
        self._response: http.client.HTTPResponse | None = None
        self._socket: socket.socket | None = connection.sock  # `connection` forgets it when the answer is its last
        self.status = 0

    def begin(self, method: str, path: str, data: bytes | None, headers: dict[str, str]) -> None:
        """Send the request, read the head of the answer."""
        with self._translated():
            self._connection.request(method, path, body=data, headers=headers)
            self._response = self._connection.getresponse()
            self.status = self._response.status

    def raise_for_status(self) -> None:
        """Raise what an error answer says."""
        if self.status >= 400:
            raise _said(self._url, self.status, self.read())

    def header(self, name: str) -> str:
        """Empty where there is none."""
        assert self._response is not None
        return self._response.getheader(name) or ""

    def read(self) -> bytes:
        """The rest of the body."""
        assert self._response is not None
        with self._translated():
            return self._response.read()

    def events(self) -> Iterator[dict[str, Any]]:
        """The objects of an NDJSON body; one that holds an `error` is raised."""
        for line in self.lines():
            if not line.strip():
                continue
            try:
                event = json.loads(line)
            except ValueError as garbled:
                raise Fault(teaching.daemon_gone(self._url)) from garbled
            if not isinstance(event, dict):
                raise Fault(teaching.daemon_not_ours(self._url))
            if event.get("error"):
                if (choice := _choice(event)) is not None:
                    raise _asks(choice, self.status)
                raise DaemonFailed(_sentence(event) or str(event["error"]), self.status)
            yield event

    def lines(self) -> Iterator[bytes]:
        """The lines of the body."""
        assert self._response is not None
        while True:
            with self._translated():
                line = self._response.readline()
            if not line:
                return
            yield line

    def cut(self) -> None:
        """End it from another thread than the one that reads."""
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Idempotent."""
        if self._response is not None:
            self._response.close()
        self._connection.close()

    def _translated(self) -> "_Translated":
        return _Translated(self._url, self._timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Translated:
    """Foreign exceptions become ours where they enter (habit 17)."""

    def __init__(self, url: str, timeout: float | None) -> None:
        self._url, self._timeout = url, timeout

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, TimeoutError):
            raise Fault(teaching.daemon_slow(self._url, self._timeout or 0)) from error
        if isinstance(error, http.client.IncompleteRead | http.client.RemoteDisconnected):
            raise Fault(teaching.daemon_gone(self._url)) from error
        if isinstance(error, http.client.HTTPException):
            raise Fault(teaching.daemon_not_ours(self._url)) from error
        if isinstance(error, OSError):
            raise Fault(teaching.daemon_gone(self._url)) from error


def _why_not(url: str, refused: OSError) -> Unreachable:
    """What of TLS went wrong is told by its exception's own facts: with plain HTTP there are none, and `ssl` is not imported."""
    if why := getattr(refused, "verify_message", ""):
        return Untrusted(teaching.daemon_not_trusted(url, why))
    if getattr(refused, "library", "") == "SSL":
        return Untrusted(teaching.daemon_speaks_no_tls(url))
    return Unreachable(teaching.daemon_unreachable(url))


def _said(url: str, status: int, raw: bytes) -> Refusal | Fault:
    """An error answer as an exception, whichever of the three envelopes it came in (D10)."""
    try:
        body = json.loads(raw)
    except ValueError:
        body = None
    sentence = _sentence(body)
    if sentence is None:
        return Fault(teaching.daemon_not_ours(url))
    if (choice := _choice(body)) is not None:
        return _asks(choice, status)
    return DaemonRefused(sentence, status, _field(body)) if status < 500 else DaemonFailed(sentence, status)


def _asks(choice: ChoiceOpen, status: int) -> DaemonRefused:
    refused = DaemonRefused(str(choice), status, choice.field)
    refused.choice = choice
    return refused


def _choice(body: Any) -> ChoiceOpen | None:
    """`ChoiceOpen.facts`, where an error has them."""
    rows = body.get("choices") if isinstance(body, dict) else None
    if not rows or not isinstance(rows, list) or not all(isinstance(row, dict) and row.get("quant") for row in rows):
        return None
    choices = [Choice(str(row["quant"]), _whole(row.get("size")), str(row.get("verdict", ""))) for row in rows]
    repo, asked = str(body.get("repo", "")), str(body.get("asked", ""))
    return ChoiceOpen(repo, choices, files=bool(body.get("files")), asked=asked)


def _whole(value: Any) -> int:
    return value if type(value) is int else 0


def _field(body: Any) -> str | None:
    """`param` of the native envelope."""
    error = body.get("error")
    field = error.get("param") if isinstance(error, dict) else None
    return field if isinstance(field, str) else None


def _sentence(body: Any) -> str | None:
    """`{"error": "…"}`, `{"error": {"message": "…"}}` and the Anthropic `{"type": "error", "error": {…}}`."""
    error = body.get("error") if isinstance(body, dict) else None
    if isinstance(error, dict):
        error = error.get("message")
    return error if isinstance(error, str) and error else None
