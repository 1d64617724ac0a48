"""Whole files over HTTP: by several ranges at once, resumed where they were left, compared with what was promised.

Knows no registry: an address, a path and a digest is all it is told. Decides nothing about what is downloaded.
"""

import re
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from pathlib import Path
from threading import Event, Lock
from urllib.parse import urlsplit

import httpx

from blazar.adapters.net.partials import Partial, Span
from blazar.adapters.net.throttle import Throttle
from blazar.adapters.net.web import READ_SECS, Web
from blazar.application.ports.disk import DiskSpace
from blazar.application.ports.downloads import Downloads, Told, Wanted
from blazar.domain import teaching
from blazar.domain.errors import BlazarError, Busy, NotFound, RegistryTrouble, StoreTrouble

PARALLEL_FROM = 32 << 20
"""Bytes from which a file is worth more than one connection (setup document)."""
TRIES = 3
"""Connections that may fail one after the other without bringing a byte."""
LONGEST_SECS = 30 * 86400.0
"""No bound on a whole download: silence and dead connections have theirs."""
_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")
_TOLD_EVERY = 0.1


class _Unsatisfiable(RegistryTrouble):
    """It has no such bytes (416): what we hold is of another file."""


class _NoRanges(RegistryTrouble):
    """It answers with the whole file where the rest was asked for."""


class _Final(RegistryTrouble):
    """Asking the same again would bring the same."""


class _FileHost(Web):
    """The host of one file."""

    def _judge(self, answer: httpx.Response, what: str) -> None:
        if answer.status_code == 416:
            raise _Unsatisfiable(teaching.remote_said(self.host, 416))
        if answer.status_code in (404, 410):
            raise NotFound(teaching.download_gone(what, self.host))
        super()._judge(answer, what)


class HttpDownloads(Downloads):
    """`connections` is what is configured now; one throttle is shared by all downloads of a process."""

    def __init__(
        self,
        disk: DiskSpace,
        throttle: Throttle,
        connections: Callable[[], int],
        *,
        read_secs: float = READ_SECS,
        parallel_from: int = PARALLEL_FROM,
    ) -> None:
        self._disk, self._throttle, self._connections = disk, throttle, connections
        self._read_secs, self._parallel_from = read_secs, parallel_from
        self._lock = Lock()
        self._running: list[_Transfer] = []
        self._why: BlazarError | None = None

    def fetch(self, wanted: Wanted, told: Told) -> None:
        path = Path(wanted.path)
        if _is_there(path, wanted):
            return
        try:
            partial = Partial(path, wanted.name)
            try:
                self._fetch(partial, wanted, told)
            finally:
                partial.close()
        except OSError as trouble:
            why = trouble.strerror or str(trouble)
            raise StoreTrouble(teaching.download_disk_trouble(str(path.parent), why)) from trouble

    def _fetch(self, partial: Partial, wanted: Wanted, told: Told) -> None:
        actual = ""
        for _ in range(2):  # bytes that were spoilt on the way are asked for once more (case H1)
            self._transfer(partial, wanted, told)
            actual = partial.digest() if wanted.sha256 else ""
            if actual == wanted.sha256:
                partial.publish()
                return
            partial.forget()
        raise RegistryTrouble(teaching.download_digest_differs(wanted.name, wanted.sha256, actual))

    def _transfer(self, partial: Partial, wanted: Wanted, told: Told) -> None:
        for ranges in (True, True, False):
            transfer = _Transfer(partial, wanted, told, self._make_web(wanted), self, ranges=ranges)
            with self._lock:
                if self._why is not None:
                    raise self._why
                self._running.append(transfer)
            try:
                transfer.run()
            except (_Unsatisfiable, _NoRanges):
                partial.forget()
            else:
                return
            finally:
                with self._lock:
                    self._running.remove(transfer)
        raise RegistryTrouble(teaching.remote_said(urlsplit(wanted.url).netloc, 416))

    def _make_web(self, wanted: Wanted) -> Web:
        """The token is for the address's own origin: a redirect elsewhere goes without it (case H13)."""
        parts = urlsplit(wanted.url)
        base = f"{parts.scheme}://{parts.netloc}"
        secs = self._read_secs
        return _FileHost(base, wanted.token, variable=wanted.variable, read_secs=secs, whole_secs=LONGEST_SECS)

    def stop(self, why: BlazarError) -> None:
        with self._lock:
            self._why = self._why or why
            running = list(self._running)
        for transfer in running:
            transfer.stop(why)

    def check_room(self, path: str, needed: int) -> None:
        """Raise `StoreTrouble` where the disk cannot take it, before a byte is asked for (case H8)."""
        free = self._disk.free(path)
        if needed > free:
            raise StoreTrouble(teaching.download_no_room(path, needed, free))

    def paid(self, size: int, wait: Callable[[float], None]) -> None:
        """Keep to the speed limit."""
        self._throttle.take(size, wait)

    def spans_of(self, size: int) -> int:
        """By how many connections a file of this size is fetched."""
        return max(1, self._connections()) if size >= self._parallel_from else 1


