"""Between one child answer and one client: pushes what a read brought, watches both ends, decides when bytes start.

The status is decided before any byte (cases A12, C12): a child that fails first is answered with its own status. Must not await:
everything here is called by the event loop, and the coroutine in `core` wakes once, at the end.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from blazar.adapters.http.errors import JSON, problem, status_of
from blazar.adapters.http.lane.headers import receipt_headers, retry_after_in, warning_headers
from blazar.adapters.http.lane.job import Job, Occasion, Stream
from blazar.adapters.http.lane.probing import Probe
from blazar.adapters.http.lane.reply import Reply
from blazar.adapters.http.lane.voice import converts, spoken
from blazar.adapters.http.lane.watch import TICKS, Watch
from blazar.application.ports.clock import Clock, Timer
from blazar.application.ports.upstream import ChildCall, Exchange, Headers, Sink, Upstream
from blazar.domain import teaching
from blazar.domain.errors import BlazarError, ChildSilent, EngineSaid, Fault, Malformed, TooLarge
from blazar.domain.instance.progress import Look
from blazar.domain.kinds import Dialect
from blazar.domain.manners import SLOTS, Manners
from blazar.domain.paces import SpeakingPace
from blazar.domain.wire.delta import Failed, Usage
from blazar.domain.wire.envelopes import child_message
from blazar.domain.wire.polite import as_it_is
from blazar.domain.wire.refusal import callers_fault, models_fault
from blazar.domain.wire.seen import Seen
from blazar.domain.wire.wording import worded

LARGEST_ERROR: Final = 1024 * 1024
"""Bytes kept of a child's error body; what it says fits in the first few hundred."""

UNAUTHORIZED: Final = 401

STREAM_HEADERS: Final = ((b"cache-control", b"no-cache"), (b"x-accel-buffering", b"no"))
"""nginx and other proxies buffer a stream without these (case D10)."""


class Limits(NamedTuple):
    """`child_header_timeout_secs`, its twin for pictures, and the heartbeat of silent streams, in seconds; 0 turns each off. `fetches` is `image_fetch`.

    The first bounds the wait for a child's head, and any later silence to at most twice that (case D9).
    """

    header_timeout: float = 120.0
    heartbeat: float = 15.0
    picture_timeout: float = 900.0
    fetches: bool = True
    late_tokens: int = 8192
    """`late_chunking_max_tokens`."""
    preflight: bool = True
    """`prompt_preflight`."""
    singleflight: bool = True
    """`singleflight`."""
    observes: bool = True
    """`sentinel`, and below `sentinel_enforce` and `sentinel_stall_secs`."""
    enforces: bool = False
    stall: float = 30.0

    def patience(self, manners: Manners) -> float:
        """How long a child of this kind may say nothing."""
        return self.picture_timeout if manners.draws else self.header_timeout


