"""A request's story in sentences, in the order in which it happened. Composes what it is given; looks nothing up."""

from collections.abc import Iterator, Sequence

from blazar.application.ports.recollection import Kept
from blazar.application.ports.telemetry import BROKEN, CLIENT_LEFT, Served, Told
from blazar.domain import teaching

_NOTICED = 0.01
"""Seconds below which nobody waited."""


def story_of(
    kept: Kept, own: Sequence[Told], before: Sequence[Told], gone: Sequence[str] | int, born: Told | None
) -> list[str]:
    """`own`: what was told of its model in its time; `before`: the last of each kind before that; `gone`: who had to go for it."""
    served = kept.served
    loaded = served.load_seconds > 0 or any(told.kind == "loading" for told in own)
    sentences = [*(_load(kept, own, before, gone) if loaded else ()), *_queue(served)]
    if served.placed:
        why = str(born.facts.get("why") or "") if born is not None else ""
        sentences.append(teaching.why_lane(served.engine, why))
    if born is not None and born.facts.get("planned"):
        facts = born.facts
        sentences.append(teaching.why_planned(_gib(facts["planned"]), int(facts["ctx"]), int(facts["slots"])))
    return [*sentences, *_end(served)]


def _load(kept: Kept, own: Sequence[Told], before: Sequence[Told], gone: Sequence[str] | int) -> Iterator[str]:
    served = kept.served
    model = served.instance or next((str(told.facts["model"]) for told in own), served.model)
    ends = [told for told in before if told.kind in ("evicted", "failed")]
    if not ends:
        yield teaching.why_first_load(model)
    elif ends[-1].kind == "evicted":
        yield teaching.why_unloaded_before(model, seconds(kept.at - ends[-1].at), str(ends[-1].facts.get("cause", "")))
    else:
        yield teaching.why_failed_before(model, seconds(kept.at - ends[-1].at))
    if isinstance(gone, int) and gone:
        yield teaching.why_made_room_for_it(gone)
    elif gone and not isinstance(gone, int):
        yield teaching.why_made_room(gone)
    if served.load_seconds > 0:
        yield teaching.why_loaded(model, seconds(served.load_seconds))


def _queue(served: Served) -> Iterator[str]:
    joined = next((facts for _, code, facts in served.notes if code == "joined"), None)
    waited = seconds(served.queue_seconds)
    if joined is not None:
        yield teaching.why_joined(str(joined.get("trace")), waited)
    elif served.queue_seconds >= _NOTICED:
        say = teaching.why_waited if served.placed else teaching.why_waited_in_vain
        yield say(waited, served.queue_depth)
        yield teaching.why_ranked(served.priority, served.work or "interactive")
        if not served.placed and served.wait_bound:
            yield teaching.why_bounded(seconds(served.wait_bound))
    elif served.placed:
        yield teaching.why_no_wait()


def _end(served: Served) -> Iterator[str]:
    yield from _answer(served)
    first = seconds(served.first_byte_seconds) if served.first_byte_seconds else ""
    yield teaching.why_timed(first, seconds(served.seconds))
    if served.prompt_tokens or served.completion_tokens:
        yield teaching.why_tokens(
            served.prompt_tokens, served.cached_tokens, served.completion_tokens, speed_of(served)
        )


def _answer(served: Served) -> Iterator[str]:
    if served.child_status:
        yield teaching.why_served_by_engine_status(served.child_status)
    if served.status == CLIENT_LEFT:
        yield teaching.why_left()
    elif served.status >= 400:
        yield teaching.why_refused(served.status, served.refusal)
    else:
        yield teaching.why_answered(served.status)
        noted = {code for _, code, _ in served.notes}
        if served.refusal or BROKEN in noted:
            yield teaching.why_broke()
        elif served.left:
            yield teaching.why_left_midway()
    if served.accepted:
        yield teaching.why_in_background()
    if any(code == "raw_lane" for _, code, _ in served.notes):
        yield teaching.why_raw_lane()
    if any(code == "cache" and facts.get("outcome") == "hit" for _, code, facts in served.notes):
        yield teaching.why_remembered()
    for observed in dict.fromkeys(str(facts.get("detail")) for _, code, facts in served.notes if code == "sentinel"):
        yield teaching.why_observed(observed)


def speed_of(served: Served) -> str:
    """Tokens a second of a streamed answer; empty where that cannot be told."""
    spent = served.seconds - served.first_byte_seconds
    if not served.stream or not served.first_byte_seconds or served.completion_tokens < 2 or spent <= 0:
        return ""
    speed = (served.completion_tokens - 1) / spent
    return f"{speed:.0f}" if speed >= 100 else f"{speed:.3g}"


def seconds(count: float) -> str:
    """`350 ms`, `1.25 s`, `4 min 30 s`, `2 h 5 min`."""
    if count < 1:
        return f"{max(0.0, count) * 1000:.3g} ms"
    if count < 60:
        return f"{count:.3g} s"
    whole = round(count)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _gib(count: int) -> str:
    return f"{count / 2**30:.2f} GiB"
