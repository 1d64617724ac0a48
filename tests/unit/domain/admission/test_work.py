"""What a request is to the queue."""

import pytest

from blazar.domain.admission.work import (
    LONGEST_WAIT,
    PREFILL_HEAVY_BYTES,
    SLO,
    TOOL_SLO,
    Facts,
    Priority,
    Work,
    WorkClass,
    classify,
    priority_of,
)

HIGH, NORMAL, LOW = Priority
TOOL, INTERACTIVE, RAW = WorkClass
HEAVY = PREFILL_HEAVY_BYTES + 1


def test_the_figures_of_the_documents():
    """Tiers of 2, 30 and 120 seconds, 10 for tools, 64 KiB of prompt (setup document, D17)."""
    assert SLO == {HIGH: 2.0, NORMAL: 30.0, LOW: 120.0}
    assert (TOOL_SLO, PREFILL_HEAVY_BYTES) == (10.0, 65536)


def test_the_order_of_the_names():
    """High before normal before low; tools before everybody, raw generations behind (D16)."""
    assert sorted([LOW, NORMAL, HIGH]) == [HIGH, NORMAL, LOW]
    assert sorted([RAW, INTERACTIVE, TOOL]) == [TOOL, INTERACTIVE, RAW]


@pytest.mark.parametrize(
    ("named", "priority"),
    [
        ("high", HIGH),
        ("HIGH", HIGH),
        ("Low", LOW),
        ("normal", NORMAL),
        ("", NORMAL),
        ("urgent", NORMAL),
        ("highest", NORMAL),
        (" high", NORMAL),
        ("\u212a", NORMAL),
    ],
)
def test_a_priority_is_named_in_any_case(named, priority):
    """Whatever is neither high nor low is an ordinary request, never an error."""
    assert priority_of(named) is priority


@pytest.mark.parametrize(
    ("facts", "priority", "kind", "wait"),
    [
        (Facts(), NORMAL, INTERACTIVE, 30.0),
        (Facts("high"), HIGH, INTERACTIVE, 2.0),
        (Facts("low"), LOW, INTERACTIVE, 120.0),
        (Facts(tools=True), NORMAL, TOOL, 10.0),
        (Facts("high", tools=True), HIGH, TOOL, 2.0),
        (Facts("low", tools=True), LOW, TOOL, 10.0),
        (Facts(raw=True), NORMAL, RAW, 30.0),
        (Facts("low", raw=True), LOW, RAW, 120.0),
        (Facts(raw=True, tools=True), NORMAL, RAW, 30.0),
        (Facts(size=PREFILL_HEAVY_BYTES), NORMAL, INTERACTIVE, 30.0),
        (Facts(size=HEAVY), LOW, INTERACTIVE, 120.0),
        (Facts("high", size=HEAVY), NORMAL, INTERACTIVE, 30.0),
        (Facts("low", size=HEAVY), LOW, INTERACTIVE, 120.0),
        (Facts(size=HEAVY, tools=True), LOW, TOOL, 10.0),
        (Facts(deadline=0.25), NORMAL, INTERACTIVE, 0.25),
        (Facts("high", deadline=50.0), HIGH, INTERACTIVE, 50.0),
        (Facts(deadline=45.0, tools=True), NORMAL, TOOL, 45.0),
        (Facts(deadline=0.0), NORMAL, INTERACTIVE, 0.0),
        (Facts(deadline=1e12), NORMAL, INTERACTIVE, LONGEST_WAIT),
    ],
)
def test_the_place_and_the_bound_of_a_request(facts, priority, kind, wait):
    """The caller's deadline, else the SLO of the tier it ends up in, tools no longer than theirs (D17)."""
    firm = facts.deadline is not None  # its caller's own word
    assert classify(facts) == Work(priority, kind, wait, firm=firm)


def test_the_key_and_its_weight_come_along():
    """They decide between requests of one level."""
    assert classify(Facts(key="a", weight=2.5)) == Work(key="a", weight=2.5)


def test_raw_work_is_told_apart():
    """It alone has a ceiling."""
    assert [Work(kind=kind).raw for kind in WorkClass] == [False, False, True]


def test_odd_pictures_count_like_text():
    """A body is measured as it came, whatever is in it."""
    assert classify(Facts(size=HEAVY)).priority is LOW
