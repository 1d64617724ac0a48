"""One request's story, from what is remembered."""

import json
from typing import Any

import pytest

from blazar.application.ops.tell_why import TellWhy
from blazar.application.ports.recollection import Happenings, Kept, Requests
from blazar.application.ports.telemetry import Served, Told
from blazar.domain.errors import NotFound
from blazar.domain.scrub import scrub
from tests.fakes.telemetry import a_served

ENDED = 1_800_000_100.0
BORN = {"engine": "b1", "lane": "llamacpp", "why": "home of the format", "planned": 2**30, "ctx": 4096, "slots": 2}


class Remembered(Requests, Happenings):
    """Lists; times of events are relative to the requests' end."""

    def __init__(self, *served: Served, events: list[tuple[float, str, dict[str, Any]]] | None = None) -> None:
        self.kept = [Kept(ENDED - number, one) for number, one in enumerate(served)]
        self.told = [Told(0, ENDED + at, kind, facts) for at, kind, facts in events or []]

    def newest_first(self) -> list[Kept]:
        return self.kept

    def between(self, since: float, until: float) -> list[Told]:
        return [told for told in self.told if since <= told.at <= until]

    def last(self, model: str, before: float) -> list[Told]:
        newest = {told.kind: told for told in self.told if told.facts.get("model") == model and told.at <= before}
        return sorted(newest.values(), key=lambda told: told.at)


def tell(*served: Served, events: Any = None, scrubs: bool = False, **asked: Any) -> list[dict[str, Any]]:
    remembered = Remembered(*served, events=events)
    return TellWhy(remembered, remembered, lambda: scrub if scrubs else str)(**asked)["requests"]


def answered(**changes: Any) -> Served:
    return a_served(instance="tiny", engine="b1", work="interactive", child_status=200, **changes)


def test_a_warm_request():
    """Who served it since when and why, how large that was planned, and how long everything took."""
    (story,) = tell(answered(cached_tokens=4), events=[(-9000, "serving", {"model": "tiny", **BORN})])
    assert story["lane"] == {
        "instance": "tiny", "engine": "b1", "kind": "llamacpp", "why": "home of the format",
        "serving_since": "2027-01-15T05:31:40.000000Z",
    }  # fmt: skip
    assert story["fit"] == {"planned": 2**30, "ctx": 4096, "slots": 2}
    assert story["timings"] == {
        "load": None, "queue": 0.01, "first_byte": 0.05, "total": 0.25, "per_token": pytest.approx(0.2 / 33, abs=1e-5),
    }  # fmt: skip
    assert story["tokens"] == {"prompt": 12, "cached": 4, "completion": 34}
    assert (story["refusal"], story["child_status"], story["status"]) == (None, 200, 200)
    assert "b1 served it, because home of the format" in story["story"]


def test_a_cold_request_says_why_the_model_was_not_there():
    """The last unloading before it, its own load, and who had to go for it."""
    events = [
        (-500, "serving", {"model": "tiny", **BORN}),
        (-300, "evicted", {"model": "tiny", "cause": "idle"}),
        (-4.9, "loading", {"model": "tiny"}),
        (-4.8, "evicted", {"model": "big", "cause": "capacity"}),
        (-4.7, "evicted", {"model": "elsewhere", "cause": "asked"}),
        (-1.0, "serving", {"model": "tiny", **BORN, "engine": "b1"}),
        (+60, "evicted", {"model": "tiny", "cause": "idle"}),
    ]
    (story,) = tell(answered(seconds=5.0, load_seconds=3.9), events=events)
    said = story["story"]
    assert said[0] == "'tiny' had been unloaded 4 min 55 s before (idle)"
    assert said[1] == "to make room for it 'big' had to go"
    assert said[2].startswith("'tiny' was not loaded: loading it took 3.9 s")
    kinds = [(event["kind"], event["model"]) for event in story["events"]]
    assert kinds == [("loading", "tiny"), ("evicted", "big"), ("serving", "tiny")]
    assert story["lane"]["serving_since"] == "2027-01-15T08:01:39.000000Z"


def test_a_refused_request_has_its_sentence():
    """Also one that no child ever saw: then nobody served it, whoever did so before."""
    refused = a_served(status=503, refusal="no slot in time", model="tiny:latest", completion_tokens=0, prompt_tokens=0)
    (story,) = tell(refused, events=[(-900, "serving", {"model": "tiny", **BORN})])
    assert story["refusal"] == "no slot in time"
    assert (story["lane"], story["fit"]) == (None, None)
    assert "it was answered with 503: no slot in time" in story["story"]


