"""A pull whose question says what fits."""

import pytest

from blazar.application.models.judged_pull import JudgedPull
from blazar.application.models.pulling import OnePull, Pulled, Step, Told, Wish
from blazar.domain.errors import BlazarError, Busy, ChoiceOpen, NotFound
from blazar.domain.fit.machine import Machine, imagined
from tests.fakes.catalog import a_model

GIB = 2**30


class Ends(OnePull):
    """As it was told to."""

    def __init__(self, why: BlazarError | None = None) -> None:
        self.why = why
        self.came = Pulled(None, fresh=True)
        self.stopped: BlazarError | None = None

    def __call__(self, wish: Wish, told: Told) -> Pulled:
        told(Step(wish.reference))
        if self.why is not None:
            raise self.why
        return self.came

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


def test_what_nothing_serves_is_told() -> None:
    """Of a model; an adapter serves nothing by itself."""
    model = a_model("m")
    for came, said in ((Pulled(model, fresh=True), "no mlx"), (Pulled(None, fresh=True), "")):
        inner = Ends()
        inner.came = came
        assert JudgedPull(inner, unknown, lambda _: "no mlx")(Wish("a/b"), lambda _: None).unserved == said


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
