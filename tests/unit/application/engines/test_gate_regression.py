"""The gate: what it measures, with what, and what it makes of it."""

from dataclasses import replace

import pytest

from blazar.application.engines.gate_regression import BUDGET_SECS, SAMPLES, GateRegression, Terms, telling_model
from blazar.application.ports.benches import BenchFailed, Run, Way
from blazar.domain import teaching
from blazar.domain.gate import LEAST_PAIRS, GateVerdict
from blazar.domain.kinds import EngineKind, Weights
from blazar.domain.records import Engine
from tests.fakes.benches import FakeBench, MemoryBenchHistory
from tests.fakes.catalog import MemoryModelCatalog, a_model
from tests.fakes.clock import EPOCH, FakeClock
from tests.fakes.engines import an_engine
from tests.fakes.hardware import FakeCensus, a_gpu, a_machine

MIB = 2**20
OLD, NEW = an_engine("b1", active=True), an_engine("b2")
SMALL = a_model("small", sizes=(100 * MIB,))


class Rig:
    """A gate over fakes."""

    def __init__(self, new: float | BenchFailed, old: float | BenchFailed = 100.0, terms: Terms = Terms(0.1)) -> None:  # noqa: B008
        self.clock = FakeClock()
        self.bench = FakeBench({"b1": old, "b2": new})
        self.history = MemoryBenchHistory()
        self.models = MemoryModelCatalog([SMALL])
        self.census = FakeCensus(a_machine(cores=4))
        self.terms = terms
        self.serving: list[str] = []

    def __call__(self, new: Engine = NEW, old: Engine = OLD) -> GateVerdict:
        parts = (self.bench, self.models, self.history, self.census, self.clock, self.terms)
        return GateRegression(*parts, lambda: self.serving)(new, old)

    def threads(self) -> list[int]:
        return [run.threads for _, run in self.bench.runs]