class Relay(Sink):
    """One answer on its way. `outcome` is what remains to be told once `reply.carry()` returns."""

    def __init__(
        self, job: Job, occasion: Occasion, reply: Reply, extra: Headers, pace: SpeakingPace | None = None
    ) -> None:
        self._pace = SpeakingPace() if pace is None else pace
        self._now: Callable[[], float] = float  # 0, until it is launched
        self._begun_at = 0.0
        self.first_word = 0.0  # when it began to leave; a comment is no word
        self._job, self._occasion, self._reply, self._extra = job, occasion, reply, extra
        self._manners = occasion.manners
        job.window_key = occasion.window_key
        self._stream: Stream | None = None
        self._watch = job.watch
        self._upstream: Upstream | None = None
        self._exchange: Exchange | None = None
        self._silence_timer: Timer | None = None
        self._beat_timer: Timer | None = None
        self._look_timer: Timer | None = None
        self._probe: Probe | None = None
        self._status = 0
        self._retry_after = ""
        self._parts: list[bytes] = []
        self._size = 0
        self._begun = False
        self._over = False
        self._fresh = False  # something was said since the last beat
        self._heard = False  # the child sent something since the silence timer was set
        self._held = False  # its client reads slowly: the child's silence is our doing
        self.deserted = False  # its client went before the answer had ended
        self._left = False  # the client has gone, and the child computes to the end all the same
        self._release: Callable[[], None] | None = None
        self.outcome: BlazarError | None = None
        self.unjudged: bytes | None = None
        """A whole answer that shall have a schema, or looks odd: what it is said with is known when it was judged (D19)."""
        self.broken = False
        """The child answered 5xx or broke (case G6)."""
        self.wedged = False
        """The child has sent no head and computes nothing: another one may answer, as long as the client has not `begun` to read."""
        self.usage: Usage | None = None
        self.pieces = 0
        """Reads that brought something: of a stream no more than its tokens, for whoever must know what one cost that was broken off."""

    def launch(self, upstream: Upstream, clock: Clock, limits: Limits) -> None:
        """Send the request. A client that has gone meanwhile never reaches the child (case K4)."""
        reply = self._reply
        if reply.gone:
            self._settle(None)
            return
        self._upstream, self._now = upstream, clock.now
        self._begun_at = clock.now()
        exchange = self._exchange = upstream.send(self._spoken(self._job.call(self._occasion.child_model)), self)
        if self._over:  # an upstream may fail before it returns
            exchange.abort()
            return
        self._open()
        reply.on_gone = self._leave
        reply.on_pause, reply.on_resume = self._pause, self._resume
        if patience := limits.patience(self._manners):
            self._listen(clock, patience)
        if self._stream is not None and limits.heartbeat:
            self._beat_timer = clock.call_later(limits.heartbeat, lambda: self._beat(clock, limits.heartbeat))
        if self._stream is not None and self._watch is not None and limits.stall:
            self._look(clock, self._watch, limits.stall)

    @property
    def seen(self) -> Sequence[Seen]:
        """What is known of the answers of a stream that ended well."""
        return () if self._stream is None else self._stream.seen()

    @property
    def child_status(self) -> int:
        """What the child answered last; 0: nothing."""
        return self._status

    @property
    def failed(self) -> int:
        """The status of an error that a stream ended in although it had begun well; 0: none did."""
        stream = self._stream
        return stream.failed.status if stream is not None and stream.failed is not None else 0

    @property
    def begun(self) -> bool:
        """Whether the client has got anything."""
        return self._begun

    @property
    def abandoned(self) -> bool:
        """Its client has left, and the child is still at it."""
        return self._left and not self._over

    def close(self, release: Callable[[], None]) -> None:
        """Leave nothing running, however it ended, and `release` the place at the child.

        One that cannot be stopped keeps it until it has ended: who comes next waits in line, and not in vain at a child that is busy.
        """
        if self.abandoned:
            self._release = release
        else:
            self._settle(None)
            release()

    def tell(self, error: BlazarError, dialect: Dialect) -> None:
        """The error as the last thing said: with its status where nothing was sent, else inside the stream (D35)."""
        reply = self._reply
        if self._begun and self._stream is not None:
            reply.write(self._stream.fail(Failed(status_of(error), str(error))))
            reply.finish()
        elif self._begun:
            reply.abort()
        else:
            refuse(reply, error, dialect, self._occasion.trace, self._extra)

    def say_judged(self) -> None:
        """The answer that was held back for its judgement."""
        assert self.unjudged is not None
        try:
            self._say_whole(self.unjudged)
        except EngineSaid as error:
            self.broken = True
            self.outcome = error

    def _open(self) -> None:
        """Behind the request, while its child computes: what stands ready before it is a part of every first token's time."""
        if self._stream is None and self._job.stream:
            self._stream = self._job.open_stream(self._occasion)

    # From the child.

    def on_head(self, status: int, headers: Headers) -> None:
        self._open()  # an upstream may answer before it returns
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
                self.pieces += 1
                self._pace.piece(self._now())
                if self._watch is not None and self._watch.kept is not None:
                    self._watch.kept.feed(data)
                out = self._stream.feed(data)
                if self._stream.failed is not None:
                    self._end_stream(out)
                elif out:
                    if self._watch is not None and not _silent(out):
                        self._watch.told = True
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
            if self._left:
                self.broken = self.broken and not callers_fault(self._status, b"".join(self._parts))
                verdict = None
            elif self._stream is not None and self._succeeded:
                call = self._go_on(self._stream)
            elif (call := self._job.again(self._status, raw := b"".join(self._parts))) is not None:
                self._ask_again(call)
            elif self._succeeded:
                self._on_whole(raw)
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
                self.broken = self.broken and not models_fault(self._status, str(verdict))
        except EngineSaid as error:
            self.broken = True
            verdict = error
        except (Malformed, TooLarge) as error:
            self.broken = False  # whatever status the child chose for it, the request was at fault
            verdict = error
        finally:
            if call is None:
                self._settle(verdict)

    def _on_whole(self, raw: bytes) -> None:
        """One that shall have a schema, or looks odd, is judged first, and not in here: `core` has it done and calls `say_judged`."""
        job, watch = self._job, self._watch
        if (job.schema is not None and job.constraint) or (watch is not None and watch.suspects(job.raws(raw))):
            self.unjudged = raw
        else:
            self._say_whole(raw)

    def _said(self, status: int, raw: bytes) -> EngineSaid:
        """The child's own refusal, with the field that it names."""
        text, field = worded(child_message(raw, self._job.model))
        return EngineSaid(status, text, field, self._retry_after)

    def _go_on(self, stream: Stream) -> ChildCall | None:
        """A stream of the child has ended: with it the answer, or only a part of it."""
        out = stream.flush()
        call = None if stream.failed is not None else self._job.more()
        if call is None:
            self._end_stream(out)
            return None
        if out:
            self._say(out)
        self._ask_again(call)
        return call

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
        form_field = "response_format" if job.schema is None else job.schema.field
        call, made = spoken(call, self._manners, self._occasion.window, form_field)
        if job.schema is not None and job.constraint and as_it_is(self._manners):
            made = converts(job.schema)
        if made.warnings:
            job.warnings = tuple(dict.fromkeys((*job.warnings, *made.warnings)))
        # Of a tool that must be called other kinds are not known to hold the arguments to its schema.
        if not made.held or (job.schema is not None and job.schema.of_call and not as_it_is(self._manners)):
            job.constraint = ""
        return call

    def on_fault(self, fault: Fault) -> None:
        self.broken = True
        self._settle(fault)

    @property
    def _succeeded(self) -> bool:
        return 200 <= self._status < 300

    def _collect(self, data: bytes) -> None:
        """Of an answer that never ends no more than its bound; of a refusal its beginning, which is all that anybody reads."""
        self._parts.append(data)
        self._size += len(data)
        if not self._succeeded:
            if self._size >= LARGEST_ERROR:
                self._hang_up()
                self.on_end()
        elif self._size > (most := self._manners.largest):
            self._parts.clear()
            self.broken = True
            self._settle(EngineSaid(502, teaching.child_answer_too_large(self._job.model, most)))

    def _hang_up(self) -> None:
        if self._exchange is not None:
            self._exchange.abort()

    def _end_stream(self, out: bytes) -> None:
        """The stream said its last; `out` may hold the error that ended it (case D7: the child is stopped at once)."""
        stream = self._stream
        assert stream is not None
        self.usage = stream.usage
        failed = stream.failed
        if failed is not None:
            self.broken = failed.status >= 500 and not models_fault(failed.status, failed.message)
            if not self._begun and not stream.spoke(out):
                self._settle(EngineSaid(failed.status, failed.message))
                return
        self._say(out, last=True)
        self._reply.finish()
        self._settle(None)

    # To the client.

    def _say(self, out: bytes, *, mute: bool = False, last: bool = False) -> None:
        """`mute`: it only keeps the connection open. `last`: it leaves together with the end."""
        if not self._begun:
            self._begun = True
            assert self._stream is not None
            head = [(b"content-type", self._stream.content_type), *STREAM_HEADERS, *self._own_headers()]
            self._reply.start(200, head)
        if not self.first_word and not mute and not _silent(out):
            self.first_word = self._now()
        self._fresh = True
        if last:
            self._reply.write(out)
        else:
            self._reply.push(out)

    def _say_whole(self, raw: bytes) -> None:
        whole = self._job.whole(self._occasion, raw)
        self.usage = usage = whole.usage
        if usage is not None:
            self._pace.whole(self._now(), usage.completion, self._begun_at)
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
        elif self._upstream is not None and self._asks_slots:
            self._probe = Probe(self._upstream, clock, seconds, lambda look: self._on_looked(look, clock, seconds))
        else:
            self._give_up(seconds)

    @property
    def _asks_slots(self) -> bool:
        """A head that takes long may only be a long answer; pictures have a bound of their own for that."""
        return self._status == 0 and not self._left and SLOTS in self._manners.routes and not self._manners.draws

    def _on_looked(self, look: Look, clock: Clock, seconds: float) -> None:
        """What its slots say about a child without a head. One that computes is well, and stays: only this request ends."""
        self._probe = None
        if self._heard or self._held:
            self._listen(clock, seconds)
        elif look is Look.BUSY:
            self._settle(ChildSilent(teaching.child_still_computing(self._job.model, seconds)))
        else:
            self.wedged = look is Look.WEDGED
            self._give_up(seconds)

    def _give_up(self, seconds: float) -> None:
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
            self._say(out, mute=True)
        self._fresh = False
        self._beat_timer = clock.call_later(interval, lambda: self._beat(clock, interval))

    def _look(self, clock: Clock, watch: Watch, seconds: float) -> None:
        """Every part of that time: whether the stream has stalled. Nothing is done per read but noting that there was one."""
        if self._held:
            watch.told = True
        watch.look(clock.now(), seconds)
        self._look_timer = clock.call_later(seconds / TICKS, lambda: self._look(clock, watch, seconds))

    def _leave(self) -> None:
        """The client has gone, during prefill too: the child's connection closes at once (cases K1, K2).

        ODD: a child that cannot be stopped keeps its place: how its answer ends is how we know when it is free.
        """
        self.deserted = True
        if self._stream is not None or not self._manners.finishes:
            self._settle(None)
            return
        self._left = True
        if self._held:
            self._resume()
        self._part()

    def _part(self) -> None:
        """Of the client: let `core` go on."""
        reply = self._reply
        reply.on_gone = reply.on_pause = reply.on_resume = None
        reply.release()

    def _settle(self, outcome: BlazarError | None) -> None:
        """Once: stop timers and child, let `core` go on."""
        if self._over:
            return
        self._over = True
        self.outcome = outcome
        for timer in (self._silence_timer, self._beat_timer, self._look_timer):
            if timer is not None:
                timer.cancel()
        if self._probe is not None:
            self._probe.cancel()
        if self._exchange is not None:
            self._exchange.abort()  # no-op after an end
        if not self._left:
            self._part()
        elif self._release is not None:
            self._release()


def _silent(out: bytes) -> bool:
    """Comments of the child's and nothing else: no word."""
    return out.startswith(b":") and not any(line.strip() and line[:1] != b":" for line in out.split(b"\n"))


def send_whole(reply: Reply, body: bytes, extra: Headers = ()) -> None:
    """A JSON answer in one piece."""
    reply.start(200, [JSON, (b"content-length", b"%d" % len(body)), *extra])
    reply.write(body)
    reply.finish()


def refuse(reply: Reply, error: BlazarError, dialect: Dialect, trace: str, extra: Headers = ()) -> None:
    """An error in one piece, in the envelope of the dialect (D10)."""
    shown = problem(error, dialect, trace)
    reply.start(shown.status, [*shown.headers, (b"content-length", b"%d" % len(shown.body)), *extra])
    reply.write(shown.body)
    reply.finish()
