"""A pull whose question says what fits."""

import pytest

from blazar.application.models.judged_pull import JudgedPull
from blazar.application.models.pulling import OnePull, Pulled, Step, Told, Wish
from blazar.domain.errors import BlazarError, Busy, ChoiceOpen, NotFound
from blazar.domain.fit.machine import Machine, imagined

GIB = 2**30


class Ends(OnePull):
    """As it was told to."""

    def __init__(self, why: BlazarError | None = None) -> None:
        self.why = why
        self.stopped: BlazarError | None = None

    def __call__(self, wish: Wish, told: Told) -> Pulled:
        told(Step(wish.reference))
        if self.why is not None:
            raise self.why
        return Pulled(None, fresh=True)

    def stop(self, why: BlazarError) -> None:
        self.stopped = why


def unknown() -> Machine:
    """Nobody can say."""
    raise NotFound("no machine")


def test_a_question_says_what_fits() -> None:
    """By the sizes of what there is."""
    question = ChoiceOpen("a/b", [("Q8_0", 8 * GIB), ("F16", 90 * GIB)])
    with pytest.raises(ChoiceOpen, match=r"Q8_0 \(8\.00 GiB, fits, about\), F16 \(90\.00 GiB, too large, about\)"):
        JudgedPull(Ends(question), lambda: imagined((24,), 64))(Wish("a/b"), lambda _: None)


def test_a_machine_that_cannot_be_read_is_no_trouble() -> None:
    """The question stays."""
    with pytest.raises(ChoiceOpen, match=r"Q8_0 \(8\.00 GiB\)$"):
        JudgedPull(Ends(ChoiceOpen("a/b", [("Q8_0", 8 * GIB)])), unknown)(Wish("a/b"), lambda _: None)


def test_all_else_passes_as_it_is() -> None:
    """Steps, what came of it, other refusals, and the stop; the machine is not looked at for them."""
    told: list[Step] = []
    assert JudgedPull(Ends(), unknown)(Wish("a/b"), told.append) == Pulled(None, fresh=True)
    assert [step.status for step in told] == ["a/b"]
    with pytest.raises(Busy):
        JudgedPull(Ends(Busy("later")), unknown)(Wish("a/b"), told.append)
    inner, why = Ends(), Busy("stop")
    JudgedPull(inner, unknown).stop(why)
    assert inner.stopped is why
