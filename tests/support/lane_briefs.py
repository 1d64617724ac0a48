"""Briefs for the kinds that are not llama.cpp: a model of theirs, all settings at their defaults, a build."""

from pathlib import Path
from typing import Any

from blazar.application.config.model import Config
from blazar.domain.kinds import Weights
from blazar.domain.launch import Beside, Brief
from blazar.domain.manifest import Manifest, parse_help
from blazar.domain.records import Gpu, Machine, Model

HELP = Path(__file__).resolve().parents[1] / "fixtures" / "help"
PLAIN = Machine(ram_total=2**34, ram_available=2**33, cores=4, gpus=())


def machine(*gpus: Gpu, cuda_version: str = "") -> Machine:
    """The plain machine with accelerators in it."""
    return PLAIN._replace(gpus=gpus, cuda_version=cuda_version)


def card(kind: str = "cuda", capability: str = "8.9") -> Gpu:
    """One accelerator."""
    return Gpu(0, "card", "", 2**33, 2**33, "driver", kind, compute_capability=capability)


def settings(**said: Any) -> dict[str, Any]:
    """All settings of a model, some of them said; `mlx__kv_bits` is the key of a table."""
    named = {key.replace("__", "."): text for key, text in said.items()}
    known = Config().settings_for("m")
    assert named.keys() <= known.keys()
    return known | named


def brief(
    weights: Weights,
    files: tuple[str, ...],
    said: dict[str, Any],
    manifest: Manifest | None = None,
    *,
    parts: dict[str, str] | None = None,
    at: Machine = PLAIN,
) -> Brief:
    """A launch of such a model with these settings, each said in the file."""
    told = settings(**said)
    model = Model("m", files, (1,), weights, "", "", 1, 0, 0, None, False, False, "", 0.0)
    return Brief(
        settings=told,
        model=model,
        machine=at,
        manifest=manifest or Manifest(),
        tag="build",
        origins={key.replace("__", "."): "config.toml, line 7" for key in said},
        beside=Beside(components=parts or {}),
    )


def build(name: str) -> Manifest:
    """A recorded build by its help text: `sd-server-0.4.7`."""
    return parse_help((HELP / f"{name}.txt").read_text(encoding="utf-8"))
