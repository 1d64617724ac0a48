"""The real mlx-lm server through the whole daemon, in all three dialects; on the CPU (D22)."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from blazar.domain.kinds import EngineKind, Weights
from tests.support.daemon import ONE_THREAD, Daemon
from tests.support.other_engines import a_build, a_folder, enter, mlx_words
from tests.support.shared import shared

HELLO = [{"role": "user", "content": "hello"}]


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """One with mlx-lm and its smallest model."""
    words = mlx_words()
    made = Daemon(tmp_path_factory.mktemp("mlx"), ONE_THREAD)
    made.must("import", str(shared("models/tiny-mlx")), "--name", "tiny-mlx")
    enter(made, a_build(EngineKind.MLX, words, "mlx-lm-0.32.2"))
    with made:
        yield made


def events(body: bytes) -> list[str]:
    """The data of a stream's events."""
    return [line.removeprefix("data: ") for line in body.decode().splitlines() if line.startswith("data: ")]


def test_a_whole_answer(daemon: Daemon) -> None:
    """The child is asked for its own model and answers under ours; the counts are there, and the bound holds."""
    answer = daemon.ask("POST", "/v1/chat/completions", {"model": "tiny-mlx", "messages": HELLO, "max_tokens": 8})
    assert answer.status == 200, answer.body
    said = answer.json()
    assert (said["model"], said["choices"][0]["finish_reason"]) == ("tiny-mlx", "length")
    assert said["usage"]["completion_tokens"] == 8


def test_an_answer_is_bounded_by_the_window_alone(daemon: Daemon) -> None:
    """Nobody is cut at the engine's own small number: of the random model the answer ends where the window does, or by itself."""
    answer = daemon.ask("POST", "/v1/chat/completions", {"model": "tiny-mlx", "messages": HELLO})
    said = answer.json()
    finish, count = said["choices"][0]["finish_reason"], said["usage"]["completion_tokens"]
    assert (finish == "length") is (count == 2048)


def test_a_stream(daemon: Daemon) -> None:
    """Whole events under our name, a finish, `[DONE]`; no counts that nobody asked for."""
    asked = {"model": "tiny-mlx", "messages": HELLO, "max_tokens": 8, "stream": True}
    answer = daemon.ask("POST", "/v1/chat/completions", asked)
    *chunks, done = events(answer.body)
    rows = [json.loads(chunk) for chunk in chunks]
    assert done == "[DONE]"
    assert {row["model"] for row in rows} == {"tiny-mlx"}
    assert [row["choices"][0]["finish_reason"] for row in rows if row["choices"]][-1] == "length"
    assert not any(row.get("usage") for row in rows)


@pytest.mark.parametrize("stream", [False, True])
def test_ollama_and_anthropic(daemon: Daemon, stream: bool) -> None:
    """The same engine, translated."""
    asked = {"model": "tiny-mlx", "messages": HELLO, "stream": stream}
    chat = daemon.ask("POST", "/api/chat", {**asked, "options": {"num_predict": 8}})
    last = json.loads(chat.body.splitlines()[-1])
    assert (last["done"], last["done_reason"], last["eval_count"]) == (True, "length", 8)
    messages = daemon.ask("POST", "/v1/messages", {**asked, "max_tokens": 8})
    assert messages.status == 200, messages.body
    ended = events(messages.body)[-2] if stream else messages.body.decode()
    assert '"max_tokens"' in ended


def test_one_request_at_a_time(daemon: Daemon) -> None:
    """Three callers at once get three answers, one after the other: its requests were seen to get each other's answers (L7)."""
    asked = {"model": "tiny-mlx", "messages": HELLO, "max_tokens": 16}
    with ThreadPoolExecutor(3) as pool:
        answers = list(pool.map(lambda _: daemon.ask("POST", "/v1/chat/completions", asked), range(3)))
    assert [answer.status for answer in answers] == [200, 200, 200]
    assert daemon.ask("GET", "/api/ps").json()["models"][0]["slots"] == 1


@pytest.mark.parametrize(
    ("path", "body"),
    [("/v1/embeddings", {"input": "x"}), ("/api/embed", {"input": "x"}), ("/v1/images/generations", {"prompt": "x"})],
)
def test_what_it_cannot_do_is_a_sentence(daemon: Daemon, path: str, body: dict[str, str]) -> None:
    """Before anything is asked of it."""
    answer = daemon.ask("POST", path, {"model": "tiny-mlx", **body})
    assert answer.status == 400
    assert "tiny-mlx" in json.dumps(answer.json())


def test_tokens_are_counted_as_in_the_real_call(daemon: Daemon) -> None:
    """It has no route for it; a text's tokens are not told: 400 with the engine's name."""
    asked = {"model": "tiny-mlx", "messages": HELLO}
    count = daemon.ask("POST", "/v1/messages/count_tokens", asked)
    assert count.status == 200, count.body
    real = daemon.ask("POST", "/v1/messages", {**asked, "max_tokens": 4})
    assert count.json() == {"input_tokens": real.json()["usage"]["input_tokens"]}
    cut = daemon.ask("POST", "/tokenize", {"model": "tiny-mlx", "content": "a"})
    assert cut.status == 400
    assert "mlx-lm" in cut.json()["error"]["message"]


def test_a_form_that_nobody_holds_is_said(daemon: Daemon) -> None:
    """It passes over `response_format`: the answer carries a warning and no receipt (D19)."""
    asked = {"model": "tiny-mlx", "messages": HELLO, "max_tokens": 4, "response_format": {"type": "json_object"}}
    answer = daemon.ask("POST", "/v1/chat/completions", asked)
    assert answer.status == 200
    assert "response_format" in answer.headers["x-blazar-warning"]
    assert not [name for name in answer.headers if "receipt" in name or "structured" in name]


@pytest.mark.parametrize(
    ("name", "config", "told"),
    [
        ("hollow", '{"model_type": "llama"}', "stopped while loading"),
        ("strange", '{"model_type": "nobody-knows"}', "nobody-knows"),
    ],
)
def test_a_folder_that_is_no_model_ends_the_load(daemon: Daemon, name: str, config: str, told: str) -> None:
    """The process stays after a failed load and answers 503; it is ended, and why is told."""
    folder = daemon.home / name
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(b"\x08\0\0\0\0\0\0\0{}      ")
    (folder / "config.json").write_text(config)
    row = a_folder(name, folder, Weights.MLX_QUANT, arch=json.loads(config)["model_type"], ctx_train=256)
    enter(daemon, None, row)
    answer = daemon.ask("POST", "/v1/chat/completions", {"model": name, "messages": HELLO})
    assert answer.status >= 500
    assert told in answer.json()["error"]["message"]
