"""Between one child answer and one client: pushes what a read brought, watches both ends, decides when bytes start.

The status is decided before any byte (cases A12, C12): a child that fails first is answered with its own status. Must not await:
everything here is called by the event loop, and the coroutine in `core` wakes once, at the end.
"""

from typing import Final, NamedTuple

from blazar.adapters.http.errors import JSON, problem, status_of
from blazar.adapters.http.lane.headers import receipt_headers, retry_after_in, warning_headers
from blazar.adapters.http.lane.job import Job, Occasion
from blazar.adapters.http.lane.reply import Reply
from blazar.adapters.http.lane.voice import spoken
from blazar.application.ports.clock import Clock, Timer
from blazar.application.ports.upstream import ChildCall, Exchange, Headers, Sink, Upstream
from blazar.domain import teaching
from blazar.domain.errors import BlazarError, ChildSilent, EngineSaid, Fault, Malformed
from blazar.domain.kinds import Dialect
from blazar.domain.manners import Manners
from blazar.domain.wire.delta import Failed, Usage
from blazar.domain.wire.envelopes import child_message
from blazar.domain.wire.refusal import callers_fault, field_in

LARGEST_ERROR: Final = 1024 * 1024
"""Bytes kept of a child's error body; what it says fits in the first few hundred."""

UNAUTHORIZED: Final = 401

STREAM_HEADERS: Final = ((b"cache-control", b"no-cache"), (b"x-accel-buffering", b"no"))
"""nginx and other proxies buffer a stream without these (case D10)."""


class Limits(NamedTuple):
    """`child_header_timeout_secs`, its twin for pictures, and the heartbeat of silent streams, in seconds; 0 turns each off.

    The first bounds the wait for a child's head, and any later silence to at most twice that (case D9).
    """

    header_timeout: float = 120.0
    heartbeat: float = 15.0
    picture_timeout: float = 900.0

    def patience(self, manners: Manners) -> float:
        """How long a child of this kind may say nothing."""
        return self.picture_timeout if manners.draws else self.header_timeout


