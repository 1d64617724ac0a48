"""Loaded models over HTTP."""

import pytest

from blazar.domain import teaching
from tests.unit.adapters.http.asgi_calls import call
from tests.unit.adapters.http.gateway import SMALL, VIEW, Parts


def test_nothing_loaded_is_an_empty_list() -> None:
    """Not null (B17)."""
    assert call(Parts(SMALL).app, "GET", "/api/ps").json() == {"models": []}


def test_ps_is_ollamas_row_and_ours() -> None:
    """Integers for every size, estimate and measured apart (B20), time left in whole seconds."""
    parts = Parts(SMALL)
    parts.supervising.running = [VIEW]
    (row,) = call(parts.app, "GET", "/api/ps").json()["models"]
    assert row["name"] == row["model"] == "smollm2"
    assert (row["size"], row["size_vram"], row["rss"], row["context_length"]) == (98_000_000, 0, 150_000_000, 4096)
    assert all(type(row[field]) is int for field in ("size", "size_vram", "rss", "context_length", "until_seconds"))
    assert row["digest"] == SMALL.digest
    assert row["details"]["quantization_level"] == "Q4_1"
    assert row["expires_at"].startswith("2023-11-14T22:14:20.5")
    assert row["until_seconds"] == 60
    assert (row["engine"], row["provenance"], row["pid"], row["port"]) == ("b9000", "archive", 4242, 5555)
    assert (row["slots"], row["in_flight"], row["waiting"], row["state"]) == (1, 0, 0, "serving")
    assert row["load_seconds"] == 0.25


def test_ps_tells_what_was_planned_what_is_used_and_where() -> None:
    """The size never falls below the part on accelerators, of which ollama's client takes the share."""
    parts = Parts(SMALL)
    on_two = {"CUDA0": 90_000_000, "CUDA1": 60_000_000}
    parts.supervising.running = [
        VIEW._replace(planned=160_000_000, measured=300_000_000, allocated=155_000_000, devices=tuple(on_two.items()))
    ]
    (row,) = call(parts.app, "GET", "/api/ps").json()["models"]
    assert (row["size"], row["size_vram"]) == (155_000_000, 150_000_000)
    assert (row["planned"], row["measured"], row["devices"]) == (160_000_000, 300_000_000, on_two)
    assert row["allocated"] == 155_000_000


def test_ps_tells_hits_speed_and_sleep() -> None:
    """Shares as numbers, null where nobody knows."""
    parts = Parts(SMALL)
    parts.supervising.running = [VIEW, VIEW._replace(cache_hint=0.5, spec_accept=0.25, sleeping=True)]
    bare, full = call(parts.app, "GET", "/api/ps").json()["models"]
    assert (bare["cache_hint"], bare["spec_accept"], bare["blazar_sleeping"]) == (None, None, False)
    assert (full["cache_hint"], full["spec_accept"], full["blazar_sleeping"]) == (0.5, 0.25, True)
    assert full["tokens_per_second"] is None


def test_a_child_with_old_settings_is_marked() -> None:
    """It serves on until it is idle, and is not what the configuration says."""
    parts = Parts(SMALL)
    parts.supervising.running = [VIEW, VIEW._replace(outdated=True)]
    rows = call(parts.app, "GET", "/api/ps").json()["models"]
    assert [row["outdated"] for row in rows] == [False, True]


def test_a_model_that_stays_expires_far_away() -> None:
    """Ollama's client shows that as "Forever"; ours reads null."""
    parts = Parts(SMALL)
    parts.supervising.running = [VIEW._replace(expires_at=0.0)]
    (row,) = call(parts.app, "GET", "/api/ps").json()["models"]
    assert row["until_seconds"] is None
    assert row["expires_at"] > "2200"


def test_time_left_is_never_negative() -> None:
    """An eviction that is due shows as now."""
    parts = Parts(SMALL)
    parts.supervising.running = [VIEW._replace(expires_at=1.0)]
    assert call(parts.app, "GET", "/api/ps").json()["models"][0]["until_seconds"] == 0