class _Transfer:
    """One try at one file: the threads, their first error, and their end."""

    def __init__(
        self, partial: Partial, wanted: Wanted, told: Told, web: Web, about: HttpDownloads, *, ranges: bool
    ) -> None:
        self._partial, self._wanted, self._told, self._web, self._about = partial, wanted, told, web, about
        self._ranges = ranges
        self._identity = wanted.sha256 or wanted.url
        self._ended = Event()
        self._lock = Lock()
        self._error: BlazarError | None = None
        self._todo: list[Span] = []
        self._first: httpx.Response | None = None

    def stop(self, why: BlazarError) -> None:
        """The first reason counts; sockets are shut, waits end."""
        with self._lock:
            self._error = self._error or why
        self._ended.set()
        self._web.stop(why)

    def run(self) -> None:
        """Raises the first error of any thread; whatever ends it, what came is noted."""
        finished, pool = False, None
        try:
            count = self._begin()
            pool = ThreadPoolExecutor(max(count, 1), "download")
            self._watch({pool.submit(self._work) for _ in range(count)})
            finished = True
        finally:
            if not finished:  # Ctrl-C above all: the threads must end before the file is closed (case H9)
                self.stop(RegistryTrouble(teaching.interrupted()))
            if pool is not None:
                pool.shutdown()
            self._web.close()
            if self._partial.done:
                self._partial.save(self._identity)

    def _watch(self, pending: set[Future[None]]) -> None:
        while pending:
            done, pending = wait(pending, _TOLD_EVERY, FIRST_EXCEPTION)
            for future in done:
                future.result()
            self._told(self._partial.done, self._partial.size)

    def _begin(self) -> int:
        """Ask for the first missing byte, learn what the host can do, and plan; how many threads are worth it."""
        resumed = self._ranges and self._partial.resume(self._wanted.size, self._identity)
        missing = [span for span in self._partial.spans if span.left] if resumed else []
        if resumed and not missing:
            return 0
        if self._wanted.size:
            self._check_room(self._wanted.size)
        answer = self._ask(missing[0].at if missing else 0)
        total = self._size_of(answer)
        if answer.status_code == 206 and resumed and total != self._partial.size:
            answer.close()
            raise _Unsatisfiable(teaching.remote_said(self._web.host, 416))
        if answer.status_code != 206 or not resumed:
            parallel = self._about.spans_of(total) if answer.status_code == 206 else 1
            self._partial.plan(total, parallel, _strong(answer.headers.get("etag", "")))
            missing = list(self._partial.spans)
        self._ranges = answer.status_code == 206
        self._check_room(total)
        self._first, self._todo = answer, missing
        return min(len(missing), self._about.spans_of(total)) or 1

    def _check_room(self, total: int) -> None:
        self._about.check_room(str(Path(self._wanted.path).parent), total - self._partial.done)

    def _ask(self, at: int) -> httpx.Response:
        headers = {"range": f"bytes={at}-"} if self._ranges else {}
        if at and self._partial.etag:
            headers["if-range"] = self._partial.etag
        return self._web.ask(self._wanted.url, self._wanted.name, headers)

    def _size_of(self, answer: httpx.Response) -> int:
        """Bytes of the whole file; 0 where the host does not say. Judged before a byte of it is kept (case H2)."""
        told = answer.headers.get("content-length", "")
        match = _RANGE.fullmatch(answer.headers.get("content-range", ""))
        size = int(match[3]) if match and answer.status_code == 206 else int(told) if told.isdecimal() else -1
        name, expected = self._wanted.name, self._wanted.size
        if size == 0:
            answer.close()
            raise _Final(teaching.download_empty(name, self._web.host))
        if size > 0 and expected and size != expected:
            answer.close()
            raise _Final(teaching.download_size_differs(name, self._web.host, expected, size))
        return size if size > 0 else expected

    def _work(self) -> None:
        """One thread: spans until there are none left."""
        while not self._ended.is_set():
            with self._lock:
                if not self._todo:
                    return
                span = self._todo.pop(0)
                first, self._first = self._first, None
            self._fill(span, first)

    def _fill(self, span: Span, first: httpx.Response | None) -> None:
        """One span, over as many connections as it takes."""
        tries = 0
        while span.left or not span.end:
            before = span.at
            try:
                self._stream(span, first or self._ask_again(span))
                if not span.end:
                    self._check_whole(span)
                    return
            except (RegistryTrouble, Busy) as trouble:
                tries = 1 if span.at > before else tries + 1
                if self._ended.is_set() or tries >= TRIES or isinstance(trouble, (_Final, _NoRanges, _Unsatisfiable)):
                    raise
                self._pause(0.25 * 2**tries)
            first = None

    def _ask_again(self, span: Span) -> httpx.Response:
        if not self._ranges:
            span.at = span.start  # from the beginning: the host knows no other place
        answer = self._ask(span.at)
        if self._ranges and answer.status_code != 206:
            answer.close()
            raise _NoRanges(teaching.remote_said(self._web.host, answer.status_code))
        return answer

    def _stream(self, span: Span, answer: httpx.Response) -> None:
        """What one connection brings, up to the span's end."""
        try:
            match = _RANGE.fullmatch(answer.headers.get("content-range", ""))
            if answer.status_code == 206 and (match is None or int(match[1]) != span.at):
                raise self._web.garbled(teaching.download_other_range())
            for data in self._web.parts(answer):
                part = data[: span.left] if span.end else data
                self._partial.write(span, part, self._identity)
                self._about.paid(len(part), self._pause)
                if span.end and not span.left:
                    return
            if span.end and span.left:
                raise self._web.garbled(teaching.download_cut_off(span.end, span.at))
        finally:
            answer.close()

    def _check_whole(self, span: Span) -> None:
        """The end of a file whose host told no size: it is as long as was promised, or it is what it is."""
        expected = self._wanted.size
        if not span.at:
            raise _Final(teaching.download_empty(self._wanted.name, self._web.host))
        if expected and span.at != expected:
            raise _Final(teaching.download_size_differs(self._wanted.name, self._web.host, expected, span.at))
        span.end = self._partial.size = span.at

    def _pause(self, seconds: float) -> None:
        """Wait; the end of the download ends it."""
        if self._ended.wait(seconds):
            raise self._error or RegistryTrouble(teaching.interrupted())


def _strong(etag: str) -> str:
    """A weak one cannot vouch for bytes; a host without any is trusted for its size (case H17)."""
    return "" if etag.startswith("W/") else etag


def _is_there(path: Path, wanted: Wanted) -> bool:
    """Whether the file lies there already. Without a digest its size is all there is to go by."""
    try:
        if not path.is_file() or (wanted.size and path.stat().st_size != wanted.size):
            return False
        if not wanted.sha256:
            return bool(wanted.size)
        import hashlib

        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == wanted.sha256
    except OSError:
        return False
