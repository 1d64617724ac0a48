"""What is common to all hot endpoints."""

from blazar.adapters.http.lane.job import JSON_BODY, Occasion, turn_of, unused

OCCASION = Occasion("tiny-row", "plm-1", 1_700_000_000.0, 1.5, lambda: 0.0)


def test_an_answer_wears_the_callers_name() -> None:
    """Not the row's (case A22); the load is told in nanoseconds, as ollama does."""
    turn = turn_of("tiny:latest", OCCASION)
    assert turn.model == "tiny:latest"
    assert 1_500_000_000 in tuple(turn)
    assert turn_of("tiny", OCCASION, thinking=False) != turn_of("tiny", OCCASION)


def test_nothing_of_the_clients_headers_reaches_a_child() -> None:
    """A call carries one header, and it is ours."""
    assert JSON_BODY == ((b"content-type", b"application/json"),)


def test_what_cannot_be_reached_says_what_was_asked() -> None:
    """For whoever reads the traceback."""
    assert unused("stream", OCCASION).args == (("stream", OCCASION),)
