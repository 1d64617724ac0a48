"""Asking a registry over HTTP: bounded answers, redirects that are looked at, refusals in our words. Knows no registry's API.

The token goes to the registry's own origin and nowhere else. A redirect is followed to other public hosts (a registry's files
lie on content networks), by https alone, and never to an address of this machine or network, nor to a name that resolves to one (connecting.py). Proxies of the environment are
for the outside: this machine is asked directly.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx

import blazar
from blazar.adapters.net.challenges import challenge_in, token_address, token_in
from blazar.adapters.net.connecting import Judged, JudgedClient
from blazar.adapters.net.cutoff import Cutoff
from blazar.adapters.net.dialling import Dialler
from blazar.adapters.net.patience import ONCE, Failing, Patience, asked_for, busy
from blazar.adapters.net.proxies import proxy_for, unusable
from blazar.domain import teaching
from blazar.domain.addresses import Ours, is_inside, is_loopback
from blazar.domain.errors import BlazarError, Busy, Forbidden, NotFound, RegistryGarbled, RegistryTrouble
from blazar.domain.harmless import public

MOST_HOPS = 5
LONGEST_JSON = 16 << 20
"""Bytes of a listing: a repository of ten thousand files is about 2 MB."""
CONNECT_SECS, READ_SECS = 10.0, 20.0
"""To connect, by all addresses of a name together; and without a byte."""
WHOLE_SECS = 120.0
"""All that is asked on one errand may take so long, however steadily it trickles: a listing and a few headers of 16 MiB each."""
MOST_VALUES = 500_000
"""Of a listing: each costs up to a hundred times its two bytes (`[{},{},…]`). Ten thousand files with all that is said of them are 100,000."""
_TOKEN = re.compile(r"[\x21-\x7e]*")
_T = TypeVar("_T")


class Slow(RegistryTrouble):
    """Nothing came for a while: asked again, it may."""


class Web:
    """One registry's address, with the token that opens it, for one errand. Connections are kept until `close`.

    `variable` is where users put the token, as sentences name it; None where there is none. `plain`: redirects may lead to http
    addresses elsewhere.
    """

    def __init__(
        self,
        base: str,
        token: str = "",
        *,
        variable: str | None = None,
        read_secs: float = READ_SECS,
        whole_secs: float = WHOLE_SECS,
        plain: bool = False,
    ) -> None:
        self.base = base.rstrip("/")
        # ODD: a mirror in the clear may lead on in the clear. It has engines, that somebody named it for, and those have digests.
        self._plain = plain or (self.base.startswith("http:") and not is_loopback(_host_of(self.base)))
        self.host = _place(self.base)
        self._variable = variable
        self._token, self._read_secs = token.strip(), read_secs
        self.patience: Patience = ONCE
        self.waits: Callable[[str], None] = _nobody
        self._silences = 0
        self.ours = Ours()  # what a person named, for whoever knows it
        self._lent = ""  # by the registry itself, to whoever asks
        if not _TOKEN.fullmatch(self._token):
            raise RegistryTrouble(teaching.remote_bad_token(variable or "the token"))
        self._cutoff = Cutoff(whole_secs, lambda secs: RegistryTrouble(teaching.remote_not_done(self.host, secs)))
        timeout = httpx.Timeout(read_secs, connect=CONNECT_SECS)
        headers = {"user-agent": f"blazar/{blazar.__version__}", "accept-encoding": "identity"}
        try:
            mounts = _beside_proxies(self.base)
            check = self._cutoff.check
            judged = Judged(lambda: self.ours, self._led_inside, check)
            self._client = JudgedClient(judged, Dialler(check), timeout, headers, mounts)
        except (ImportError, ValueError) as odd:  # a proxy of the environment that cannot be used
            raise RegistryTrouble(unusable(self.host)) from odd

    def close(self) -> None:
        self._cutoff.close()
        self._client.close()

    def stop(self, why: BlazarError) -> None:
        """From any thread: what is asked now and from now on fails with `why`."""
        self._cutoff.end(why)

    def json(
        self, url: str, what: str, headers: Mapping[str, str] | None = None, most: int = 0
    ) -> tuple[Any, httpx.Headers]:
        """The JSON at `url` and the answer's headers. `what` is what sentences call the thing asked for; `most` are bytes of it."""

        def asked() -> tuple[Any, httpx.Headers]:
            with closing(self.ask(url, what, headers)) as answer:
                return self._decoded(answer, most), answer.headers

        return self.patiently(asked, what)

    def _decoded(self, answer: httpx.Response, most: int = 0) -> Any:
        most, raw, values = most or LONGEST_JSON, bytearray(), 0
        for part in self.parts(answer):
            raw += part
            values += part.count(b",") + part.count(b"{") + part.count(b"[")
            if len(raw) > most:
                raise self.garbled(f"more than {most >> 20} MiB of JSON")
            if values > MOST_VALUES:
                raise self.garbled(f"more than {MOST_VALUES} values of JSON")
        try:
            return json.loads(raw)
        except (ValueError, RecursionError):
            raise self.no_json(raw) from None

    @contextmanager
    def get(self, url: str, what: str, headers: Mapping[str, str] | None = None) -> Iterator[httpx.Response]:
        """An answer whose body is still to be read; it is a success. Leaving the block drops what was not read."""
        with closing(self.patiently(lambda: self.ask(url, what, headers), what)) as answer:
            yield answer

    def ask(self, url: str, what: str, headers: Mapping[str, str] | None = None) -> httpx.Response:
        """The same for who closes it: whoever takes the answer to another thread."""
        with self._translated():
            return self._follow(url, what, dict(headers or {}))

    def patiently(self, ask: Callable[[], _T], what: str) -> _T:
        """What `ask` brings, which is asked again while that may help. `waits` hears of each pause."""
        tries = 0
        while True:
            try:
                return ask()
            except (Busy, Failing, Slow) as trouble:
                tries += 1
                if self._is_enough(trouble, tries):
                    if tries > 1 and isinstance(trouble, Slow):
                        raise Slow(teaching.remote_slow(self.host, self._read_secs, tries)) from trouble
                    raise
                secs, turn = self.patience.secs(trouble, tries), teaching.remote_try(tries + 1, self.patience.tries)
                self.waits(teaching.remote_asked_again(self.host, _short(trouble), what, secs, turn))
                self._cutoff.rest(secs)

    def _is_enough(self, trouble: BlazarError, tries: int) -> bool:
        """Silences count for all that is asked on one errand: each costs a reader's patience, and a listing asks dozens of times."""
        if isinstance(trouble, Slow):
            self._silences += 1
            tries = max(tries, self._silences)
        return self.patience.ends(trouble, tries)

    def parts(self, answer: httpx.Response) -> Iterator[bytes]:
        """The body as it arrives."""
        if answer.headers.get("content-encoding", "identity") != "identity":
            raise self.garbled("it is compressed although we asked for it plain")
        pieces = answer.iter_raw()
        while True:
            with self._translated():
                part = next(pieces, None)
            # A connection that was cut off ends like one that has no more to say.
            self._cutoff.check()
            if part is None:
                return
            yield part

    def garbled(self, why: str) -> RegistryGarbled:
        return RegistryGarbled(teaching.remote_garbled(self.host, why))

    def no_json(self, body: bytes | bytearray) -> RegistryGarbled:
        """What came in its place, where that shows."""
        page = body.lstrip()[:15].lower().startswith((b"<!doctype html", b"<html"))
        return self.garbled(teaching.remote_web_page() if page else "it is no JSON")

    def _follow(self, url: str, what: str, headers: dict[str, str], *, lending: bool = True) -> httpx.Response:
        came: list[httpx.Response] = []
        while len(came) <= MOST_HOPS:
            self._cutoff.check()
            signed = self._signed(url, headers)
            request = self._client.build_request("GET", url, headers=signed, extensions={"trace": self._cutoff.trace})
            answer = self._client.send(request, stream=True)
            to = answer.next_request
            if to is None:
                with ExitStack() as refused:
                    refused.callback(answer.close)
                    if lending and self._is_lent(answer, what):
                        lending = False  # once for one question: what is refused with it is refused
                        continue
                    self._judge(answer, what)
                    refused.pop_all()
                answer.history = came  # a registry says what a file is before it sends us to where that lies
                return answer
            answer.close()
            came.append(answer)
            self._check_hop(url, to.url)
            url = str(to.url)
        raise self.garbled(f"more than {MOST_HOPS} redirects")

    def _signed(self, url: str, headers: Mapping[str, str]) -> dict[str, str]:
        """The token stays with the origin that it is for."""
        token = self._token or self._lent
        if token and _origin(httpx.URL(url)) == _origin(httpx.URL(self.base)):
            return {**headers, "authorization": f"Bearer {token}"}
        return dict(headers)

    def _is_lent(self, answer: httpx.Response, what: str) -> bool:
        """Whether the registry asked for a token that everybody may have, and it is there now (it ends after minutes)."""
        if answer.status_code != 401 or self._token or _origin(answer.url) != _origin(httpx.URL(self.base)):
            return False
        challenge = challenge_in(answer.headers.get("www-authenticate", ""))
        if challenge is None:
            return False
        address = token_address(challenge, self.base)
        if address is None:
            raise RegistryTrouble(teaching.remote_realm_astray(self.host, public(challenge.realm)))
        answer.close()
        self._lent = ""
        with ExitStack() as asked:
            given = self._follow(address, what, {}, lending=False)
            asked.callback(given.close)
            self._lent = token_in(self._decoded(given))
        if not self._lent:
            raise self.garbled(teaching.remote_no_token())
        return True

    def _check_hop(self, url: str, to: httpx.URL) -> None:
        if _origin(to) == _origin(httpx.URL(self.base)):
            return
        safe = to.scheme == "https" or is_loopback(to.host) or self._plain
        downgrade = not safe or (url.startswith("https:") and to.scheme != "https")
        impossible = (to.port or 0) > 65535
        if (
            impossible
            or downgrade
            or to.scheme not in ("http", "https")
            or (is_inside(to.host) and not is_inside(httpx.URL(url).host))
        ):
            place = f"{to.scheme}://{to.host}" if to.host else f"an address that begins with {to.scheme}:"
            raise RegistryTrouble(teaching.remote_astray(self.host, place[:200]))

    def _led_inside(self, name: str, address: str) -> RegistryTrouble:
        own = name.lower() == _host_of(self.base)
        return RegistryTrouble(teaching.remote_led_inside("" if own else self.host, name, address, self.ours.where))

    def _judge(self, answer: httpx.Response, what: str) -> None:
        """Raise unless it is a success."""
        status = answer.status_code
        if status in (200, 206) or (status == 304 and "if-none-match" in answer.request.headers):
            return
        gated = answer.headers.get("x-error-code", "") == "GatedRepo" or status == 403
        if gated:
            told = teaching.remote_barred if self._token and self._variable else teaching.remote_gated
            raise Forbidden(told(what, self.host, self._variable or ""))
        if status in (401, 404, 410):
            told = teaching.remote_hidden if self._token and self._variable else teaching.remote_not_found
            raise NotFound(told(what, self.host, self._variable or ""))
        after = answer.headers.get("retry-after", "")
        if status == 429 or (status == 503 and asked_for(after) is not None):
            variable = self._variable if status == 429 else None
            raise busy(after, lambda seconds: teaching.remote_rate_limited(self.host, seconds, variable))
        if status >= 500:
            raise Failing(teaching.remote_said(self.host, status))
        raise RegistryTrouble(teaching.remote_said(self.host, status))

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """The library's exceptions become ours where they enter. What comes of being cut off is told by its reason."""
        try:
            yield
        except (httpx.HTTPError, httpx.StreamError) as failed:
            self._cutoff.check()
            raise self._trouble(failed) from failed
        except httpx.InvalidURL as odd:
            raise self.garbled("it names an impossible address") from odd

    def _trouble(self, failed: Exception) -> BlazarError:
        match failed:
            case httpx.TimeoutException() if not isinstance(failed, httpx.ConnectTimeout):
                return Slow(teaching.remote_slow(self.host, self._read_secs))
            case httpx.RemoteProtocolError() | httpx.DecodingError():
                return self.garbled("it is no proper HTTP")
            case httpx.ProxyError() | httpx.ConnectError() | httpx.ConnectTimeout() if proxy := proxy_for(
                str(failed.request.url)
            ):
                return RegistryTrouble(
                    teaching.remote_proxy_dead(self.host, proxy.address, proxy.variable, _why(failed))
                )
        return RegistryTrouble(self._offline(_why(failed)))

    def _offline(self, why: str) -> str:
        """What is said where there is no connection; registries that have another way say which."""
        return teaching.remote_offline(self.host, why)