class Relay(Sink):
    """One answer on its way. `outcome` is what remains to be told once `reply.carry()` returns."""

    def __init__(self, job: Job, occasion: Occasion, reply: Reply, extra: Headers) -> None:
        self._job, self._occasion, self._reply, self._extra = job, occasion, reply, extra
        self._manners = occasion.manners
        self._stream = job.open_stream(occasion) if job.stream else None
        self._upstream: Upstream | None = None
        self._exchange: Exchange | None = None
        self._silence_timer: Timer | None = None
        self._beat_timer: Timer | None = None
        self._status = 0
        self._retry_after = ""
        self._parts: list[bytes] = []
        self._size = 0
        self._begun = False
        self._over = False
        self._fresh = False  # something was said since the last beat
        self._heard = False  # the child sent something since the silence timer was set
        self._held = False  # its client reads slowly: the child's silence is our doing
        self.outcome: BlazarError | None = None
        self.broken = False
        """The child answered 5xx or broke (case G6)."""
        self.usage: Usage | None = None

    def launch(self, upstream: Upstream, clock: Clock, limits: Limits) -> None:
        """Send the request. A client that has gone meanwhile never reaches the child (case K4)."""
        reply = self._reply
        if reply.gone:
            self._settle(None)
            return
        self._upstream = upstream
        exchange = self._exchange = upstream.send(self._spoken(self._job.call(self._occasion.child_model)), self)
        if self._over:  # an upstream may fail before it returns
            exchange.abort()
            return
        reply.on_gone = self._leave
        reply.on_pause, reply.on_resume = self._pause, self._resume
        if patience := limits.patience(self._manners):
            self._listen(clock, patience)
        if self._stream is not None and limits.heartbeat:
            self._beat_timer = clock.call_later(limits.heartbeat, lambda: self._beat(clock, limits.heartbeat))

    def close(self) -> None:
        """Leave nothing running, however it ended."""
        self._settle(None)

    def tell(self, error: BlazarError, dialect: Dialect) -> None:
        """The error as the last thing said: with its status where nothing was sent, else inside the stream (D35)."""
        reply = self._reply
        if self._begun and self._stream is not None:
            reply.write(self._stream.fail(Failed(status_of(error), str(error))))
            reply.finish()
        elif self._begun:
            reply.abort()
        else:
            refuse(reply, error, dialect, self._occasion.trace)

    # From the child.

    def on_head(self, status: int, headers: Headers) -> None:
        self._status = status
        self._heard = True
        if not self._succeeded:
            self._retry_after = retry_after_in(headers)
            self.broken = status >= 500 and status != 501  # 501: not what this child was started for, and it is well

    def on_body(self, data: bytes) -> None:
        self._heard = True
        sound = False
        try:
            if self._stream is not None and self._succeeded:
                out = self._stream.feed(data)
                if self._stream.failed is not None:
                    self._end_stream(out)
                elif out:
                    self._say(out)
            else:
                self._collect(data)
            sound = True
        finally:
            if not sound:
                self._settle(Fault(teaching.internal(self._occasion.trace)))

    def on_end(self) -> None:
        # Whatever is raised in here is for the loop's log; without the end being noted nobody would wake `core`.
        verdict: BlazarError | None = Fault(teaching.internal(self._occasion.trace))
        call: ChildCall | None = None
        try:
            if self._stream is not None and self._succeeded:
                self._end_stream(self._stream.flush())
            elif (call := self._job.again(self._status, raw := b"".join(self._parts))) is not None:
                self._ask_again(call)
            elif self._succeeded:
                self._say_whole(raw)
                verdict = None
            elif self._status == UNAUTHORIZED:
                # The key is the gateway's own, never the caller's: some other program has come by the port (G17).
                self.broken = True
                verdict = EngineSaid(502, teaching.child_stranger(self._job.model))
            elif callers_fault(self._status, raw):
                self.broken = False
                verdict = self._said(400, raw)
            else:
                verdict = self._said(self._status, raw)
        except EngineSaid as error:
            self.broken = True
            verdict = error
        except Malformed as error:
            self.broken = False  # whatever status the child chose for it, the request was at fault
            verdict = error
        finally:
            if call is None:
                self._settle(verdict)

    def _said(self, status: int, raw: bytes) -> EngineSaid:
        """The child's own refusal, with the field that it names."""
        text = child_message(raw, self._job.model)
        return EngineSaid(status, text, field_in(text), self._retry_after)

    def _ask_again(self, call: ChildCall) -> None:
        """The same place at the same child, another request: its first answer was not the last word."""
        assert self._upstream is not None
        self._status, self._size, self.broken = 0, 0, False
        self._parts.clear()
        self._exchange = self._upstream.send(self._spoken(call), self)
        if self._over:
            self._exchange.abort()

    def _spoken(self, call: ChildCall) -> ChildCall:
        """In the words of this child's kind; what it will not do is told the caller."""
        job = self._job
        call, made = spoken(call, self._manners, self._occasion.window)
        if made.warnings:
            job.warnings = tuple(dict.fromkeys((*job.warnings, *made.warnings)))
        if not made.held:
            job.constraint = ""
        return call

    def on_fault(self, fault: Fault) -> None:
        self.broken = True
        self._settle(fault)

    @property
    def _succeeded(self) -> bool:
        return 200 <= self._status < 300

    def _collect(self, data: bytes) -> None:
        if self._size < LARGEST_ERROR or self._succeeded:
            self._parts.append(data)
            self._size += len(data)

    def _end_stream(self, out: bytes) -> None:
        """The stream said its last; `out` may hold the error that ended it (case D7: the child is stopped at once)."""
        stream = self._stream
        assert stream is not None
        self.usage = stream.usage
        failed = stream.failed
        if failed is not None:
            self.broken = failed.status >= 500
            if not self._begun and not stream.spoke(out):
                self._settle(EngineSaid(failed.status, failed.message))
                return
        self._say(out)
        self._reply.finish()
        self._settle(None)

    # To the client.

    def _say(self, out: bytes) -> None:
        if not self._begun:
            self._begun = True
            assert self._stream is not None
            head = [(b"content-type", self._stream.content_type), *STREAM_HEADERS, *self._own_headers()]
            self._reply.start(200, head)
        self._fresh = True
        self._reply.write(out)

    def _say_whole(self, raw: bytes) -> None:
        whole = self._job.whole(self._occasion, raw)
        self.usage = whole.usage
        self._begun = True
        send_whole(self._reply, whole.body, self._own_headers())

    def _own_headers(self) -> Headers:
        job = self._job
        if not job.warnings and not job.constraint:
            return self._extra
        return (*self._extra, *warning_headers(job.warnings), *receipt_headers(job.constraint))

    # Timers and the client's leaving.

    def _listen(self, clock: Clock, seconds: float) -> None:
        """Re-armed lazily: nothing is done per read but noting that there was one."""
        self._heard = False
        self._silence_timer = clock.call_later(seconds, lambda: self._on_silence(clock, seconds))

    def _on_silence(self, clock: Clock, seconds: float) -> None:
        if self._heard or self._held:
            self._listen(clock, seconds)
        else:
            self.broken = True
            say = teaching.child_drew_too_long if self._manners.draws else teaching.child_silent
            self._settle(ChildSilent(say(self._job.model, seconds)))

    def _pause(self) -> None:
        self._held = True
        if self._exchange is not None:
            self._exchange.pause()

    def _resume(self) -> None:
        self._held = False
        self._heard = True
        if self._exchange is not None:
            self._exchange.resume()

    def _beat(self, clock: Clock, interval: float) -> None:
        """Every interval: if nothing was said in it, say something that means nothing (case D5)."""
        assert self._stream is not None
        if not self._fresh and (out := self._stream.beat()):
            self._say(out)
        self._fresh = False
        self._beat_timer = clock.call_later(interval, lambda: self._beat(clock, interval))

    def _leave(self) -> None:
        """The client has gone, during prefill too: the child's connection closes at once (cases K1, K2)."""
        self._settle(None)

    def _settle(self, outcome: BlazarError | None) -> None:
        """Once: stop timers and child, let `core` go on."""
        if self._over:
            return
        self._over = True
        self.outcome = outcome
        for timer in (self._silence_timer, self._beat_timer):
            if timer is not None:
                timer.cancel()
        if self._exchange is not None:
            self._exchange.abort()  # no-op after an end
        reply = self._reply
        reply.on_gone = reply.on_pause = reply.on_resume = None
        reply.release()


def send_whole(reply: Reply, body: bytes, extra: Headers = ()) -> None:
    """A JSON answer in one piece."""
    reply.start(200, [JSON, (b"content-length", b"%d" % len(body)), *extra])
    reply.write(body)
    reply.finish()


def refuse(reply: Reply, error: BlazarError, dialect: Dialect, trace: str) -> None:
    """An error in one piece, in the envelope of the dialect (D10)."""
    shown = problem(error, dialect, trace)
    reply.start(shown.status, [*shown.headers, (b"content-length", b"%d" % len(shown.body))])
    reply.write(shown.body)
    reply.finish()
