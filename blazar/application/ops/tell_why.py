"""One request's story: why it waited, why a model was loaded for it, who served it, why it was refused. From what is remembered; asks nobody.

Never a word of what was asked or answered: only names, figures and our own sentences. A scoped key hears of its own requests, and
of other models only how many had to go.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from blazar.application.ops.why_words import story_of
from blazar.application.ports.recollection import Happenings, Kept, Requests
from blazar.application.ports.telemetry import Served, Told
from blazar.domain import teaching
from blazar.domain.errors import NotFound
from blazar.domain.names import resolve
from blazar.domain.wire.stamps import rfc3339

AFTERWARDS: Final = 2.0
"""Seconds after its end in which what happens still belongs to it: a child's death is noticed after the connection broke."""
NEWEST: Final = 20
MOST: Final = 200
_ROOM: Final = frozenset({"capacity"})
"""Causes of evictions that made room for somebody else."""
_ENDS: Final = frozenset({"loading", "evicted", "failed"})
"""After these a child does not answer."""


@dataclass(frozen=True, slots=True)
class TellWhy:
    """`scrub()` is what takes mail addresses, secrets and addresses out of a text, as it is configured now."""

    requests: Requests
    happenings: Happenings
    scrub: Callable[[], Callable[[str], str]]

    def __call__(
        self, trace: str = "", model: str = "", limit: int = NEWEST, key: str | None = None, **only: str
    ) -> dict[str, list[dict[str, Any]]]:
        """The stories, newest first. `key`: only requests that came with it. Raises `NotFound` for a trace that nobody remembers.

        `only`: `status` as a number, as `4xx` or as how it ended, and `named`, the key of which an unscoped caller wants to hear.
        Without a trace only what was about a model or was refused: whoever watches asks every second, and always well.
        """
        meant = (
            kept
            for kept in self.requests.newest_first()
            if (kept.served.trace == trace if trace else kept.served.model or kept.served.status >= 400)
            and (not model or _is(model, kept.served.instance) or _is(model, kept.served.model))
            and (key is None or kept.served.key == key)
            and _wanted(kept.served, **only)
        )
        found = [kept for kept, _ in zip(meant, range(limit), strict=False)]
        if trace and not found:
            raise NotFound(teaching.why_trace_unknown(trace))
        scrub = self.scrub()
        return {"requests": [_scrubbed(self._story(kept, scoped=key is not None), scrub) for kept in found]}

    def _during(self, kept: Kept) -> list[Told]:
        found = self.happenings.between(kept.at, kept.ended + AFTERWARDS)
        return [told for told in found if told.at <= kept.ended or _belongs(told, kept.served)]

    def _story(self, kept: Kept, *, scoped: bool) -> dict[str, Any]:
        served = kept.served
        name = served.instance or served.model
        during = self._during(kept) if name else []
        own = [told for told in during if _is(name, str(told.facts.get("model", "")))]
        key = served.instance or next((str(told.facts["model"]) for told in own), name)
        before = self.happenings.last(key, kept.at) if name else ()
        gone = [told for told in during if _made_room(told) and told not in own] if _loads(kept, own) else []
        born = next((told for told in reversed([*before, *own]) if told.kind == "serving"), None)
        if not served.placed:
            born = None  # it got to no child: which one served before is not its story
        facts = {
            "trace": served.trace,
            "at": rfc3339(kept.at),
            "method": served.method,
            "path": served.path,
            "dialect": served.dialect,
            "model": served.model,
            "key": served.key,
            "stream": served.stream,
            "status": served.status,
            "outcome": served.outcome,
            "refusal": served.refusal or None,
            "priority": served.priority,
            "work": served.work or None,
            "queue_depth": served.queue_depth,
            "lane": _lane(kept, born),
            "fit": _fit(born),
            "child_status": served.child_status or None,
            "timings": _timings(kept),
            "tokens": {
                "prompt": served.prompt_tokens,
                "cached": served.cached_tokens,
                "completion": served.completion_tokens,
            },
            "warnings": list(served.warnings),
            "notes": [{"after": round(at, 3), "what": code, **facts} for at, code, facts in served.notes],
            "events": _events(own, before, gone if not scoped else []),
        }
        return facts | {"story": story_of(kept, own, before, _gone(gone, scoped=scoped), born)}


def _belongs(told: Told, served: Served) -> bool:
    """What happened after its end is another one's story, but the death of the engine that it failed by."""
    return told.kind == "failed" and served.outcome in ("refused", "broken")


def _is(asked: str, known: str) -> bool:
    return bool(known) and (asked == known or resolve(asked, (known,)) == known)


def _wanted(served: Served, named: str = "", status: str = "") -> bool:
    if named and served.key != named:
        return False
    return status in ("", str(served.status), f"{served.status // 100}xx", served.outcome)


def _loads(kept: Kept, own: Sequence[Told]) -> bool:
    return kept.served.load_seconds > 0 or any(told.kind == "loading" for told in own)


def _made_room(told: Told) -> bool:
    return told.kind == "evicted" and told.facts.get("cause") in _ROOM


def _gone(gone: Sequence[Told], *, scoped: bool) -> Sequence[str] | int:
    names = dict.fromkeys(str(told.facts.get("model", "")) for told in gone)
    return len(names) if scoped else tuple(names)


def _lane(kept: Kept, born: Told | None) -> dict[str, Any] | None:
    served = kept.served
    if not served.instance:
        return None
    facts = born.facts if born is not None else {}
    return {
        "instance": served.instance,
        "engine": served.engine,
        "kind": facts.get("lane"),
        "why": facts.get("why") or None,
        "serving_since": rfc3339(born.at) if born is not None else None,
    }


def _fit(born: Told | None) -> dict[str, Any] | None:
    if born is None:
        return None
    return {name: born.facts.get(name) or None for name in ("planned", "ctx", "slots")}


def _timings(kept: Kept) -> dict[str, float | None]:
    """Seconds; None for what did not happen."""
    served = kept.served
    first, count = served.first_byte_seconds, served.completion_tokens
    # A buffered answer is told at once: its first byte says nothing about how long a token took.
    per_token = (served.seconds - first) / (count - 1) if served.stream and first and count > 1 else None
    return {
        "load": round(served.load_seconds, 4) or None,
        "queue": round(served.queue_seconds, 4),
        "first_byte": round(first, 4) or None,
        "total": round(served.seconds, 4),
        "per_token": None if per_token is None else round(per_token, 5),
    }


def _events(own: Sequence[Told], before: Sequence[Told], gone: Sequence[Told]) -> list[dict[str, Any]]:
    """Those of its time; the last ones before it say only what its model was doing then."""
    rows, answering = [], False
    for told in sorted([*(one for one in before if one not in own), *own, *gone], key=lambda told: told.at):
        facts = dict(told.facts)
        if told.kind == "failed" and answering:
            facts.pop("why", None)  # what an engine said last while it answered may quote what it was asked
        answering = told.kind == "serving" or (answering and told.kind not in _ENDS)
        if told in own or told in gone:
            rows.append({"at": rfc3339(told.at), "kind": told.kind, **facts})
    return rows


def _scrubbed(value: Any, scrub: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, Mapping):
        return {name: item if name == "trace" else _scrubbed(item, scrub) for name, item in value.items()}
    return [_scrubbed(item, scrub) for item in value] if isinstance(value, list | tuple) else value