def test_a_child_whose_row_is_gone_is_still_listed() -> None:
    """It drains; its digest is long enough for a client that cuts twelve digits."""
    parts = Parts()
    parts.supervising.running = [VIEW._replace(state="draining")]
    (row,) = call(parts.app, "GET", "/api/ps").json()["models"]
    assert (row["name"], row["state"], len(row["digest"])) == ("smollm2", "draining", 64)


def test_replicas_keep_their_keys() -> None:
    """Several children of one model are told apart."""
    parts = Parts(SMALL)
    parts.supervising.running = [VIEW, VIEW._replace(key="smollm2#1")]
    assert [row["key"] for row in call(parts.app, "GET", "/api/ps").json()["models"]] == ["smollm2", "smollm2#1"]


@pytest.mark.parametrize(
    ("given", "seconds"), [(None, None), ("10m", 600.0), (0, 0.0), (-1, -1.0), (90, 90.0), ("1h30m", 5400.0)]
)
def test_load_brings_a_model_up(given: object, seconds: float | None) -> None:
    """With keep_alive in every spelling; answers its ps row."""
    parts = Parts(SMALL)
    answer = call(parts.app, "POST", "/api/load", body={"model": "smollm2", "keep_alive": given})
    assert (answer.status, answer.json()["state"]) == (200, "serving")
    assert parts.supervising.spawns == [("smollm2", seconds)]


@pytest.mark.parametrize("path", ["/api/load", "/api/evict"])
def test_an_unknown_model_is_a_404_with_near_matches(path: str) -> None:
    """A23."""
    answer = call(Parts(SMALL).app, "POST", path, body={"model": "smollm"})
    assert answer.status == 404
    assert answer.json()["error"]["message"] == teaching.model_not_found("smollm", ("smollm2",))


@pytest.mark.parametrize(("body", "force"), [({}, False), ({"force": True}, True), ({"force": None}, False)])
def test_evict_says_what_it_stopped(body: dict[str, object], force: bool) -> None:
    """Drains unless forced (D4)."""
    parts = Parts(SMALL)
    parts.supervising.running = [VIEW]
    answer = call(parts.app, "POST", "/api/evict", body={"model": "smollm2", **body})
    assert answer.json() == {"evicted": ["smollm2"]}
    assert parts.supervising.evictions == [("smollm2", force)]


def test_evict_takes_a_reference() -> None:
    """model#N and model@vision are the supervisor's grammar."""
    parts = Parts(SMALL)
    assert call(parts.app, "POST", "/api/evict", body={"model": "smollm2#1"}).json() == {"evicted": []}
    assert parts.supervising.evictions == [("smollm2#1", False)]


def test_reset_clears_breakers() -> None:
    """`blazar ps --reset`; anything but true is a mistake."""
    app = Parts(SMALL).app
    assert call(app, "POST", "/api/ps", body={"reset": True}).json() == {"reset": ["crashy"]}
    answer = call(app, "POST", "/api/ps", body={"reset": False})
    assert (answer.status, answer.json()) == (400, {"error": teaching.field_must("reset", "true")})


def test_answers_that_nobody_listens_to_are_counted_apart() -> None:
    """They are in flight, and hold nothing up."""
    parts = Parts(SMALL)
    parts.supervising.running = [VIEW._replace(in_flight=1, abandoned=1)]
    (row,) = call(parts.app, "GET", "/api/ps").json()["models"]
    assert (row["in_flight"], row["abandoned"]) == (1, 1)


def test_ps_tells_who_waits_by_priority_and_class() -> None:
    """First those whose turn comes first."""
    parts = Parts(SMALL)
    parts.supervising.running = [VIEW._replace(waiting=3, queued=(("high", "tool", 1), ("low", "raw_long", 2)))]
    (row,) = call(parts.app, "GET", "/api/ps").json()["models"]
    assert row["queued"] == [
        {"priority": "high", "work": "tool", "waiting": 1},
        {"priority": "low", "work": "raw_long", "waiting": 2},
    ]
