"""Prompts that cannot fit are refused before they take a child's time: close to the window, the child counts them first.

Decides nothing about sizes (`domain/preflight.py`) nor about sentences: a job is told of it as if the child had refused.
"""

from contextlib import suppress
from typing import Final

from blazar.adapters.http.lane import codec
from blazar.adapters.http.lane.job import JSON_BODY, Job
from blazar.application.ports.upstream import ChildCall
from blazar.application.supervise.leasing import Lease
from blazar.domain.errors import Fault
from blazar.domain.preflight import Question, counted, question, refusal, unfit
from blazar.domain.wire.request import COMPLETIONS

WITHIN: Final = 10.0
"""Seconds; a megabyte is rendered and counted in a tenth of one. Whoever does not answer in time is asked the request itself."""
TRIES: Final = 4
"""How often a request that makes itself shorter is counted again; then its child decides."""


async def preflight(job: Job, lease: Lease) -> None:
    """Raises `Malformed` where the prompt is too long. Nothing is computed for it, and a count that fails refuses nobody."""
    job.window_key = lease.ctx_key
    call: ChildCall | None = job.call(lease.called)
    for _ in range(TRIES):
        if call is None or (asked := _asked(call, lease)) is None:
            return
        tokens = await _count(asked, lease)
        if tokens is None or not unfit(tokens, lease.ctx):
            return
        call = job.again(400, refusal(tokens, lease.ctx))


def _asked(call: ChildCall, lease: Lease) -> Question | None:
    path = call.path.decode()
    prompt = codec.decode(call.body).get("prompt") if path == COMPLETIONS else None
    return question(path, call.body, prompt, lease.manners.routes)


async def _count(asked: Question, lease: Lease) -> int | None:
    with suppress(Fault, ValueError):
        answer = await lease.upstream.fetch(ChildCall(b"POST", asked.path.encode(), asked.body, JSON_BODY), WITHIN)
        if answer.status == 200:
            return counted(codec.decode(answer.body), asked.holds)
    return None
