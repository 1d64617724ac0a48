"""Hold a newer build back that decodes more slowly than the active one. Decides and records; who switches builds asks it first."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from blazar.application.ports.benches import BenchFailed, BenchHistory, DecodeBench, Run, Way
from blazar.application.ports.catalog import ModelCatalog
from blazar.application.ports.clock import Clock
from blazar.application.ports.hardware import HardwareCensus
from blazar.domain import teaching
from blazar.domain.gate import GateVerdict, Judgement, Outcome, Pair, is_steady, judge, new_first
from blazar.domain.kinds import EngineKind, Weights
from blazar.domain.records import Engine, Model

BUDGET_SECS = 300.0
"""For all of it; a person waits. What is not clear by then passes."""
PILOT_SECS = 20.0
"""A pilot that is not done by then ran on threads that wait for each other, or on a model that needs a longer look."""
SLOWEST_SECS = 60.0
"""One run on a single thread; ten tokens of a large model on a small machine."""
PATIENCE = 10
"""How many times as long as the pilot a run may take before it counts as having stood still."""
PILOT_TOKENS, MOST_TOKENS = 8, 64
SAMPLE_SECS = 0.25
"""What a sample should take: shorter ones measure the clock, longer ones meet more of what else the machine does."""
SAMPLES = 5
TELLING_BYTES = 64 * 2**20
"""Below that a model fits the processor's cache, and its speed is that of starting and joining threads."""


@dataclass(frozen=True, slots=True)
class Terms:
    """`loss` may be lost (None: nothing is compared; `asked`: by --no-gate); `threads` as configured (0: the engine's own choice)."""

    loss: float | None
    threads: int = 0
    asked: bool = False


@dataclass(frozen=True, slots=True)
class GateRegression:
    """`serving` names models that a daemon has loaded: they share the machine, and what is measured says so.

    `say` gets what a person who waits should know, once it is sure that something is measured.
    """

    bench: DecodeBench
    models: ModelCatalog
    history: BenchHistory
    census: HardwareCensus
    clock: Clock
    terms: Terms
    serving: Callable[[], Sequence[str]] = tuple
    say: Callable[[str], None] = lambda _: None

    def __call__(self, new: Engine, old: Engine) -> GateVerdict:
        """Whether `new` may take over from `old`. Neither row is changed; raises nothing of its own."""
        if self.terms.loss is None:
            return GateVerdict(True, teaching.gate_off(self.terms.asked))
        if not new.kind is old.kind is EngineKind.LLAMACPP:
            return GateVerdict(True, teaching.gate_unmeasured_kind(new.kind))
        model = telling_model(self.models.list_models())
        if model is None:
            return GateVerdict(True, teaching.gate_without_model())
        self.say(teaching.engine_comparing(new.tag, old.tag))
        both = self.bench.has_tool(new) and self.bench.has_tool(old)
        run = Run(Way.TOOL if both else Way.SERVER, model.files[0], PILOT_TOKENS, SAMPLES, self._threads(), PILOT_SECS)
        try:
            run = self._fitted(old, run)
        except BenchFailed as failed:
            return GateVerdict(True, teaching.gate_old_unmeasured(old.tag, str(failed)))
        return self._compared(new, old, model, run)

    def _threads(self) -> int:
        """As a child would get; 0 where a card decodes and threads do not matter."""
        machine = self.census.read()
        return 0 if any(gpu.total for gpu in machine.gpus) else self.terms.threads or max(machine.cores, 1)

    def _fitted(self, old: Engine, run: Run) -> Run:
        """A run that this machine can do steadily: on fewer threads where they are kept waiting, and long enough to tell."""
        while True:
            started = self.clock.now()
            try:
                figures = self.bench.measure(old, run)
            except BenchFailed as failed:
                if not failed.slow or run.threads <= 1:
                    raise
                figures = ()
            if figures and (is_steady(figures) or run.threads <= 1):
                took = self.clock.now() - started
                tokens = min(max(int(max(figures) * SAMPLE_SECS), PILOT_TOKENS), MOST_TOKENS)
                longer = tokens / run.tokens
                return run._replace(tokens=tokens, seconds=max(PILOT_SECS, took * longer * PATIENCE))
            fewer = run.threads // 2
            run = run._replace(threads=fewer, seconds=SLOWEST_SECS if fewer <= 1 else PILOT_SECS)

    def _compared(self, new: Engine, old: Engine, model: Model, run: Run) -> GateVerdict:
        pairs: list[Pair] = []
        end = self.clock.now() + BUDGET_SECS
        judgement: Judgement | None = None
        while judgement is None:
            speeds = {}
            for engine in (new, old) if new_first(len(pairs)) else (old, new):
                try:
                    speeds[engine.tag] = self._speed(engine, run)
                except BenchFailed as failed:
                    if engine is new:
                        return GateVerdict(False, teaching.gate_new_failed(new.tag, old.tag, str(failed)))
                    return GateVerdict(True, teaching.gate_old_unmeasured(old.tag, str(failed)))
            pairs.append(Pair(speeds[old.tag], speeds[new.tag]))
            judgement = judge(pairs, self.terms.loss or 0.0, last=self.clock.now() >= end)
        self.history.record(old.tag, model.name, judgement.old, self.clock.wall())
        self.history.record(new.tag, model.name, judgement.new, self.clock.wall())
        return self._verdict(new, old, model, judgement)

    def _speed(self, engine: Engine, run: Run) -> float:
        """The best of its samples; one that was not done in time stood still."""
        try:
            return max(self.bench.measure(engine, run))
        except BenchFailed as failed:
            if failed.slow:
                return 0.0
            raise

    def _verdict(self, new: Engine, old: Engine, model: Model, judged: Judgement) -> GateVerdict:
        say = {
            Outcome.PASSES: teaching.gate_passed,
            Outcome.SLOWER: teaching.gate_slower,
            Outcome.UNCLEAR: teaching.gate_unclear,
        }[judged.outcome]
        sentence = say(new.tag, judged.new, old.tag, judged.old, model.name)
        if serving := self.serving():
            sentence = teaching.gate_beside(sentence, serving)
        return GateVerdict(judged.outcome is not Outcome.SLOWER, sentence, judged.old, judged.new)


def telling_model(models: Sequence[Model]) -> Model | None:
    """The smallest that still tells something; where all are tiny, the largest of them. Embedding models decode nothing."""
    able = [model for model in models if model.weights is Weights.GGUF and not model.embeds and model.files]
    large = [model for model in able if model.size >= TELLING_BYTES]
    if large:
        return min(large, key=lambda model: (model.size, model.name))
    return max(able, key=lambda model: (model.size, model.name), default=None)
