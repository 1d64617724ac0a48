"""Golden command lines: a case file to the planner that compiles it. The format is described in tests/fixtures/argv/README.md."""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from blazar.application.config.layers import load_config
from blazar.application.supervise.launch_plan import LaunchPlanner
from blazar.application.supervise.sizing import Sizing
from blazar.domain.errors import Refusal
from blazar.domain.fit.shape import ModelShape
from blazar.domain.kinds import EngineKind, Provenance, Weights
from blazar.domain.launch import Beside, Places
from blazar.domain.manifest import Manifest, parse_help
from blazar.domain.records import Engine, Model
from tests.fakes.catalog import a_model
from tests.fakes.engines import MemoryEngineCatalog, an_engine
from tests.fakes.hardware import GIB, FakeCensus, a_gpu, a_machine
from tests.fakes.weights import MemoryWeightFiles, some_facts
from tests.support.fit_shapes import Dense, alternating

FIXTURES = Path(__file__).parents[1] / "fixtures"
FOLDER = FIXTURES / "argv"
OUTCOME = ("argv", "env", "decisions", "notes", "refused")
PROGRAMS = {EngineKind.LLAMACPP: "llama-server"}


class Case(NamedTuple):
    """One file. What is not an outcome is the question."""

    path: Path
    text: Mapping[str, Any]

    @property
    def name(self) -> str:
        return f"{self.path.parent.name}/{self.path.stem}"

    @property
    def expected(self) -> dict[str, Any]:
        return {key: self.text[key] for key in OUTCOME if key in self.text}

    @property
    def program(self) -> int:
        """How many words the program itself is."""
        return len(self._engine().words)

    def compiled(self) -> dict[str, Any]:
        """The launch that the planner makes of it, as the file says it."""
        loaded = load_config(self.text["config"], "config.toml")
        model = _model(self.text["model"])
        files = _files(model, self.text)
        census = FakeCensus(_machine(self.text["machine"]))
        engine = self._engine()
        planner = LaunchPlanner(
            engines=MemoryEngineCatalog([engine]),
            drivers={engine.kind: driver_of(engine.kind)},
            probe=Probe(_manifest(self.text["manifest"])),
            hardware=census,
            settings_for=loaded.config.settings_for,
            sizing=Sizing(files, census),
            origins_for=loaded.origins_for,
            beside_for=lambda _: Beside(**self.text.get("beside", {})),
            places=Places(**self.text.get("places", {})),
        )
        try:
            plan = planner.plan(model, ctx=self.text.get("wish", 0)).plan
        except Refusal as refusal:
            return {"refused": str(refusal)}
        decisions = [{"words": list(one.words), "key": one.key, "reason": one.reason} for one in plan.decisions]
        return {"argv": list(plan.words), "env": dict(plan.env), "decisions": decisions, "notes": list(plan.notes)}

    def keep(self, came: Mapping[str, Any]) -> None:
        """Write the outcome into the file; the question stays as it is."""
        asked = {key: value for key, value in self.text.items() if key not in OUTCOME}
        self.path.write_text(json.dumps({**asked, **came}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    def _engine(self) -> Engine:
        kind = EngineKind(self.text["kind"])
        said = dict(self.text.get("engine", {}))
        provenance = Provenance(said.pop("provenance", Provenance.ARCHIVE))
        command = tuple(said.pop("command", ()))
        program = PROGRAMS.get(kind, "server")
        tag = said.pop("tag", "b11434" if kind is EngineKind.LLAMACPP else f"{kind}-1")
        assert not said, f"{self.path}: unknown engine facts {sorted(said)}"
        path = f"/engines/{tag}/{program}"
        return an_engine(tag, kind=kind, provenance=provenance, server_path=path, command=command, active=True)


class Probe(NamedTuple):
    """Every build has this manifest."""

    known: Manifest

    def manifest(self, _: Engine) -> Manifest:
        return self.known


def driver_of(kind: EngineKind) -> Any:
    """The record of an engine kind, by the place where it has to stand."""
    module = import_module(f"blazar.adapters.engines.{kind}.spec")
    return next(one for one in vars(module).values() if getattr(one, "kind", None) == kind and hasattr(one, "flags"))


@cache
def _manifest(name: str | None) -> Manifest:
    return parse_help((FIXTURES / "help" / f"{name}.txt").read_text(encoding="utf-8")) if name else Manifest()


def _machine(said: Mapping[str, Any]) -> Any:
    gpus = [
        a_gpu(number, int(card["gib"] * GIB), card["vendor"])._replace(
            **{key: value for key, value in card.items() if key not in ("gib", "vendor")}
        )
        for number, card in enumerate(said.get("gpus", ()))
    ]
    free = said.get("free_gib", said["ram_gib"])
    machine = a_machine(int(said["ram_gib"] * GIB), int(free * GIB), said.get("cores", 8), gpus)
    return machine._replace(cuda_version=said.get("cuda", ""))


def _model(said: Mapping[str, Any]) -> Model:
    facts = {key: value for key, value in said.items() if key not in ("shape", "projector", "gib")}
    facts["weights"] = Weights(facts.get("weights", Weights.GGUF))
    if "files" in facts:
        facts["files"] = tuple(facts["files"])
    count = len(facts.get("files", (None,)))
    facts["sizes"] = tuple(int(said.get("gib", 1) * GIB) // count for _ in range(count))
    return a_model(facts.pop("name", "m"), **facts)


def _files(model: Model, text: Mapping[str, Any]) -> MemoryWeightFiles:
    """The model's own, what belongs to it, and whatever the case says is there."""
    beside = Beside(**text.get("beside", {}))
    parts = (beside.draft, beside.projector, *beside.components.values())
    there = [*model.files, *filter(None, parts), *text.get("files", ())]
    files = MemoryWeightFiles({path: some_facts(path) for path in there})
    shape = _shape(text["model"])
    if shape is None:
        files.broken[model.files[0]] = "it has no header"
    else:
        files.shapes[model.files[0]] = shape
    if projector := text["model"].get("projector"):
        files.projectors[model.files[0]] = files.projector_in(projector)
        files.beside[model.files[0]] = projector
    return files


def _shape(said: Mapping[str, Any]) -> ModelShape | None:
    facts = dict(said.get("shape") or {})
    if not facts:
        return None
    nextn = facts.pop("nextn", 0)
    trained = said.get("ctx_train", 512)
    if facts.pop("recurrent", False):
        return replace(alternating(facts["blocks"]), trained_ctx=trained)
    shape = Dense(trained=trained, size=int(said.get("gib", 1) * GIB), **facts).shape()
    return replace(shape, nextn=nextn) if nextn else shape


CASES = tuple(Case(path, json.loads(path.read_text(encoding="utf-8"))) for path in sorted(FOLDER.glob("*/*.json")))
