"""One try at one file: its requests, the threads that bring its pieces, its deadlines and its end. Publishes nothing.

Decides which piece is asked for next, when a connection is tried again, and when none is worth it any more.
"""

import hashlib
import re
import time
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from contextlib import suppress
from pathlib import Path
from threading import Event, Lock, Thread, current_thread
from typing import Any, NamedTuple

import httpx

from blazar.adapters.net.dialling import Raised
from blazar.adapters.net.entities import Entity, said_by
from blazar.adapters.net.pace import Pace
from blazar.adapters.net.partials import Partial, Span
from blazar.adapters.net.patience import LONG, PAUSE_SECS, TRIES, Failing, secs_after
from blazar.adapters.net.promises import promised
from blazar.adapters.net.rolling import Rolling
from blazar.adapters.net.turns import MOST_DIGITS, Turns
from blazar.adapters.net.web import READ_SECS, Slow, Web
from blazar.application.ports.downloads import Told, Wanted
from blazar.domain import teaching
from blazar.domain.errors import BlazarError, Busy, Forbidden, NotFound, RegistryTrouble

CRAWL_SECS, CRAWL_BYTES = 60.0, 60 << 10
"""Fewer bytes in such a time are no download but a trickle that would never end. Tries are counted anew when so many came."""
SHARED_FROM = 4 << 20
"""Bytes that are worth a connection of their own where the last pieces are under way and others have nothing to do."""
_RANGE = re.compile(r"bytes (\d{1,16})-(\d{1,16})/(?:(\d{1,16})|\*)", re.ASCII)
_TOLD_EVERY = 0.1


class Unsatisfiable(RegistryTrouble):
    """It has no such bytes (416): what we hold is of another file."""


class NoRanges(RegistryTrouble):
    """It answers with the whole file where a part was asked for."""


class Changed(NoRanges):
    """It has another version of it by now than the one that we have a part of."""


class Final(RegistryTrouble):
    """Asking the same again would bring the same."""


class FileHost(Web):
    """The host of one file. `gone` says that it lacks it."""

    gone: Callable[[str, str], str] = staticmethod(teaching.download_gone)

    def _judge(self, answer: httpx.Response, what: str) -> None:
        status = answer.status_code
        if status == 416:
            raise Unsatisfiable(teaching.remote_said(self.host, 416))
        if status in (404, 410):
            raise NotFound(self.gone(what, self.host))
        super()._judge(answer, what)


class Rules(NamedTuple):
    """What holds for all files: room on disk, payment for bytes, and by how many connections a file of some size is fetched."""

    check_room: Callable[[str, int, int], None]
    pay: Callable[[int, Callable[[float], None]], None]
    connections: Callable[[int], int]


