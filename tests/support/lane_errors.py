"""Every refusal of routing, by name: a question that leads to it."""

from typing import NamedTuple

from blazar.domain.errors import Unserved
from blazar.domain.kinds import EngineKind, Provenance, Weights
from blazar.domain.records import Engine
from blazar.domain.routing import Rules, Subject, lane_for
from tests.fakes.engines import an_engine

LLAMA = an_engine("b11434", active=True, used_at=1.0)
MISTRAL = an_engine("v0.9.2", kind=EngineKind.MISTRALRS, active=True)
SDCPP = an_engine("master-890", kind=EngineKind.SDCPP, active=True)
FORK = an_engine("fork-xyz", provenance=Provenance.FORK, active=True, architectures=("xyz",))
MANUAL = Rules("manual")


class Asked(NamedTuple):
    """One question."""

    subject: Subject
    engines: tuple[Engine, ...] = ()
    rules: Rules = Rules()
    driven: frozenset[EngineKind] = frozenset(EngineKind)


LACKING = Subject(Weights.GGUF, "xyz", lacking=frozenset({"b11434"}))

CASES: dict[str, Asked] = {
    "gguf, nothing installed": Asked(Subject(Weights.GGUF)),
    "gguf, another kind installed": Asked(Subject(Weights.GGUF), (SDCPP,)),
    "gguf, forks alone": Asked(Subject(Weights.GGUF, "llama"), (FORK,)),
    "gguf, forks and another kind": Asked(Subject(Weights.GGUF, "llama"), (FORK, SDCPP)),
    "mlx": Asked(Subject(Weights.MLX_QUANT), (LLAMA,)),
    "quantised": Asked(Subject(Weights.QUANTIZED), (LLAMA, MISTRAL)),
    "safetensors": Asked(Subject(Weights.SAFETENSORS), (LLAMA,)),
    "safetensors, latency": Asked(Subject(Weights.SAFETENSORS), (LLAMA,), Rules(policy="latency")),
    "diffusion": Asked(Subject(Weights.DIFFUSION), (LLAMA,)),
    "a kind that is not driven": Asked(Subject(Weights.GGUF), (MISTRAL,), driven=frozenset({EngineKind.LLAMACPP})),
    "pin names nothing": Asked(Subject(Weights.GGUF, pin="b1"), (LLAMA,)),
    "pinned kind is not installed": Asked(Subject(Weights.GGUF, pin="mistralrs"), (LLAMA,)),
    "pinned build cannot serve": Asked(Subject(Weights.QUANTIZED, pin="v0.9.2"), (LLAMA, MISTRAL)),
    "pinned kind cannot serve": Asked(Subject(Weights.MLX_QUANT, pin="sglang"), (LLAMA,)),
    "diffusion pinned to text": Asked(Subject(Weights.DIFFUSION, pin="b11434"), (LLAMA,)),
    "text pinned to diffusion": Asked(Subject(Weights.GGUF, pin="sdcpp"), (LLAMA, SDCPP)),
    "manual engine cannot serve": Asked(Subject(Weights.SAFETENSORS), (LLAMA, MISTRAL), MANUAL),
    "diffusion in manual mode": Asked(Subject(Weights.DIFFUSION), (LLAMA, SDCPP), MANUAL),
    "text in manual mode": Asked(Subject(Weights.GGUF), (SDCPP,), MANUAL),
    "architecture": Asked(LACKING, (LLAMA, MISTRAL)),
    "architecture, a lane in the registry": Asked(LACKING._replace(curated=("xyz-lane",)), (LLAMA,)),
    "architecture, pinned": Asked(LACKING._replace(pin="llamacpp"), (LLAMA,)),
}


def refusal(asked: Asked) -> Unserved:
    """What is raised."""
    try:
        lane_for(asked.subject, asked.engines, asked.driven, asked.rules)
    except Unserved as error:
        return error
    raise AssertionError(f"served: {asked}")
