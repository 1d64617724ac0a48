"""What a loaded model was planned with, what its engine says it allocated, and what it uses: three figures of one child."""

import json
import urllib.request
from typing import Any

import pytest

from tests.contract.live.conftest import Gateway

NEAR = 0.10
AND = 24 * 2**20
"""How far a plan may lie off what the engine announces: the compute buffer is modelled, the rest is exact."""


def ask(gateway: Gateway, path: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(gateway.url + path, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=300) as answer:
        return json.load(answer)


@pytest.mark.parametrize("model", ["chat", "scripted", "embed"])
def test_a_plan_is_what_the_engine_allocates(gateway: Gateway, model: str) -> None:
    """Within the compute buffer's bounds; and what is resident is no less than the cache that the engine clears."""
    if not gateway.scripted:
        pytest.skip("reads what only Blazar's own listing has")
    name = getattr(gateway, model)
    ask(gateway, "/api/load", {"model": name})
    (row,) = [row for row in ask(gateway, "/api/ps")["models"] if row["name"] == name]
    assert row["planned"] > 0
    assert row["allocated"] == pytest.approx(row["planned"], rel=NEAR, abs=AND)
    assert row["measured"] >= row["rss"] > 0
    verdict = ask(gateway, f"/api/explain?model={name}")["fit"]["verdict"]
    assert (verdict["outcome"], verdict["exact_bytes"]) == ("fits", row["planned"])
    assert (verdict["chosen"]["ctx"], verdict["chosen"]["slots"]) == (row["context_length"], row["slots"])