class Transfer:
    """Its threads, their first error, and their end. `conditional`: the host shall compare the entity that it has with ours."""

    def __init__(self, partial: Partial, rolling: Rolling, wanted: Wanted, web: Web, rules: Rules) -> None:
        self._partial, self._rolling, self._wanted, self._web, self._rules = partial, rolling, wanted, web, rules
        self.ranges, self.conditional = True, True
        # It is written down beside the file, and an address may hold a signature.
        # A signature is another one each time; what is taken up has a digest or a strong tag.
        self._identity = promised(wanted) or _digits_of(wanted.url.partition("#")[0].partition("?")[0])
        self._entity: Entity | None = None
        self._ended = Event()
        self._lock = Lock()
        self._error: BlazarError | None = None
        self._todo: list[Span] = []
        self._busy: list[Span] = []
        self._first: httpx.Response | None = None
        self._settled = ""
        self._threads: list[Thread] = []
        self._asking: set[Thread] = set()
        self._turns = Turns()
        self._paused, self._pauses, self._came = 0, 0, 0

    def stop(self, why: BlazarError) -> None:
        """The first reason counts; sockets are shut, waits end."""
        with self._lock:
            self._error = self._error or why
        self._ended.set()
        self._web.stop(why)

    def run(self, told: Told) -> str:
        """The digest of what came, "" where none was promised. Raises the first error of any thread; what came is noted."""
        finished = False
        try:
            (count,) = self._watch([self._start(self._begin)], told)
            digest = self._bring(count, told)
            finished = True
            return digest
        finally:
            self._end(finished=finished)
            self._note(finished=finished)

    def _note(self, *, finished: bool) -> None:
        try:
            if self._partial.done:
                self._partial.save()
        except (
            OSError
        ):  # a full disk takes no note either: the one before it is still true, and why it ended is what is told
            if finished:
                raise

    def _bring(self, count: int, told: Told) -> str:
        """All that is missing, by so many threads; one hashes behind them, and one has the disk keep up."""
        kept = self._start(lambda: self._partial.keep(self._ended))
        hashed = self._start(self._hash)
        self._watch([self._start(self._work) for _ in range(count)], told, beside=kept)
        return self._hashed(hashed, told)

    def _hash(self) -> str:
        return self._rolling.follow(lambda: self._partial.size, self._ended) if promised(self._wanted) else ""

    def _hashed(self, hashed: Future[Any], told: Told) -> str:
        return str(self._watch([hashed], told, crawling=False)[0])

    def _start(self, task: Callable[[], Any]) -> Future[Any]:
        """In a thread of its own. One that hangs in a name that is not resolved must not hold the program's end up."""
        future: Future[Any] = Future()

        def body() -> None:
            with Raised(future):
                future.set_result(task())

        thread = Thread(target=body, name="download", daemon=True)
        self._threads.append(thread)
        thread.start()
        return future

    def _watch(
        self, all_of: list[Future[Any]], told: Told, *, beside: Future[Any] | None = None, crawling: bool = True
    ) -> list[Any]:
        """Until they are done; tells of progress, and ends what only trickles."""
        pending, pace = set(all_of), Pace(CRAWL_SECS, CRAWL_BYTES, time.monotonic(), self._came, self._pauses)
        while pending:
            done, pending = wait(pending, _TOLD_EVERY, FIRST_EXCEPTION)
            for future in done:
                future.result()
            if beside is not None and beside.done():
                beside.result()
            told(self._partial.done, self._partial.size)
            trickle = pace.is_trickle(time.monotonic(), self._came, pauses=self._pauses, resting=self._is_resting())
            if trickle and crawling:
                raise RegistryTrouble(teaching.download_crawls(self._web.host, CRAWL_SECS))
        return [future.result() for future in all_of]

    def _is_resting(self) -> bool:
        """Whether all that ask are waiting before they ask again."""
        with self._lock:
            return self._paused >= max(1, len(self._busy))

    def _end(self, *, finished: bool) -> None:
        """No thread touches the file after this; one that still waits for an answer never will (`_ask`)."""
        if finished:
            self._ended.set()
        else:  # Ctrl-C above all (case H9)
            self.stop(RegistryTrouble(teaching.interrupted()))
        self._partial.wake()
        for thread in self._threads:
            while thread.is_alive() and thread not in self._asking:
                thread.join(0.02)
        if self._first is not None:
            self._first.close()
        self._web.close()

    def _begin(self) -> int:
        """Plan, ask for the first missing byte, and learn what the host can do; how many threads are worth it."""
        partial, size = self._partial, self._wanted.size
        resumed = self.ranges and partial.resume(size, self._identity, vouched=bool(promised(self._wanted)))
        if resumed and not any(span.left for span in partial.spans):
            return 0
        if not resumed and self.ranges and size:
            partial.plan(size, self._rules.connections(size), "", self._identity)
        if size:
            self._check_room(size)
        missing = [span for span in partial.spans if span.left] or [Span(0, 0, 0)]
        self._entity = Entity(partial.etag) if resumed else None
        self._rolling.rewind(missing[0].at)  # an earlier try may have come further than its last note
        answer = self._patiently(lambda: self._ask(missing[0], whole=not self.ranges))
        self._first = answer
        total = self._size_of(answer)
        self.ranges = answer.status_code == 206 and self._may_be_combined(answer, total)
        if self.ranges and partial.size and total != partial.size:
            raise Unsatisfiable(teaching.remote_said(self._web.host, 416))
        etag = said_by(answer.headers).strong
        if not self.ranges or not partial.size:
            partial.plan(total, self._rules.connections(total) if self.ranges else 1, etag, self._identity)
            self._rolling.rewind(0)
            missing = list(partial.spans)
        elif not resumed:
            partial.etag = etag
        self._check_room(total)
        self._todo = missing
        return max(1, min(len(missing), self._rules.connections(total))) if self.ranges else 1

    def _may_be_combined(self, answer: httpx.Response, total: int) -> bool:
        """With others of the same file. Raises `NoRanges` where it may not, and is a part only."""
        if total and (promised(self._wanted) or said_by(answer.headers).tells_changes):
            return True
        match = _range_of(answer)
        if match is not None and match[1] == "0" and match[3] and int(match[2]) == int(match[3]) - 1:
            return False  # it is all of it
        raise NoRanges(teaching.remote_said(self._web.host, answer.status_code))

    def _check_room(self, total: int) -> None:
        came = self._partial.done
        self._rules.check_room(str(Path(self._wanted.path).parent), total - came, came)

    def _ask(self, span: Span, *, whole: bool = False) -> httpx.Response:
        """From where a span stands to its end. No thread that waits here comes back to the file once all has ended."""
        last = span.end - 1 if span.end and span.end != self._partial.size else ""
        headers = {} if whole else {"range": f"bytes={span.at}-{last}"}
        if span.at and self._partial.etag and self.conditional and not whole:
            headers["if-range"] = self._partial.etag
        me = current_thread()
        self._asking.add(me)
        try:
            answer = self._at_its_place(headers)
        finally:
            self._asking.discard(me)
        if self._ended.is_set():
            answer.close()
            raise self._error or RegistryTrouble(teaching.interrupted())
        if "if-range" in headers and answer.status_code != 206:
            answer.close()
            raise Changed(teaching.remote_said(self._web.host, answer.status_code))
        if not promised(self._wanted):
            self._check_version(answer, said_by(answer.headers), whole=whole)
        return answer

    def _check_version(self, answer: httpx.Response, said: Entity, *, whole: bool) -> None:
        """What nobody promised a digest of is put together from answers of one version only, whoever ignored our conditions."""
        match = _range_of(answer)
        size = int(match[3]) if match and match[3] else 0
        if self._wanted.etag and said.bare != self._wanted.etag:
            answer.close()
            raise Final(teaching.download_changes(self._wanted.name, self._web.host))
        if whole or answer.status_code != 206:
            return
        self._entity = known = self._entity or said
        if not known.is_kept_by(said) or (self._partial.size and size and size != self._partial.size):
            answer.close()
            raise Changed(teaching.download_changes(self._wanted.name, self._web.host))

    def _at_its_place(self, headers: dict[str, str]) -> httpx.Response:
        """Where the registry sent us the last time; its address there may be good for minutes only."""
        if self._settled:
            with suppress(NotFound, Forbidden, Failing):
                return self._web.ask(self._settled, self._wanted.name, headers)
        answer = self._web.ask(self._wanted.url, self._wanted.name, headers)
        place = str(answer.url)
        self._settled = place if place != self._wanted.url else ""
        return answer

    def _size_of(self, answer: httpx.Response) -> int:
        """Bytes of the whole file; 0 where the host does not say. Judged before a byte of it is kept (case H2)."""
        told = answer.headers.get("content-length", "")
        match = _range_of(answer)
        size = int(match[3]) if match and match[3] and answer.status_code == 206 else -1
        if answer.status_code != 206 and told.isascii() and told.isdecimal() and len(told) <= MOST_DIGITS:
            size = int(told)
        name, expected = self._wanted.name, self._wanted.size
        if size == 0:
            raise Final(teaching.download_empty(name, self._web.host))
        if size > 0 and expected and size != expected:
            raise Final(teaching.download_size_differs(name, self._web.host, expected, size))
        return size if size > 0 else expected

    def _work(self) -> None:
        """One thread: spans until there are none left. The last one that still works says what is wrong; others leave it their rest."""
        while not self._ended.is_set():
            with self._lock:
                span = self._next()
                if span is None:
                    return
                first, self._first = self._first, None
            try:
                self._fill(span, first)
            except (RegistryTrouble, Busy) as trouble:
                with self._lock:
                    self._busy.remove(span)
                    if self._ended.is_set() or _is_final(trouble) or not self._busy:
                        raise
                    self._todo.insert(0, span)
                return
            with self._lock:
                self._busy.remove(span)

    def _next(self) -> Span | None:
        """The next one, or the second half of what another has most to do with: a slow connection holds no end up."""
        span = self._todo.pop(0) if self._todo else None
        if span is None and self.ranges:
            slowest = max(self._busy, key=_left, default=None)
            if slowest is not None and slowest.left >= 2 * SHARED_FROM:
                span = self._partial.cut(slowest, slowest.at + slowest.left // 2)
        if span is not None:
            self._busy.append(span)
        return span

    def _fill(self, span: Span, first: httpx.Response | None) -> None:
        """One span, over as many connections as it takes."""
        tries, reached = 0, span.at
        while span.left > 0 or not span.end:
            try:
                self._stream(span, first or self._ask_again(span))
                if not span.end:
                    self._check_whole(span)
                    return
            except (RegistryTrouble, Busy) as trouble:
                first, span.doubtful = None, True
                if span.at - reached >= CRAWL_BYTES:  # a byte for each try would be one without an end
                    tries, reached = 0, span.at
                tries += 1
                if self._ended.is_set() or tries >= TRIES or _is_final(trouble):
                    raise
                self._pause(_secs_after(trouble, tries))
            first = None

    def _patiently(self, ask: Callable[[], httpx.Response]) -> httpx.Response:
        """The first question of all: a host that cannot be reached is told at once, one that asks for time or is silent is given it."""
        tries = 0
        while True:
            try:
                return ask()
            except (Busy, Failing, Slow) as trouble:
                tries += 1
                if self._ended.is_set() or tries >= TRIES or _is_final(trouble):
                    raise
                self._pause(_secs_after(trouble, tries))

    def _ask_again(self, span: Span) -> httpx.Response:
        if not self.ranges:
            span.at = span.start  # from the beginning: the host knows no other place
            self._rolling.rewind(0)
            answer = self._ask(span, whole=True)
            if self._partial.size and self._size_of(answer) not in (0, self._partial.size):
                answer.close()
                raise NoRanges(teaching.download_changes(self._wanted.name, self._web.host))
            return answer
        answer = self._ask(span)
        if answer.status_code != 206:
            answer.close()
            raise NoRanges(teaching.remote_said(self._web.host, answer.status_code))
        return answer

    def _stream(self, span: Span, answer: httpx.Response) -> None:
        """What one connection brings, up to the span's end."""
        try:
            match = _range_of(answer)
            if answer.status_code == 206 and (match is None or int(match[1]) != span.at):
                raise self._web.garbled(teaching.download_other_range())
            parts = self._turns.parts(answer, self._web.parts(answer), READ_SECS)
            for data in parts:
                part = data[: span.left] if span.end else data
                self._put(span, part)
                self._came += len(part)
                self._rules.pay(len(part), self._wait)
                if span.end and span.left <= 0:
                    break
            if span.end and span.left > 0:
                raise self._web.garbled(teaching.download_cut_off(span.end, span.at))
            if answer.headers.get("content-length", "") == str(answer.num_bytes_downloaded):
                next(parts, None)  # read to its end, it leaves its connection for the next piece
        finally:
            answer.close()

    def _put(self, span: Span, part: bytes) -> None:
        self._partial.write(span, part)

    def _check_whole(self, span: Span) -> None:
        """The end of a file whose host told no size: it is as long as was promised, or it is what it is."""
        expected = self._wanted.size
        if not span.at:
            raise Final(teaching.download_empty(self._wanted.name, self._web.host))
        if expected and span.at != expected:
            raise Final(teaching.download_size_differs(self._wanted.name, self._web.host, expected, span.at))
        span.end = self._partial.size = span.at

    def _pause(self, seconds: float) -> None:
        """Give the host time."""
        with self._lock:
            self._paused += 1
            self._pauses += 1
        try:
            self._wait(seconds)
        finally:
            with self._lock:
                self._paused -= 1

    def _wait(self, seconds: float) -> None:
        """The end of the download ends it."""
        if self._ended.wait(seconds):
            raise self._error or RegistryTrouble(teaching.interrupted())


def _left(span: Span) -> int:
    return span.left if span.end else 0


def _is_final(trouble: BlazarError) -> bool:
    """Whether waiting helps."""
    if isinstance(trouble, Busy):
        return LONG.ends(trouble, 0)
    return isinstance(trouble, (Final, NoRanges, Unsatisfiable))


def _secs_after(trouble: BlazarError, tries: int) -> float:
    return secs_after(trouble, tries, PAUSE_SECS)


def _range_of(answer: httpx.Response) -> re.Match[str] | None:
    """First and last byte, and the whole's length, which a host need not know (`*`)."""
    return _RANGE.fullmatch(answer.headers.get("content-range", "").strip())


def _digits_of(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
