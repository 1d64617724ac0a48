"""The sentences of a story, in their order."""

import pytest

from blazar.application.ops.why_words import seconds, speed_of, story_of
from blazar.application.ports.recollection import Kept
from blazar.application.ports.telemetry import Told
from blazar.domain import teaching
from tests.fakes.telemetry import a_served


def said(*gone: str, own=(), before=(), born=None, count: int | None = None, **changes) -> list[str]:
    return story_of(Kept(100.0, a_served(**changes)), own, before, gone if count is None else count, born)


def test_waiting_is_told_with_who_else_waited():
    """And in which class; a moment is no waiting."""
    told = said(instance="tiny", engine="b1", queue_seconds=2.0, queue_depth=3, priority="high", work="tool")
    assert told[0] == "it waited 2 s for a slot; when it came, 3 others waited already"
    assert told[1] == "it stood in line as tool work of high priority"
    assert said(instance="tiny", engine="b1", queue_seconds=0.001)[0] == "a slot was free at once"


@pytest.mark.parametrize(
    ("before", "first"),
    [
        ([], "'tiny' had not been loaded before, as far as is remembered"),
        ([Told(0, 90.0, "evicted", {"cause": "idle"})], "'tiny' had been unloaded 9.75 s before (idle)"),
        (
            [Told(0, 80.0, "evicted", {"cause": "idle"}), Told(0, 90.0, "failed", {})],
            "the engine of 'tiny' had ended unasked 9.75 s before",
        ),
    ],
)
def test_a_load_is_told_with_its_cause(before, first):
    """Whatever ended the last child is why there was none."""
    assert said(instance="tiny", engine="b1", load_seconds=0.1, before=before)[0] == first


def test_who_had_to_go():
    """By name, or for a scoped key by number."""
    assert "to make room for it 'a', 'b' had to go" in said("a", "b", instance="tiny", load_seconds=0.1)
    assert "to make room for it 2 other models had to go" in said(count=2, instance="tiny", load_seconds=0.1)
    assert not any("room" in line for line in said(count=0, instance="tiny", load_seconds=0.1))


def test_how_it_ended():
    """Answered, refused, broken in the middle, or nobody was there any more."""
    assert "it was answered with 200" in said()
    assert "it was answered with 400: why" in said(status=400, refusal="why")
    assert "its client left before there was an answer" in said(status=499)
    assert any("left before the answer had ended" in line for line in said(left=True))
    assert "its engine failed while the answer was being streamed" in said(notes=[(0.1, "failed_in_stream", {})])


def test_speed_is_of_streams_alone():
    """A buffered answer is told at once."""
    assert speed_of(a_served()) == "165"
    assert speed_of(a_served(stream=False)) == speed_of(a_served(completion_tokens=1)) == ""


@pytest.mark.parametrize(
    ("count", "text"), [(0.0, "0 ms"), (0.0351, "35.1 ms"), (1.25, "1.25 s"), (270, "4 min 30 s"), (7500, "2 h 5 min")]
)
def test_durations(count, text):
    """Two units at most."""
    assert seconds(count) == text


def test_what_was_observed_of_the_answer() -> None:
    """Each once, whether it was refused for that or not."""
    notes = [(0.1, "sentinel", {"code": "c", "detail": "it is odd"})] * 2
    assert said(notes=notes).count("what was observed of it: it is odd") == 1
    assert "what was observed of it: it is odd" in said(notes=notes, status=422)


def test_an_answer_from_memory_is_told_as_one() -> None:
    """And one that was looked for in vain is not."""
    assert teaching.why_remembered() in said(notes=[(0.1, "cache", {"outcome": "hit"})])
    assert teaching.why_remembered() not in said(notes=[(0.1, "cache", {"outcome": "miss"})])


def test_waiting_in_vain_is_told_with_its_bound():
    """How long, behind whom, as what, and how long it might have been."""
    told = said(
        placed=False, status=503, queue_seconds=2.01, queue_depth=3, priority="high", wait_bound=2.0, refusal="x"
    )
    assert told[:3] == [
        "it waited 2.01 s in line in vain, behind 3 others",
        "it stood in line as interactive work of high priority",
        "it might wait 2 s at most",
    ]
    assert not any("slot was free" in line for line in told)


def test_who_joined_is_told_whose_answer_it_got():
    """It had no slot of its own."""
    told = said(placed=False, instance="tiny", queue_seconds=0.5, notes=[(0.5, "joined", {"trace": "plm-1-673"})])
    assert told[0] == "it asked the same as plm-1-673, joined that and waited 500 ms for its answer"
    assert not any("slot" in line for line in told)


def test_an_acceptance_is_not_the_work():
    """The work has a story of its own."""
    assert any("background" in line for line in said(accepted=True, placed=False, queue_seconds=0.0))


def test_the_raw_lane_is_told():
    """Calls that were read from text are not those of a template."""
    assert any("handed over in words" in line for line in said(notes=[(0.1, "raw_lane", {})]))


@pytest.mark.parametrize(("tokens", "speed"), [(3, "10"), (101, "500"), (3701, "18500")])
def test_a_speed_is_a_plain_number(tokens, speed):
    """Nobody reads 1.85e+04."""
    assert speed_of(a_served(seconds=0.25, first_byte_seconds=0.05, completion_tokens=tokens)) == speed
