"""POST /api/pull: a body into a wish, and the steps of the pull into ollama's lines. Pulls nothing itself.

What goes wrong before anything was found is a status; behind that the answer has begun, and an error is its last line.
"""

import json
from collections.abc import AsyncIterator, Callable
from typing import Any, Final, Protocol

from quart import Response

from blazar.adapters.http.bodies import read, reply
from blazar.adapters.http.lane.headers import warning_headers
from blazar.adapters.http.mount import Handler
from blazar.adapters.http.schema.ollama import PullBody
from blazar.application.models.pulling import DONE, MANIFEST, Pulled, Step, Wish
from blazar.domain import teaching
from blazar.domain.errors import BlazarError, ChoiceOpen, Malformed
from blazar.domain.harmless import public
from blazar.domain.references import OLLAMA, candidates, client_name, pull_reference
from blazar.domain.wire.pull import PullLines, succeeded
from blazar.domain.wire.request import ignored

HELD_SECS: Final = 5.0
"""The head waits for the second step, which is the registry's answer: until then an error can be a status."""
KEEP_ALIVE_SECS: Final = 15.0
"""Of silence, after which the last line is said again: proxies give up after 30 to 60 s."""
AUTO: Final = "auto"


class Watching(Protocol):
    """Pulls.join's."""

    @property
    def pulled(self) -> Pulled | None: ...

    async def next(self, seconds: float = ...) -> Step | None: ...

    def close(self) -> None: ...


Join = Callable[[Wish], Watching]


def pull_handler(join: Join, hub: str) -> Handler:
    """The one route. `hub` is what is asked for repositories."""

    async def pull() -> Response:
        body = await read(PullBody)
        watching = join(wish_of(body))
        answer = await (_streamed(watching, _elsewhere(body.hub, hub)) if body.stream else _whole(watching))
        for name, value in warning_headers(_vain(body)):
            answer.headers.add(name.decode(), value.decode("latin-1"))
        return answer

    return pull


def wish_of(body: PullBody) -> Wish:
    """Raises `Malformed`."""
    parts = body.with_ or {}
    if not all(isinstance(reference, str) and reference for reference in parts.values()):
        raise Malformed(teaching.field_must("with", "parts"), "with")
    draft = AUTO if body.draft is True else body.draft or ""
    if not isinstance(draft, str):
        raise Malformed(teaching.field_must("draft", "draft"), "draft")
    name = called(body.model) if body.as_ is None else body.as_
    return Wish(body.model, name, tuple(sorted(parts.items())), draft)


def called(text: str) -> str:
    """What its client will ask for; "" where the catalog calls it so anyway, and where `text` can be no name."""
    try:
        tries = candidates(pull_reference(text))
    except Malformed:  # another registry's, or nothing: the pull says so
        return client_name(text)
    return "" if len(tries) == 1 and tries[0].registry == OLLAMA else client_name(text)


def _elsewhere(named: str | None, asked: str) -> str:
    """A note where its caller would have asked another hub."""
    if not named or named.rstrip("/").lower() == asked.rstrip("/").lower():
        return ""
    return teaching.pull_other_hub(public(asked), public(named))


def _vain(body: PullBody) -> list[str]:
    """Nothing is fetched without TLS but from this machine, whoever asks."""
    vain = [ignored("insecure")] if body.insecure else []
    return vain + [ignored(name) for name, value in (body.model_extra or {}).items() if value not in (None, "", [], {})]


async def _whole(watching: Watching) -> Response:
    """The last line alone."""
    try:
        while (step := await watching.next()) is None or step.status != DONE:
            pass
    finally:
        watching.close()
    return reply(_last(watching))


async def _streamed(watching: Watching, note: str) -> Response:
    """Raises what went wrong before the second step."""
    written = _written(watching, note)
    # The generator has begun when it is handed on: one that is dropped before its first turn would leave nobody's place.
    head = await anext(written)
    response = Response(_behind(head, written), content_type="application/x-ndjson")
    response.headers["cache-control"] = "no-store"
    response.headers["x-accel-buffering"] = "no"  # nginx would gather lines until its buffer is full
    response.timeout = None
    return response


async def _behind(head: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield head
    async for line in rest:
        yield line


async def _written(watching: Watching, note: str) -> AsyncIterator[bytes]:
    lines, last = PullLines(), b""

    def written(step: Step) -> bytes:
        return _line(_last(watching) if step.status == DONE else lines.line(step))

    if note:
        last = written(Step(MANIFEST, note=note))
    try:
        for seconds in (HELD_SECS, HELD_SECS):
            step = await watching.next(seconds)
            if step is None:
                break
            last += written(step)
            if step.status == DONE:
                break
        yield last
        done = step is not None and step.status == DONE
        while not done:
            try:
                step = await watching.next(KEEP_ALIVE_SECS)
            except BlazarError as error:
                yield _line({"error": str(error), **(error.facts if isinstance(error, ChoiceOpen) else {})})
                return
            if step is not None:
                last, done = written(step), step.status == DONE
            yield last
    finally:
        watching.close()


def _last(watching: Watching) -> dict[str, Any]:
    pulled = watching.pulled
    assert pulled is not None, "success was told before it was there"
    name = "" if pulled.model is None else pulled.model.name
    return succeeded(name, fresh=pulled.fresh, path=pulled.path, notes=pulled.notes, unserved=pulled.unserved)


def _line(said: dict[str, Any]) -> bytes:
    return json.dumps(said, separators=(",", ":")).encode() + b"\n"
