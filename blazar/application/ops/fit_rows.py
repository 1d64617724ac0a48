"""One machine and one configuration, asked about several shapes: a row each, and the answer that they make together."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from blazar.application.ops.verdict_json import verdict_json
from blazar.application.supervise.fit_settings import slots_for
from blazar.application.supervise.preparation import Asked, Preparation
from blazar.domain import teaching
from blazar.domain.fit.facts import FACTS
from blazar.domain.fit.guard import guard_bytes, may_load
from blazar.domain.fit.machine import Machine
from blazar.domain.fit.preview import Candidate, better, choose, negligible, resized, smaller, whole
from blazar.domain.fit.shape import ModelShape, Projector
from blazar.domain.fit.verdict import Outcome, Verdict

MOST_TOKENS = 2**31 - 1  # the engine counts its window in a signed 32-bit number


_OF_PROJECTORS = ("projector", "projector-bound", "projector-with", "projector-apart")
"""Notes on a projector."""


class Weighed(NamedTuple):
    """One quantisation before it is judged. `size`: bytes of its `files`; `estimated`: its own header was not read.

    `notes` are sentences about what was read.
    """

    quant: str
    size: int
    files: int
    shape: ModelShape
    projector: Projector | None
    estimated: bool = False
    notes: tuple[str, ...] = ()


class Row(NamedTuple):
    """One judged quantisation. `layers` are all that could lie on accelerators, the output being one."""

    candidate: Candidate
    files: int
    up_to: int
    estimated: bool
    layers: int

    def json(self, take: Candidate | None) -> dict[str, Any]:
        quant, size, verdict, on_accelerators, _ = self.candidate
        return {
            "quant": quant,
            "size": size,
            "files": self.files,
            "outcome": verdict.outcome.value,
            "sentence": verdict.sentence,
            "whole": on_accelerators,
            "gpu_layers": verdict.gpu_layers,
            "layers": self.layers,
            "slots": verdict.settings.parallel,
            "ctx": verdict.ctx,
            "ctx_up_to": self.up_to,
            "cache_type_k": verdict.settings.cache_type_k,
            "cache_type_v": verdict.settings.cache_type_v,
            "exact_bytes": verdict.exact_bytes,
            "floor_bytes": verdict.floor_bytes,
            "admission_bytes": verdict.admission_bytes,
            "estimated": self.estimated,
            "take": self.candidate is take,
        }


class Unjudged(NamedTuple):
    """A quantisation that is there and that nothing can be said about, with the reason in a word and as a sentence."""

    quant: str
    size: int
    files: int
    outcome: str
    sentence: str

    def json(self) -> dict[str, Any]:
        """A row as the others are, without figures."""
        figures = ("gpu_layers", "layers", "slots", "ctx", "ctx_up_to", "exact_bytes", "floor_bytes", "admission_bytes")
        types = dict.fromkeys(("cache_type_k", "cache_type_v"), "")
        flags = dict.fromkeys(("whole", "estimated", "take"), False)
        return {**self._asdict(), **dict.fromkeys(figures, 0), **types, **flags}


@dataclass(frozen=True, slots=True)
class Judge:
    """One machine and one configuration, asked about several shapes.

    `embeds` None leaves it to the shape. `attached`: the projector beside the weights counts only where configuration attaches
    it from the start; else also where the first picture would (F8). `trained` is the window that the catalog knows (0: the shape's own). `apart`: slots
    have a window each, also where configuration would have them share one. `imagined` names the machine's parts that are.
    """

    target: str
    machine: Machine
    prepared: Preparation
    embeds: bool | None = None
    imagined: tuple[str, ...] = ()
    attached: bool = False
    trained: int = 0
    apart: bool = False

    @property
    def settings(self) -> Mapping[str, Any]:
        """The configuration's keys, with what its extra words say."""
        return self.prepared.settings

    @property
    def open(self) -> bool:
        """Whether it is left to the planner how many requests are worked on at once."""
        return not slots_for(self.settings)

    def held(self, slots: int) -> "Judge":
        """The same with so many slots where that is open: what is compared must not differ in them."""
        if not self.open:
            return self
        prepared = replace(self.prepared, settings={**self.settings, "slots": max(slots, 1)})
        return replace(self, prepared=prepared, apart=True)

    def row(self, weighed: Weighed) -> Row:
        """The plan for one of them, and the largest window that it would still fit with."""
        shape, asked = weighed.shape, self._asked(weighed)
        verdict = self._noted(
            self._guarded(asked.plan(shape, self.machine, advise=not weighed.estimated), weighed), weighed, asked
        )
        open_window = asked._replace(settings=replace(asked.settings, ctx=0), cap=0)
        most = self._guarded(open_window.plan(shape, self.machine, advise=False), weighed)
        on_accelerators = whole(shape, verdict, accelerated=bool(self.machine.pool))
        roomy = verdict.ctx >= min(asked.window.ctx, shape.trained_ctx or MOST_TOKENS)
        candidate = Candidate(weighed.quant, weighed.size, verdict, on_accelerators, roomy)
        # An open window stops at the default where layers lie with the host; one that was asked for and fits may be wider.
        up_to = max(most.ctx if most.fits else 0, verdict.ctx if verdict.fits else 0)
        layers = len(shape.blocks) * max(1, shape.loops) + 1
        return Row(candidate, weighed.files, up_to, weighed.estimated, layers)

    def _asked(self, weighed: Weighed) -> Asked:
        shape, projector = weighed.shape, weighed.projector
        asked = self.prepared.asked(
            self.trained or shape.trained_ctx,
            self.machine,
            embeds=not shape.causal if self.embeds is None else self.embeds,
            beside=None if self.attached else projector,
        )
        settings = asked.settings
        if self.attached and projector and not settings.projector:
            asked = asked._replace(notes=(*asked.notes, teaching.fit_note("projector-apart")))
        if self.apart and settings.kv_unified and settings.parallel > 1:
            ctx = settings.ctx * settings.parallel  # 0 stays open
            return asked._replace(settings=replace(settings, ctx=ctx, own_windows=True))
        return asked

    def _noted(self, verdict: Verdict, weighed: Weighed, asked: Asked) -> Verdict:
        """With what is to be known beside the planner's notes, and without what is not worth a word."""
        arch, projector = weighed.shape.arch, weighed.projector
        notes = dict.fromkeys((*verdict.notes, *asked.window.notes, *weighed.notes))
        if arch not in FACTS:
            notes[teaching.fit_arch_unknown(arch)] = None
        if projector and negligible(projector, weighed.size):
            for what in _OF_PROJECTORS:
                notes.pop(teaching.fit_note(what), None)
        sentence = verdict.sentence.replace(teaching.SEE_FIT, "")
        return replace(verdict, sentence=sentence, notes=tuple(notes))

    def others(self, weighed: Weighed) -> list[Row]:
        """Smaller quantisations of a model that is here once, by estimate: what to look for. They are not here (no files)."""
        rows = []
        for quant, size in smaller(weighed.shape, weighed.size):
            shape = resized(weighed.shape, weighed.size, size)
            rows.append(self.row(Weighed(quant, size, 0, shape, weighed.projector, estimated=True)))
        return rows

    def alone(self, source: str, model: str, weighed: Weighed) -> dict[str, Any]:
        """The answer for a model that is here, with alternatives where it does not fit as one would wish."""
        row = self.row(weighed)
        answer = self.answer(source, model, [row], row)
        verdict = row.candidate.verdict
        # What the engine would not take as it is set it takes in no quantisation.
        uncounted = verdict.outcome is Outcome.REFUSED and not verdict.exact_bytes
        if uncounted or (verdict.outcome is Outcome.FITS and row.candidate.whole):
            return answer
        others = self.held(verdict.settings.parallel).others(weighed)
        best = better((other.candidate for other in others), row.candidate)
        notes = [teaching.fit_none_better()] if others and best is None else []
        return answer | {"alternatives": [other.json(best) for other in others], "notes": notes}

    def _guarded(self, verdict: Verdict, weighed: Weighed) -> Verdict:
        """A spawn asks for main memory as well, wherever the plan puts the weights; unless configuration says not to."""
        machine, size = self.machine, weighed.size
        if not verdict.fits or not self.settings["spawn_mem_guard"] or may_load(size, machine.ram_available):
            return verdict
        outcome = Outcome.AFTER_EVICTION if may_load(size, machine.ram_total) else Outcome.NEVER
        sentence = teaching.not_enough_memory(self.target, guard_bytes(size), machine.ram_available)
        return replace(verdict, outcome=outcome, sentence=sentence)

    def answer(self, source: str, model: str, rows: Sequence[Row], about: Row) -> dict[str, Any]:
        """The body of POST /api/fit. `verdict` is about one of the rows, `quant` says which. What to take was read itself."""
        take = choose(row.candidate for row in rows if not row.estimated)
        return {
            "target": self.target,
            "source": source,
            "model": model,
            "machine": _machine_json(self.machine, self.imagined),
            "quant": about.candidate.quant,
            "take": take.quant if take else None,
            "verdict": verdict_json(about.candidate.verdict),
            "quants": [row.json(take) for row in rows],
            "alternatives": [],
            "notes": [],
        }


def _machine_json(machine: Machine, imagined: Collection[str]) -> dict[str, Any]:
    devices = [device._asdict() for device in machine.devices]
    return {
        "imagined": bool(imagined),
        "imagined_parts": list(imagined),
        "ram_total": machine.ram_total,
        "ram_available": machine.ram_available,
        "devices": devices,
    }
