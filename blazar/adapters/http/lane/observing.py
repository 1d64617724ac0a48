"""Joins the watch on an answer to its request before, and to its judgement after: who is observed, what is refused for it.

Decides no observation (the sentinel does), and nothing about bytes: what is not refused passes as it is.
"""

from collections.abc import Callable, Mapping

from blazar.adapters.http.lane.job import Job
from blazar.adapters.http.lane.judge import SchemaJudge
from blazar.adapters.http.lane.relay import Limits, Relay
from blazar.adapters.http.lane.watch import ENFORCE_HEADER, KeptText, Watch, spent, switch
from blazar.adapters.http.record import RequestRecord
from blazar.application.ports.telemetry import BROKEN
from blazar.application.supervise.leasing import Lease
from blazar.domain import teaching
from blazar.domain.errors import AnswerBroken
from blazar.domain.sentinel import listed


def observe(job: Job, headers: Mapping[bytes, bytes], limits: Limits) -> None:
    """Decide what is observed of its answer, and whether that may refuse it. Raises `Malformed` for a header that is no switch."""
    if not job.observed:
        return
    wish = switch(headers, ENFORCE_HEADER)
    may = job.refusable and not job.stream
    if wish and not may:
        job.warnings = (*job.warnings, teaching.warn_ignored(ENFORCE_HEADER.decode()))
    enforces = may and (limits.enforces if wish is None else wish)
    if limits.observes or enforces:
        # Calls that are told in words look like any text.
        watch = job.watch = Watch(job.schema, job.constraint, enforces=enforces, reads=job.talk is not None)
        if job.stream and watch.formed:
            watch.kept = KeptText(job.model)


async def say_judged(judge: SchemaJudge, job: Job, relay: Relay, now: Callable[[], float]) -> None:
    """Say what the relay held back, or leave it with the refusal of it.

    No receipt for an answer that its own schema contradicts, whatever the engine was told (D19, E2).
    """
    raw, watch = relay.unjudged, job.watch
    assert raw is not None
    answers = job.answers(raw)
    asked = job.schema if job.constraint else None
    found, held = await judge.judge(asked, answers, None if watch is None else watch.wanted(job.asks()))
    if not held:
        job.constraint = ""
    if watch is not None:
        watch.found.extend((now(), finding) for finding in found)
        if watch.enforces and any(finding.violation for finding in found):
            relay.usage = spent(answers)
            relay.outcome = AnswerBroken(listed(found), [finding.code.value for finding in found])
            return
    relay.say_judged()


async def look_back(judge: SchemaJudge, watch: Watch, record: RequestRecord, now: Callable[[], float]) -> None:
    """What of a stream has to be judged by a schema: its client has all of it, and its place is somebody else's already."""
    later, watch.later = watch.later, []
    for seen, wanted in later:
        watch.found.extend((now(), finding) for finding in await judge.look_back(seen, wanted))
    watch.note(record)


def note_place(record: RequestRecord, lease: Lease) -> None:
    """Who serves it, and how long it took to get there."""
    record.placed = True
    record.queue_seconds, record.load_seconds = lease.queue_seconds, lease.load_seconds
    record.instance, record.engine = lease.key, lease.engine
    record.call_it(lease.model.name)


def note_answer(record: RequestRecord, job: Job, relay: Relay, now: float) -> None:
    """What of its answer belongs into its record. Of a stream that was broken off, by whomever, only its pieces are known."""
    usage = relay.usage
    record.child_status, record.warnings = relay.child_status, job.warnings
    record.first_word = relay.first_word
    if job.talk is not None:
        record.note(now, "raw_lane")
    if relay.failed:
        record.note(now, BROKEN, status=relay.failed)
    if relay.deserted:
        record.left = True
        record.note(now, "client_left")
    note_observed(record, job, relay, now)
    if usage is not None:
        record.prompt_tokens, record.completion_tokens = usage.prompt, usage.completion
        record.cached_tokens = usage.cached
        if job.keeps is not None:
            job.keeps.usage = usage
    elif job.stream:
        record.completion_tokens = relay.pieces


def note_observed(record: RequestRecord, job: Job, relay: Relay, now: float) -> None:
    """What was observed belongs into the request's story; a stream is looked at as a whole when it has ended."""
    if job.watch is not None:
        job.watch.close(now, relay.seen, job.asks)
        job.watch.note(record)
