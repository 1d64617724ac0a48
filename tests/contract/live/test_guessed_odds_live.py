"""Log probabilities of a real llama-server that guesses ahead: they have holes, and every dialect that tells them says so.

Needs no gateway: the release archive beside the checkout is unpacked, and a daemon spawns its llama-server for two models that
differ in `spec` alone.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from blazar.domain import teaching
from tests.support.builds import unpacked
from tests.support.daemon import ONE_THREAD, Daemon
from tests.support.scripted_gguf import scripted_model
from tests.support.shared import shared

ARCHIVE = "llama-b11434-bin-linux-x64.tar.gz"
TICKS = "tick tock " * 40
LONG = [{"role": "user", "content": TICKS + "long"}]  # it says the same again, so that guesses out of the prompt hold
ASKED: dict[str, tuple[dict[str, Any], str]] = {
    "/v1/chat/completions": ({"messages": LONG, "max_tokens": 99, "logprobs": True, "top_logprobs": 2}, "logprobs"),
    "/v1/completions": ({"prompt": f"{TICKS}long tick ", "max_tokens": 99, "logprobs": 2}, "logprobs"),
    "/v1/responses": ({"input": LONG, "max_output_tokens": 99, "top_logprobs": 2, "store": False}, "include"),
    "/api/chat": (
        {"messages": LONG, "options": {"num_predict": 99}, "logprobs": True, "top_logprobs": 2, "stream": False},
        "logprobs",
    ),
}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """`guessing` guesses out of what was said before, `plain` guesses nothing."""
    pytest.importorskip("gguf")
    archive = shared(f"engines/{ARCHIVE}")
    digests = {name: digest for digest, name in map(str.split, shared("engines/SHA256SUMS").read_text().splitlines())}
    _, path = unpacked(tmp_path_factory.mktemp("engine"), archive, digests[archive.name])
    keys = '[model_overrides.plain]\nspec = "off"\n[model_overrides.guessing]\nspec = "ngram-simple"\n'
    daemon = Daemon(tmp_path_factory.mktemp("home"), ONE_THREAD + keys, {"BLAZAR_ENGINE_PATH": path})
    for name in ("guessing", "plain"):
        daemon.must("import", str(scripted_model()), "--name", name)
    with daemon:
        yield daemon


def lacking(said: Any) -> int:
    """How many rows of log probabilities, wherever they stand in an answer, have no alternatives."""
    if isinstance(said, list):
        return sum(lacking(each) for each in said)
    if not isinstance(said, dict):
        return 0
    rows = said.get("top_logprobs")
    if isinstance(rows, list) and "tokens" in said:
        return sum(not row for row in rows)
    return int(rows == [] and "token" in said) + sum(lacking(value) for value in said.values())


@pytest.mark.parametrize("path", ASKED)
def test_the_holes_are_told_with_the_key_that_fills_them(daemon: Daemon, path: str) -> None:
    """Where nothing is guessed there are none, and nothing is told."""
    more, field = ASKED[path]
    guessed = daemon.ask("POST", path, {"model": "guessing", **more})
    assert guessed.status == 200, guessed.body
    assert lacking(guessed.json()) > 0
    assert guessed.headers["x-blazar-warning"] == teaching.warn_odds_of_guesses(field)
    plain = daemon.ask("POST", path, {"model": "plain", **more})
    assert lacking(plain.json()) == 0, json.dumps(plain.json())[:2000]
    assert "x-blazar-warning" not in plain.headers
