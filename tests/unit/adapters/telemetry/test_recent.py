"""The rings of requests: what stays, in which order, and within which bounds."""

from blazar.adapters.telemetry.recent import LONGEST, MOST_NOTES, RecentRequests
from blazar.domain.names import LONGEST_NAME
from tests.fakes.clock import EPOCH, FakeClock
from tests.fakes.telemetry import a_served


def test_the_newest_come_first():
    """With the moment at which they came."""
    recent = RecentRequests(FakeClock())
    recent.on_served(a_served(trace="one"))
    recent.on_served(a_served(trace="two", model="", status=401))
    first, *_ = kept = recent.newest_first()
    assert {one.served.trace for one in kept} == {"one", "two"}
    assert (first.ended, first.at) == (EPOCH, EPOCH - 0.25)


def test_what_is_told_late_keeps_its_own_time():
    """What belongs to a request is found by it."""
    recent = RecentRequests(FakeClock())
    recent.on_served(a_served(ended=EPOCH - 5))
    (kept,) = recent.newest_first()
    assert (kept.ended, kept.at) == (EPOCH - 5, EPOCH - 5.25)


def test_what_is_told_late_is_told_before_it_is_looked_up():
    """Whoever puts it off is asked for it first."""
    recent = RecentRequests(FakeClock())
    recent.on_read = lambda: recent.on_served(a_served(trace="late"))
    assert [kept.served.trace for kept in recent.newest_first()] == ["late"]


def test_polling_pushes_no_story_out():
    """What was about no model has a ring of its own, a smaller one."""
    recent = RecentRequests(FakeClock(), about_models=3, others=2)
    for number in range(5):
        recent.on_served(a_served(trace=f"chat-{number}"))
    for number in range(50):
        recent.on_served(a_served(trace=f"poll-{number}", model="", path="/api/ps"))
    traces = {kept.served.trace for kept in recent.newest_first()}
    assert traces == {"chat-2", "chat-3", "chat-4", "poll-48", "poll-49"}


def test_what_a_caller_chooses_is_cut():
    """Paths, names, warnings and notes are bounded; what is ordinary is kept as it came."""
    recent = RecentRequests(FakeClock())
    plain = a_served()
    recent.on_served(plain)
    assert recent.newest_first()[0].served is plain
    notes = [(0.1, "odd", {"text": "x" * 10_000, "count": 3})] * 100
    recent = RecentRequests(FakeClock())
    recent.on_served(a_served(path="/" * 10_000, model="m" * 10_000, warnings=["w" * 9000] * 99, notes=notes))
    (kept,) = recent.newest_first()
    served = kept.served
    assert (len(served.path), len(served.model)) == (LONGEST, LONGEST_NAME)
    assert [len(warning) for warning in served.warnings] == [LONGEST] * MOST_NOTES
    assert len(served.notes) == MOST_NOTES
    assert served.notes[0] == (0.1, "odd", {"text": "x" * LONGEST, "count": 3})
