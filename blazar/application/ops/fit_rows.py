"""One machine and one configuration, asked about several shapes: a row each, and the answer that they make together."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from blazar.application.ops.verdict_json import verdict_json
from blazar.application.supervise.fit_settings import Extras, fit_settings
from blazar.domain import teaching
from blazar.domain.fit.guard import floor_bytes, may_load
from blazar.domain.fit.machine import Machine
from blazar.domain.fit.planner import plan
from blazar.domain.fit.preview import Candidate, choose, resized, smaller, whole
from blazar.domain.fit.shape import ModelShape, Projector
from blazar.domain.fit.verdict import Outcome, Verdict

MOST_TOKENS = 2**31 - 1  # the engine counts its window in a signed 32-bit number


class Weighed(NamedTuple):
    """One quantisation before it is judged. `size`: bytes of its `files`; `estimated`: its own header was not read."""

    quant: str
    size: int
    files: int
    shape: ModelShape
    projector: Projector | None
    estimated: bool = False


class Row(NamedTuple):
    """One judged quantisation."""

    candidate: Candidate
    files: int
    up_to: int
    estimated: bool

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


@dataclass(frozen=True, slots=True)
class Judge:
    """One machine and one configuration, asked about several shapes."""

    target: str
    machine: Machine
    settings: Mapping[str, Any]
    embeds: bool = False
    imagined: bool = False

    def row(self, weighed: Weighed) -> Row:
        """The plan for one of them, and the largest window that it would still fit with."""
        shape = weighed.shape
        embeds = self.embeds or not shape.causal
        asked = fit_settings(
            self.settings, shape.trained_ctx, embeds=embeds, extras=Extras(projector=weighed.projector)
        )
        open_window = replace(asked, ctx=0)
        if self.settings["ctx"]:
            verdict = plan(shape, self.machine, asked)
        else:  # the default window is no promise: a smaller one is what would be loaded (F14)
            verdict = plan(shape, self.machine, open_window, self.settings["default_ctx"])
        verdict = self._guarded(verdict, weighed)
        most = self._guarded(plan(shape, self.machine, open_window), weighed)
        on_accelerators = whole(shape, verdict, accelerated=bool(self.machine.pool))
        roomy = verdict.ctx >= min(
            self.settings["ctx"] or self.settings["default_ctx"], shape.trained_ctx or MOST_TOKENS
        )
        candidate = Candidate(weighed.quant, weighed.size, verdict, on_accelerators, roomy)
        return Row(candidate, weighed.files, most.ctx if most.fits else 0, weighed.estimated)

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
        if row.candidate.verdict.outcome is Outcome.FITS and row.candidate.whole:
            return answer
        others = self.others(weighed)
        best = choose(other.candidate for other in others)
        return answer | {"alternatives": [other.json(best) for other in others]}

    def _guarded(self, verdict: Verdict, weighed: Weighed) -> Verdict:
        """A spawn asks for main memory as well, wherever the plan puts the weights; unless configuration says not to."""
        machine, size = self.machine, weighed.size
        if not verdict.fits or not self.settings["spawn_mem_guard"] or may_load(size, machine.ram_available):
            return verdict
        outcome = Outcome.AFTER_EVICTION if may_load(size, machine.ram_total) else Outcome.NEVER
        sentence = teaching.not_enough_memory(self.target, floor_bytes(size), machine.ram_available)
        return replace(verdict, outcome=outcome, sentence=sentence)

    def answer(self, source: str, model: str, rows: list[Row], about: Row) -> dict[str, Any]:
        """The body of POST /api/fit. `verdict` is about one of the rows, `quant` says which."""
        take = choose(row.candidate for row in rows)
        return {
            "target": self.target,
            "source": source,
            "model": model,
            "machine": _machine_json(self.machine, imagined=self.imagined),
            "quant": about.candidate.quant,
            "take": take.quant if take else None,
            "verdict": verdict_json(about.candidate.verdict),
            "quants": [row.json(take) for row in rows],
            "alternatives": [],
            "notes": [],
        }


def _machine_json(machine: Machine, *, imagined: bool) -> dict[str, Any]:
    devices = [device._asdict() for device in machine.devices]
    return {
        "imagined": imagined,
        "ram_total": machine.ram_total,
        "ram_available": machine.ram_available,
        "devices": devices,
    }
