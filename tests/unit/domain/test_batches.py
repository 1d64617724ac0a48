"""The rules of batches."""

import pytest

from blazar.domain.batches import (
    ACTIVE,
    CANCELLABLE,
    LONGEST_PAUSE,
    MOST_TRIES,
    NEXT,
    Answered,
    Fate,
    Line,
    Spent,
    State,
    Tally,
    custom_id_in,
    pause_before_next,
)
from blazar.domain.wire.anthropic_batches import unanswered_result
from blazar.domain.wire.openai_batches import answered_line
from tests.support.batching import a_batch


def test_every_state_leads_to_an_end() -> None:
    """No batch can stay under way for ever, and none comes back from its end."""
    assert set(NEXT) == set(State)
    for state in State:
        seen = {state}
        while more := {following for known in seen for following in NEXT[known]} - seen:
            seen |= more
        assert any(not NEXT[reached] for reached in seen)
    assert set(ACTIVE) == {State.VALIDATING, State.IN_PROGRESS, State.FINALIZING, State.CANCELLING}
    assert set(CANCELLABLE) == {State.VALIDATING, State.IN_PROGRESS}


@pytest.mark.parametrize("state", State)
def test_a_batch_is_over_when_nothing_follows(state: State) -> None:
    """The word that both dialects' listings hang on."""
    assert a_batch(state=state).over is (state not in ACTIVE)


def test_a_tally_counts_each_fate_once() -> None:
    """The sum is always the total."""
    tally = Tally(5)
    for fate in Fate:
        tally = tally.plus(fate)
    assert tally == Tally(5, 1, 1, 1, 1)
    assert tally.open == 1


@pytest.mark.parametrize(("status", "fate"), [(200, Fate.SUCCEEDED), (400, Fate.ERRORED), (502, Fate.ERRORED)])
def test_what_an_answer_makes_of_a_request(status: int, fate: Fate) -> None:
    """Nothing but a success is one."""
    assert Answered(status, b"{}", "t").fate is fate


def test_what_was_spent_adds_up() -> None:
    """Count by count."""
    assert Spent(1, 2, 3, 4).plus(Spent(10, 20, 30, 40)) == Spent(11, 22, 33, 44)


@pytest.mark.parametrize("status", [429, 502, 503])
def test_what_passes_is_asked_again_a_few_times(status: int) -> None:
    """Longer each time, as long as the child wants, never beyond a bound, and not for ever."""
    answered = Answered(status, b"{}", "t")
    assert [pause_before_next(answered, tries) for tries in (1, 2)] == [1.0, 2.0]
    assert pause_before_next(answered, MOST_TRIES) is None
    assert pause_before_next(answered._replace(retry_after=7.0), 1) == 7.0
    assert pause_before_next(answered._replace(retry_after=LONGEST_PAUSE), 1) == LONGEST_PAUSE
    long = pause_before_next(answered._replace(retry_after=9000.0), 1)
    assert long == (None if status == 429 else LONGEST_PAUSE)  # a day that is used up: nobody waits for the next


@pytest.mark.parametrize("status", [200, 400, 401, 404, 422, 500, 504])
def test_what_would_be_the_same_again_is_the_last_word(status: int) -> None:
    """A request at fault is not asked twice."""
    assert pause_before_next(Answered(status, b"{}", "t"), 1) is None


@pytest.mark.parametrize(("body", "model"), [({"model": "m"}, "m"), ({}, ""), ({"model": 3}, "")])
def test_the_model_of_a_line(body: dict[str, object], model: str) -> None:
    """As it is spelled; whatever else is there is the lane's to refuse."""
    assert Line("a", body).model == model


def test_whose_result_a_journal_line_is() -> None:
    """Behind the one letter that says what became of it."""
    assert custom_id_in(b's{"id":"1","custom_id":"a b","response":{"custom_id":"c"}}') == "a b"
    hostile = '","custom_id":"x\\\u00e9\ud83d\U0001f600' + "\u00e9" * 480
    assert custom_id_in(b"f" + answered_line("batch_1", 0, Line(hostile, {}), Answered(400, b"{}", "t"))) == hostile
    assert custom_id_in(b"c" + unanswered_result(Line("a-b", {}), Fate.CANCELED)) == "a-b"
