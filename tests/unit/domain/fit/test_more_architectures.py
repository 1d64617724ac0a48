"""Every row that the engine measured for architectures and key sets beyond the shared fixture, to its own rounding."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from blazar.domain.fit.caches import caches, recurrent, refusal
from blazar.domain.fit.gguf import shape_from_gguf
from blazar.domain.fit.settings import Settings
from blazar.domain.fit.shape import ModelShape

FIXTURE = Path(__file__).resolve().parents[3] / "fixtures" / "fit" / "engine-memory-more.json"
MIB = 2**20
ROUNDING = 0.0051  # the engine prints two decimals; a half of the last one, and float's own noise

MODELS: Mapping[str, Any] = {model["model"]: model for model in json.loads(FIXTURE.read_text())["models"]}
ROWS = [(name, number) for name, model in MODELS.items() for number in range(len(model["rows"]))]


def table(compact: list[Any]) -> Iterator[tuple[str, list[int], str, int]]:
    """The tensor table, a `*` in a name written out for every block of the runs behind it."""
    for name, shape, kind, size, *runs in compact:
        for run in runs[0] if runs else [[0]]:
            for block in range(run[0], run[-1] + 1):
                yield name.replace("*", str(block)), shape, kind, size


@cache
def shape_of(name: str) -> ModelShape:
    model = MODELS[name]
    return shape_from_gguf(model["metadata"], table(model["tensors"]))


def settings_of(row: Mapping[str, Any]) -> Settings:
    return Settings(
        ctx=row["ctx"],
        parallel=row["parallel"],
        cache_type_k=row["cache_type_k"],
        cache_type_v=row["cache_type_v"],
        ubatch=row["ubatch"],
        swa_full=row.get("swa_full", False),
        kv_unified=row.get("kv_unified", False),
        flash_attention=row.get("flash_attention", True),
    )


@pytest.mark.parametrize(("name", "number"), ROWS, ids=[f"{name}-{number}" for name, number in ROWS])
def test_a_row_is_what_the_engine_allocated(name: str, number: int) -> None:
    """Caches in the engine's order with its cells, layers, K and V; recurrent state; and a refusal where it refused."""
    row, shape = MODELS[name]["rows"][number], shape_of(name)
    settings = settings_of(row)
    if "refused" in row:
        assert refusal(shape, settings) is not None, row["refused"]
        return
    assert refusal(shape, settings) is None
    ours = caches(shape, settings)
    states = ours[len(row["kv"]) :]  # what DeepSeek V4 keeps beside its caches is not in their log lines
    ours = ours[: len(row["kv"])]
    assert [(each.cells, len(each.layers)) for each in ours] == [(kv["cells"], kv["layers"]) for kv in row["kv"]]
    for each, kv in zip(ours, row["kv"], strict=True):
        assert each.k_bytes / MIB == pytest.approx(kv["k_mib"], abs=ROUNDING)
        assert each.v_bytes / MIB == pytest.approx(kv["v_mib"], abs=ROUNDING)
    assert [each.bytes / MIB for each in states] == pytest.approx(row.get("state_mib", []), abs=ROUNDING)
    state = sum(layer.bytes for layer in recurrent(shape, settings)) / MIB
    assert state == pytest.approx(sum(row.get("recurrent_mib", [])), abs=ROUNDING)


def test_a_drafter_that_reads_its_target_s_cache_keeps_none() -> None:
    """The engine's log counts the target's cells once more for it; the memory is the target's (gemma4-assistant.cpp)."""
    arch = "gemma4-assistant"
    keys: dict[str, Any] = {"context_length": 131072, "embedding_length": 256, "block_count": 4}
    heads: dict[str, Any] = {"head_count": 4, "head_count_kv": 1, "key_length": 512, "value_length": 512}
    windows = {"sliding_window": 512, "sliding_window_pattern": [True, True, True, False], "key_length_swa": 256}
    keys |= {f"attention.{key}": value for key, value in (heads | windows | {"value_length_swa": 256}).items()}
    shape = shape_from_gguf({"general.architecture": arch, **{f"{arch}.{k}": v for k, v in keys.items()}}, [])
    assert sum(each.bytes for each in caches(shape, Settings(ctx=32768))) == 0


@pytest.mark.parametrize("name", MODELS)
def test_no_model_here_is_unknown(name: str) -> None:
    """Each of these architectures has facts of its own: its figures are no upper bound."""
    assert shape_of(name).known