def test_a_failed_load_keeps_the_engines_last_words_and_a_failed_answer_does_not():
    """While it loads an engine has seen no prompt; while it answers its log may quote one."""
    loading = [(-0.2, "loading", {"model": "tiny"}), (-0.1, "failed", {"model": "tiny", "why": "out of memory"})]
    (story,) = tell(a_served(status=502, refusal="x"), events=loading)
    assert story["events"][-1]["why"] == "out of memory"
    serving = [(-90, "serving", {"model": "tiny", **BORN}), (-0.1, "failed", {"model": "tiny", "why": "secret prompt"})]
    (story,) = tell(answered(status=502, refusal="x"), events=serving)
    assert "secret prompt" not in json.dumps(story)
    assert story["events"][-1]["kind"] == "failed"


def test_what_happens_to_a_model_between_two_requests_is_nobodys_story():
    """Neither the loads before it nor the unloading after it; only the death by which it failed comes late."""
    late = [
        (-900, "serving", {"model": "tiny", **BORN}),
        (0.5, "evicted", {"model": "tiny"}),
        (1.0, "failed", {"model": "tiny"}),
    ]
    kinds = [
        [event["kind"] for event in tell(row, events=late)[0]["events"]] for row in (answered(), answered(status=502))
    ]
    assert kinds == [[], ["failed"]]


def test_by_key_and_by_end():
    """A status, a kind of status, or how it ended; a key of which everybody who may hears."""
    rows = [answered(trace="a"), answered(trace="b", left=True), a_served(trace="c", status=503, key="bob")]

    def traces(**only: str) -> list[str]:
        return [row["trace"] for row in tell(*rows, **only)]

    assert [traces(status=one) for one in ("200", "5xx", "left", "answered")] == [["a", "b"], ["c"], ["b"], ["a"]]
    assert [traces(named="bob"), traces(named="bob", status="200")] == [["c"], []]


def test_by_trace_by_model_and_few():
    """However a model is spelled; a trace that nobody remembers is a sentence."""
    rows = [answered(trace=f"plm-1-{number}", model=name) for number, name in enumerate(["tiny", "Tiny:latest", "big"])]
    rows[2] = rows[2]._replace(instance="big")
    assert [row["trace"] for row in tell(*rows, model="tiny")] == ["plm-1-0", "plm-1-1"]
    assert [row["trace"] for row in tell(*rows, limit=1)] == ["plm-1-0"]
    assert [row["model"] for row in tell(*rows, trace="plm-1-2")] == ["big"]
    with pytest.raises(NotFound, match="no request 'plm-9-9' is remembered"):
        tell(*rows, trace="plm-9-9")


def test_the_list_leaves_out_what_only_watches():
    """A listing that went well is nobody's question; by its trace it is found all the same."""
    polls = a_served(trace="poll", model="", path="/api/ps")
    refused = a_served(trace="denied", model="", status=401)
    assert [row["trace"] for row in tell(polls, refused)] == ["denied"]
    assert [row["trace"] for row in tell(polls, trace="poll")] == ["poll"]


def test_a_scoped_key_hears_of_its_own_requests_only():
    """Others' traces are unknown to it, and of other models it learns how many had to go, and no name."""
    events = [(-0.2, "loading", {"model": "tiny"}), (-0.1, "evicted", {"model": "hidden", "cause": "capacity"})]
    mine, other = answered(key="mine", load_seconds=0.1), answered(key="other", trace="plm-2-2")
    (story,) = tell(mine, other, events=events, key="mine")
    assert "hidden" not in json.dumps(story)
    assert "to make room for it another model had to go" in story["story"]
    with pytest.raises(NotFound):
        tell(mine, other, key="mine", trace="plm-2-2")
    (story,) = tell(mine, events=events)
    assert "hidden" in json.dumps(story)


def test_addresses_and_secrets_are_taken_out():
    """Everywhere but in the trace, and only where that is configured."""
    row = answered(
        refusal="ask joe@mail.example", path="/10.1.2.3", notes=[(0.1, "odd", {"who": ["plm_0123456789abcdef"]})]
    )
    told = json.dumps(tell(row, scrubs=True))
    assert not any(text in told for text in ("joe@", "10.1.2.3", "plm_0123"))
    assert all(text in json.dumps(tell(row)) for text in ("joe@", "10.1.2.3", "plm_0123"))


def test_notes_say_when_they_were():
    """Seconds after the request came."""
    (story,) = tell(answered(notes=[(0.1234, "retried", {"status": 503})]))
    assert story["notes"] == [{"after": 0.123, "what": "retried", "status": 503}]
