"""The engine's own memory figures, model by model: metadata, tensor table and rows as they were measured."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from blazar.domain.fit.gguf import shape_from_gguf
from blazar.domain.fit.settings import Settings
from blazar.domain.fit.shape import ModelShape

FIXTURE = Path(__file__).resolve().parents[1] / "fixtures" / "fit" / "engine-memory.json"
MIB = 2**20


@cache
def models() -> Mapping[str, Mapping[str, Any]]:
    """By name: `metadata`, `tensors` (name, shape, type, bytes) and `rows`."""
    measured = json.loads(FIXTURE.read_text(encoding="utf-8"))
    return {model["model"]: model for model in measured["models"]}


@cache
def shape_of(name: str) -> ModelShape:
    model = models()[name]
    return shape_from_gguf(model["metadata"], model["tensors"])


def settings_of(row: Mapping[str, Any]) -> Settings:
    """The settings that a row was measured with."""
    names = ("ctx", "parallel", "cache_type_k", "cache_type_v", "ubatch", "swa_full", "kv_unified")
    return Settings(**{name: row[name] for name in names})


def rows() -> list[tuple[str, int]]:
    """Every (model, index of a row)."""
    return [(name, index) for name, model in models().items() for index in range(len(model["rows"]))]


CONVENTIONAL: dict[str, Any] = {
    "block_count": 12,
    "context_length": 4096,
    "embedding_length": 512,
    "attention.head_count": 8,
    "attention.head_count_kv": 2,
    "attention.key_length": 64,
    "attention.value_length": 32,
}
"""A small model of grouped heads, by its keys below the architecture's name."""


def conventional(arch: str, tensors: Any = (), **values: Any) -> ModelShape:
    """That model as one of `arch`, with other `values`; a double underscore stands for a key's dot."""
    keys = {f"{arch}.{key.replace('__', '.')}": value for key, value in {**CONVENTIONAL, **values}.items()}
    return shape_from_gguf({"general.architecture": arch, **keys}, tensors)
