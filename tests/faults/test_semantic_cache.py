"""The semantic cache and the sentinel's enforcement before real children, with keys and a reload."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.faults.streams import PATHS, body_for
from tests.support.daemon import Answer, Daemon

CONFIG = """
[[keys]]
name = "a"
key = "plm_a"
[[keys]]
name = "b"
key = "plm_b"
[semantic_cache]
enabled = true
"""
Calls = Callable[..., list[dict[str, Any]]]


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer plm_{key}"}


@pytest.fixture
def ready(cases: Daemon) -> Daemon:
    """The embedding model serves: the cache loads none."""
    assert cases.ask("POST", "/v1/embeddings", {"model": "e", "input": "x"}, bearer("a")).status == 200
    return cases


def chat(daemon: Daemon, words: str, key: str = "a", path: str = PATHS["openai"], **more: Any) -> Answer:
    headers = bearer(key) | more.pop("headers", {})
    return daemon.ask("POST", path, body_for(words, stream=False) | {"max_tokens": 50} | more, headers)


def told(answer: Answer) -> str | None:
    assert answer.status == 200, answer
    return answer.headers.get("x-blazar-cache")


@pytest.mark.parametrize("dialect", PATHS)
def test_two_keys_with_the_same_prompt_share_nothing(ready: Daemon, calls: Calls, dialect: str) -> None:
    """Each key's first is computed, its second is the very same answer and costs the engine nothing (J18)."""
    path, words = PATHS[dialect], f"who is there in {dialect}"
    first, again = chat(ready, words, path=path), chat(ready, words, path=path)
    other = chat(ready, words, "b", path)
    assert [told(one) for one in (first, again, other)] == ["miss", "hit", "miss"]
    assert told(chat(ready, words, "b", path)) == "hit"
    assert again.body == first.body
    assert again.headers["x-blazar-trace-id"] != first.headers["x-blazar-trace-id"]
    assert len(calls("/v1/chat/completions")) == 2


def test_streams_never_read_nor_write(ready: Daemon, calls: Calls) -> None:
    """An answer that was streamed is not found by others, nor is one found for a stream (O13)."""
    words = "is anybody listening"
    streamed = chat(ready, words, stream=True)
    assert told(streamed) is None
    assert told(chat(ready, words)) == "miss"
    assert told(chat(ready, words, stream=True)) is None
    assert told(chat(ready, words)) == "hit"
    assert len(calls("/v1/chat/completions")) == 3


def test_an_answer_goes_with_its_child(ready: Daemon) -> None:
    """The next one may be started otherwise."""
    words = "how often do you leave"
    assert [told(chat(ready, words)) for _ in range(2)] == ["miss", "hit"]
    assert ready.ask("POST", "/api/evict", {"model": "m"}, bearer("a")).status == 200
    assert [told(chat(ready, words)) for _ in range(2)] == ["miss", "hit"]


def test_an_embedder_that_is_gone_is_not_fetched(ready: Daemon) -> None:
    """Nothing is loaded for a cache: without a vector it is as if it were not there."""
    words = "who measures this"
    assert ready.ask("POST", "/api/evict", {"model": "e"}, bearer("a")).status == 200
    assert told(chat(ready, words)) is None
    models = ready.ask("GET", "/api/ps", headers=bearer("a")).json()["models"]
    assert "e" not in [row["name"].partition(":")[0] for row in models]


@pytest.mark.parametrize("dialect", PATHS)
def test_enforcement_refuses_and_leaves_the_child_alone(ready: Daemon, dialect: str) -> None:
    """422 in each dialect's envelope, as often as one likes: an answer that breaks a form is no failure of the process (D19, E1)."""
    path = PATHS[dialect]
    form: dict[str, Any] = {
        "openai": {"response_format": {"type": "json_object"}},
        "ollama": {"format": "json"},
        "anthropic": {"tools": [{"name": "f", "input_schema": {"type": "object"}}]},
    }[dialect]
    words = "stub:finish=stop" if dialect != "anthropic" else "stub:tokens=0"
    on = {"x-blazar-enforce": "on", "x-blazar-cache": "off"}
    for _ in range(4):
        got = chat(ready, words, path=path, headers=on, **form)
        assert got.status == 422, got
        error = got.json()["error"]
        said = error if dialect == "ollama" else error["message"]
        code = "empty_response" if dialect == "anthropic" else "json_object"
        assert said.startswith(f"sentinel enforce: [{code}] ")
    pids = [row["pid"] for row in ready.ask("GET", "/api/ps", headers=bearer("a")).json()["models"] if "pid" in row]
    assert chat(ready, "hi", path=path).status == 200
    assert pids == [
        row["pid"] for row in ready.ask("GET", "/api/ps", headers=bearer("a")).json()["models"] if "pid" in row
    ]