def _nobody(sentence: str) -> None:
    """Who looks at no progress hears of no pause."""


def _short(trouble: BlazarError) -> str:
    """Why it is asked again, in a few words."""
    if isinstance(trouble, Slow):
        return teaching.remote_was_silent()
    return teaching.remote_was_crowded() if isinstance(trouble, Busy) else teaching.remote_was_failing()


def _why(failed: Exception) -> str:
    if isinstance(failed, httpx.ConnectTimeout):
        return teaching.remote_no_connection(CONNECT_SECS)
    return str(failed) or type(failed).__name__


def checked_base(variable: str, value: str) -> str:
    """The address that an environment variable names. Raises `RegistryTrouble` for one that nothing can be asked at."""
    try:
        parts = urlsplit(value)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        httpx.URL(value)
    except (ValueError, httpx.InvalidURL):  # a port beyond 65535, half an IPv6 address
        usable = False
    if not usable:
        raise RegistryTrouble(teaching.remote_no_url(variable, public(value)[:200]))
    return value


def secure_base(variable: str, value: str) -> str:
    """The same of a registry of models: what is sent to it, and which files it names, nobody on the way may read or change."""
    parts = urlsplit(checked_base(variable, value))
    if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        raise RegistryTrouble(teaching.remote_unencrypted(variable, public(value)[:200]))
    return value


def _beside_proxies(base: str) -> dict[str, httpx.BaseTransport | None]:
    """Addresses that no proxy of the environment is asked for: it could reach another machine's loopback at most."""
    own = _host_of(base)
    places = ["127.0.0.1", "[::1]", "localhost", "*.localhost"]
    if is_loopback(own):
        places.append(f"[{own}]" if ":" in own else own)
    return {f"all://{place}": None for place in places}


def _host_of(base: str) -> str:
    try:
        return urlsplit(base).hostname or ""
    except ValueError:
        return ""


def _place(base: str) -> str:
    """What sentences call a registry, with its port where it says one."""
    try:
        parts = urlsplit(base)
        name, port = parts.hostname or base, parts.port
    except ValueError:
        return base
    shown = f"[{name}]" if ":" in name else name
    return shown if port is None else f"{shown}:{port}"


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port