def test_an_equal_build_passes() -> None:
    """After a pilot of the old one and four pairs, ABBA; the medians are in the sentence and in the history."""
    rig = Rig(100.0)
    verdict = rig()
    assert verdict == GateVerdict(True, "b2 decodes 100.0 tokens/s of small and b1 100.0: no regression", 100.0, 100.0)
    assert [tag for tag, _ in rig.bench.runs] == ["b1", *["b1", "b2", "b2", "b1"] * (LEAST_PAIRS // 2)]
    assert rig.history.rows == [("b1", "small", 100.0, EPOCH), ("b2", "small", 100.0, EPOCH)]


def test_a_slower_build_is_held_back() -> None:
    """With both speeds and both ways out: the active build stays, the new one stays beside it."""
    verdict = Rig(50.0)()
    assert (verdict.passed, verdict.new_tps, verdict.old_tps) == (False, 50.0, 100.0)
    assert "which is 50 % less: b1 stays active and b2 installed beside it" in verdict.sentence
    assert "blazar engine use b2" in verdict.sentence


def test_all_runs_are_alike() -> None:
    """Model, tokens, samples and threads of both builds are the same; the tokens make a sample of a quarter of a second."""
    rig = Rig(100.0)
    rig()
    pilot, *runs = [run for _, run in rig.bench.runs]
    assert set(runs) == {pilot._replace(tokens=25, seconds=runs[0].seconds)}
    assert pilot == Run(Way.TOOL, "/models/small.gguf", 8, SAMPLES, 4, pilot.seconds)


@pytest.mark.parametrize(("speed", "tokens"), [(3.0, 8), (100.0, 25), (9000.0, 64)])
def test_how_many_tokens_a_run_decodes(speed: float, tokens: int) -> None:
    """A slow machine must not wait for ever, and a fast one must not measure its clock."""
    rig = Rig(speed, speed)
    rig()
    assert {run.tokens for _, run in rig.bench.runs[1:]} == {tokens}


def test_threads_that_wait_for_each_other() -> None:
    """Half of them, and half again, until the samples of a run are of one kind: on busy cores a run can take a hundredfold."""
    rig = Rig(100.0)
    rig.bench.spread = 40.0
    assert rig().passed
    assert rig.threads()[:3] == [4, 2, 1]
    assert set(rig.threads()[3:]) == {1}


def test_threads_as_configured_and_cards() -> None:
    """As a child would get them; with a card in the machine the build decides."""
    rig = Rig(100.0, terms=Terms(0.1, threads=3))
    rig()
    assert set(rig.threads()) == {3}
    rig = Rig(100.0)
    rig.census.machine = a_machine(gpus=[a_gpu()])
    rig()
    assert set(rig.threads()) == {0}


def test_a_build_without_the_tool() -> None:
    """Then both are measured by their servers: the two ways do not give the same figures."""
    rig = Rig(100.0)
    rig.bench.toolless = {"b1"}
    rig()
    assert {run.way for _, run in rig.bench.runs} == {Way.SERVER}


def test_a_build_that_cannot_do_it() -> None:
    """A new build that ends over the model is held back; an old one that does leaves nothing to compare with."""
    verdict = Rig(BenchFailed("it was ended by signal 11"))()
    assert not verdict.passed
    assert verdict.sentence.startswith("b2 could not decode what b1 can (it was ended by signal 11): b1 stays active")
    verdict = Rig(100.0, BenchFailed("no such file"))()
    assert verdict.passed
    assert "b1, the active one, could not be measured: no such file" in verdict.sentence


def test_a_build_that_stands_still() -> None:
    """Runs that are never done in their time are runs of no speed, and time is not endless."""
    rig = Rig(BenchFailed("no answer within 20 s", slow=True))
    assert not rig().passed
    assert len(rig.bench.runs) == 1 + 16


def test_time_runs_out() -> None:
    """Some minutes at most; what is far slower by then is held back, what is not clear passes and says so."""
    for speed, passed, said in (
        (95.0, True, "no regression"),
        (85.0, True, "too busy to tell apart"),
        (50.0, False, "less"),
    ):
        rig = Rig(speed)
        rig.bench.spent = lambda _, clock=rig.clock: setattr(clock, "_now", clock.now() + BUDGET_SECS / 7)
        verdict = rig()
        assert verdict.passed is passed
        assert said in verdict.sentence
        assert len(rig.bench.runs) <= 9


def test_what_is_not_compared() -> None:
    """Each says why: --no-gate, the variable, another kind, no model."""
    assert Rig(1.0, terms=Terms(None, asked=True))().sentence == "the builds were not compared, as --no-gate asks"
    assert Rig(1.0, terms=Terms(None))() == (
        True,
        "the builds were not compared, for BLAZAR_ENGINE_GATE is off",
        0.0,
        0.0,
    )
    other = replace(NEW, kind=EngineKind.SDCPP)
    assert Rig(1.0)(other, replace(OLD, kind=EngineKind.SDCPP)).sentence.startswith("builds of sdcpp are not compared")
    rig = Rig(1.0)
    rig.models = MemoryModelCatalog([a_model("e", pooling=1), a_model("s", weights=Weights.SAFETENSORS)])
    assert "the catalog has no GGUF model that generates text" in rig().sentence
    assert rig.bench.runs == []


def test_beside_a_daemon() -> None:
    """Its models share the machine; whoever reads the figures should know."""
    rig = Rig(50.0)
    rig.serving = ["big"]
    assert rig().sentence.endswith("(measured beside big, which the daemon serves)")


def test_which_model() -> None:
    """The smallest that is more than the cache of a processor, else the largest of the tiny ones."""
    tiny, large = a_model("tiny", sizes=(MIB,)), a_model("large", sizes=(900 * MIB,))
    assert telling_model([large, tiny, SMALL]) == SMALL
    assert telling_model([tiny, a_model("tinier", sizes=(MIB // 2,))]) == tiny
    assert telling_model([]) is None


def test_that_speeds_are_compared_is_said_only_where_they_are() -> None:
    """Not with --no-gate, for another kind, or without a model: nobody waits then."""
    told: list[str] = []
    other = an_engine("v1", kind=EngineKind.MISTRALRS)
    for terms, new, models in (
        (Terms(None, asked=True), NEW, [SMALL]),
        (Terms(0.1), other, [SMALL]),
        (Terms(0.1), NEW, []),
    ):
        rig = Rig(100.0, terms=terms)
        catalog = MemoryModelCatalog(models)
        GateRegression(rig.bench, catalog, rig.history, rig.census, rig.clock, terms, say=told.append)(new, OLD)
        assert told == []
    rig = Rig(100.0)
    GateRegression(rig.bench, rig.models, rig.history, rig.census, rig.clock, rig.terms, say=told.append)(NEW, OLD)
    assert told == [teaching.engine_comparing("b2", "b1")]
