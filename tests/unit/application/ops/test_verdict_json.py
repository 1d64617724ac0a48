"""A verdict in JSON."""

import json

from blazar.application.ops.verdict_json import verdict_json
from blazar.domain.fit.machine import imagined
from blazar.domain.fit.planner import plan
from blazar.domain.fit.settings import Settings
from tests.fakes.hardware import GIB
from tests.fakes.weights import heavy_shape, some_shape

ASKED = Settings(ctx=4096, parallel=2, kv_unified=True)


def test_everything_that_was_decided_is_there():
    """Sums are the parts' sums, shares name their device, and all of it is JSON."""
    found = verdict_json(plan(heavy_shape(30 * GIB, 8192), imagined((24, 24), 64), ASKED))
    assert json.loads(json.dumps(found)) == found
    assert (found["outcome"], found["fits"]) == ("fits", True)
    assert [share["device"] for share in found["devices"]] == ["host", "CUDA0", "CUDA1"]
    parts = ("weights", "kv", "recurrent", "compute", "projector", "draft", "lora")
    for share in found["devices"]:
        assert share["used"] == sum(share[part] for part in parts)
    assert found["exact_bytes"] == sum(share["used"] for share in found["devices"])
    assert found["admission_bytes"] >= found["floor_bytes"]
    chosen = found["chosen"]
    assert (chosen["ctx"], chosen["ctx_size"], chosen["slots"], chosen["cache_type_k"]) == (4096, 4096, 2, "f16")
    assert (chosen["devices"], chosen["gpu_layers"]) == (["CUDA0", "CUDA1"], 3)
    assert found["memory"]["total"] == sum(found["memory"][part] for part in parts)
    (cache,) = found["memory"]["caches"]
    assert (cache["cells"], cache["layers"], cache["k"] + cache["v"]) == (4096, 2, found["memory"]["kv"])


def test_a_refusal_has_its_sentence_and_its_levers():
    """Both as a person reads them."""
    never = verdict_json(plan(heavy_shape(300 * GIB), imagined((24,), 64), ASKED))
    assert (never["outcome"], never["fits"]) == ("never", False)
    assert "never" in never["sentence"]
    assert never["levers"]
    assert all(isinstance(lever, str) for lever in never["levers"])
    refused = verdict_json(plan(some_shape(), imagined((), 64), Settings(ctx=4096, devices=("CUDA3",))))
    assert refused["memory"]["refused"] == refused["sentence"]
    json.dumps(refused)
