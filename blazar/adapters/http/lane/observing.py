"""Joins the watch on an answer to its request before, and to its judgement after: who is observed, what is refused for it.

Decides no observation (the sentinel does), and nothing about bytes: what is not refused passes as it is.
"""

from collections.abc import Callable, Mapping

from blazar.adapters.http.lane.job import Job
from blazar.adapters.http.lane.judge import SchemaJudge
from blazar.adapters.http.lane.relay import Limits, Relay
from blazar.adapters.http.lane.watch import ENFORCE_HEADER, Watch, spent, switch
from blazar.adapters.http.record import RequestRecord
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
        job.watch = Watch(job.schema, job.constraint, enforces=enforces, reads=job.talk is not None)


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


def note_observed(record: RequestRecord, job: Job, relay: Relay, now: float) -> None:
    """What was observed belongs into the request's story; a stream is looked at as a whole when it has ended."""
    if job.watch is not None:
        job.watch.close(now, relay.seen, job.asks)
        job.watch.note(record)
