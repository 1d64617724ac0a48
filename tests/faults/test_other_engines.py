"""mistral.rs, SGLang and mlx-lm through the whole daemon, by stand-ins that follow their sources: readiness, names, streams, failures, endings."""

import json
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from blazar.domain.kinds import EngineKind, Weights
from tests.faults.streams import RawClient
from tests.support.daemon import ONE_THREAD, WATCHDOG, Answer, Daemon, alive, wait_until
from tests.support.engine import recorded
from tests.support.other_engines import a_build, a_folder, enter
from tests.support.safetensors_files import safetensors

STUBS = Path(__file__).resolve().parents[1] / "stubs"
CHAT = "/v1/chat/completions"


class Rig:
    """A daemon with one stand-in and one folder of weights for it."""

    def __init__(self, home: Path, kind: EngineKind, words: tuple[str, ...], **switches: str) -> None:
        self.record = home / "record.jsonl"
        self.folder = home / "weights"
        self.folder.mkdir(parents=True)
        safetensors(self.folder / "model.safetensors")
        env = {"STUB_RECORD": str(self.record)} | {f"STUB_{name.upper()}": text for name, text in switches.items()}
        routing = '[engine_routing]\npolicy = "latency"\n' if kind is EngineKind.MISTRALRS else ""
        self.daemon = Daemon(home, ONE_THREAD + routing, env)
        weights = Weights.MLX_QUANT if kind is EngineKind.MLX else Weights.SAFETENSORS
        model = a_folder("m", self.folder, weights, arch="llama", ctx_train=4096)
        enter(self.daemon, a_build(kind, words, "stub-1"), model)

    def ask(self, said: str = "hi", path: str = CHAT, **more: object) -> Answer:
        return self.daemon.ask("POST", path, {"model": "m", "messages": [{"role": "user", "content": said}], **more})

    def bodies(self) -> list[dict[str, object]]:
        """What the child was asked."""
        return [row["body"] for row in recorded(self.record, "request")]


@pytest.fixture(scope="module")
def mistral(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    words = (sys.executable, "-S", str(STUBS / "mistralrs_server.py"), "serve")
    rig = Rig(tmp_path_factory.mktemp("mistral"), EngineKind.MISTRALRS, words, load_secs="0.5")
    with rig.daemon:
        yield rig


@pytest.fixture(scope="module")
def sglang(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    words = (sys.executable, "-S", str(STUBS / "sglang_server.py"))
    rig = Rig(tmp_path_factory.mktemp("sglang"), EngineKind.SGLANG, words, load_secs="0.5")
    with rig.daemon:
        yield rig


@pytest.mark.parametrize("name", ["mistral", "sglang"])
def test_a_whole_answer_and_a_stream(name: str, request: pytest.FixtureRequest) -> None:
    """Both engines load, are known as ours, and answer under the caller's name for the model."""
    rig: Rig = request.getfixturevalue(name)
    whole = rig.ask()
    assert (whole.status, whole.json()["model"]) == (200, "m"), whole.body
    assert whole.json()["choices"][0]["message"]["content"] == "Hello from the stub."
    stream = rig.ask(stream=True).body.decode()
    assert stream.endswith("data: [DONE]\n\n")
    rows = [json.loads(line[6:]) for line in stream.splitlines() if line.startswith("data: {")]
    assert {row["model"] for row in rows} == {"m"}
    assert not any(row.get("usage") for row in rows)


@pytest.mark.parametrize("name", ["mistral", "sglang"])
@pytest.mark.parametrize("path", ["/api/chat", "/v1/messages"])
@pytest.mark.parametrize("stream", [False, True])
def test_the_other_dialects(name: str, path: str, stream: bool, request: pytest.FixtureRequest) -> None:
    """Translated as for llama.cpp, with the engine's counts."""
    rig: Rig = request.getfixturevalue(name)
    answer = rig.ask(path=path, stream=stream, max_tokens=20)
    assert answer.status == 200, answer.body
    assert b"Hello" in answer.body
    assert b'"output_tokens":5' in answer.body if path == "/v1/messages" else b'"eval_count":5' in answer.body


def test_each_is_asked_by_its_own_name(mistral: Rig, sglang: Rig) -> None:
    """mistral.rs knows `default` and its folder alone, SGLang the name that it was told."""
    mistral.ask()
    sglang.ask()
    assert {body["model"] for body in mistral.bodies()} == {"default"}
    assert {body["model"] for body in sglang.bodies()} == {"m"}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", [CHAT, "/api/chat", "/v1/messages"])
def test_an_empty_success_is_a_502(mistral: Rig, path: str, stream: bool) -> None:
    """No choices, under 200 (a prompt longer than its step): an error to the caller, in every dialect and in a stream as well (C11)."""
    answer = mistral.ask("stub:empty", path, stream=stream, max_tokens=5)
    assert answer.status == 502, answer.body
    assert b"gave no reason" in answer.body


@pytest.mark.parametrize(("stream", "status"), [(False, 500), (True, 502)])
def test_a_failed_step_is_told_in_its_words(mistral: Rig, stream: bool, status: int) -> None:
    """Whatever status and shape it comes in."""
    answer = mistral.ask("stub:failed", stream=stream)
    assert (answer.status, answer.json()["error"]["message"]) == (status, "out of cache")


def test_a_form_that_it_cannot_read_is_left_out(mistral: Rig) -> None:
    """A grammar of llama.cpp's would be a parser's error there; a bare schema is put where it is held."""
    answer = mistral.ask(grammar='root ::= "a"')
    assert answer.status == 200, answer.body
    assert "grammar" in answer.headers["x-blazar-warning"]
    mistral.ask(json_schema={"type": "object"})
    form = mistral.bodies()[-1]["response_format"]
    assert isinstance(form, dict)
    assert form["json_schema"]["schema"] == {"type": "object"}


def test_nobody_makes_it_run_programs(mistral: Rig) -> None:
    """Fields that would are not passed on, and the caller hears of it."""
    answer = mistral.ask(enable_shell=True)
    assert answer.status == 200
    assert "enable_shell" not in mistral.bodies()[-1]
    assert "enable_shell" in answer.headers["x-blazar-warning"]


@pytest.mark.parametrize("name", ["mistral", "sglang"])
def test_routes_of_llama_cpp_alone(name: str, request: pytest.FixtureRequest) -> None:
    """A gap is refused with the engine's name, before it is asked; a count is that of the real call's prompt."""
    rig: Rig = request.getfixturevalue(name)
    kind = {"mistral": "mistral.rs", "sglang": "SGLang"}[name]
    gap = rig.daemon.ask("POST", "/v1/completions", {"model": "m", "prompt": "a", "suffix": "b"})
    count = rig.ask(path="/v1/messages/count_tokens")
    assert (gap.status, count.status) == (400, 200), count.body
    assert kind in gap.json()["error"]["message"]
    assert rig.bodies()[-1]["max_tokens"] == 1
    real = rig.ask(path="/v1/messages", max_tokens=9)
    assert count.json() == {"input_tokens": real.json()["usage"]["input_tokens"]}
    questions: dict[str, dict[str, object]] = {
        "/tokenize": {"content": "a"},
        "/detokenize": {"tokens": [1]},
        "/apply-template": {"messages": [{"role": "user", "content": "a"}]},
    }
    for path, body in questions.items():
        refused = rig.daemon.ask("POST", path, {"model": "m", **body})
        assert (refused.status, kind in refused.json()["error"]["message"]) == (400, True)


@pytest.mark.parametrize("name", ["mistral", "sglang"])
def test_several_answers_are_made_of_single_ones(name: str, request: pytest.FixtureRequest) -> None:
    """An engine that knows no `n` is never asked for it."""
    rig: Rig = request.getfixturevalue(name)
    answer = rig.ask(n=3)
    assert [choice["index"] for choice in answer.json()["choices"]] == [0, 1, 2]
    assert all("n" not in body for body in rig.bodies())


def test_a_refused_field_keeps_its_status(sglang: Rig) -> None:
    """Its older envelope is read, too."""
    answer = sglang.ask("stub:bad")
    assert (answer.status, answer.json()["error"]["message"]) == (400, "temperature must be non-negative")


def test_a_worker_goes_with_its_server(sglang: Rig) -> None:
    """TERM to the single pid takes the processes along that the model runs in (D5), and the pidfile goes."""
    sglang.ask()
    worker = recorded(sglang.record, "start")[-1]["worker"]
    assert alive(worker)
    sglang.daemon.ask("POST", "/api/evict", {"model": "m"})
    assert wait_until(lambda: not alive(worker), WATCHDOG)
    assert not list(sglang.daemon.run_dir.glob("m*.pid"))


MLX_WORDS = (sys.executable, "-S", str(STUBS / "mlx_server.py"))


def test_one_engine_is_asked_one_request_at_a_time(tmp_path: Path) -> None:
    """mlx-lm was seen to give requests each other's answers (L7): none of eight runs beside another, each with a bound and its name."""
    rig = Rig(tmp_path, EngineKind.MLX, MLX_WORDS)
    with rig.daemon, ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda at: rig.ask(f"hi {at}", stream=at % 2 == 0), range(8)))
        assert [answer.status for answer in answers] == [200] * 8
    assert {row["beside"] for row in recorded(rig.record, "chat")} == {0}
    proof, *asked = rig.bodies()
    assert (proof["max_tokens"], len(asked)) == (1, 8)
    assert {(body["model"], body["max_tokens"]) for body in asked} == {("default_model", 4096)}


def test_an_engine_that_cannot_be_stopped_is_busy_until_it_has_ended(tmp_path: Path) -> None:
    """mlx-lm computes a whole answer to its end: who comes after a client that left waits in line, and runs beside nobody (L7)."""
    rig = Rig(tmp_path, EngineKind.MLX, MLX_WORDS)
    with rig.daemon:
        assert rig.ask().status == 200
        before = len(recorded(rig.record, "chat"))
        body = {"model": "m", "messages": [{"role": "user", "content": "slowly"}]}
        with RawClient(rig.daemon.port, CHAT, body):
            assert wait_until(lambda: len(recorded(rig.record, "chat")) > before, WATCHDOG)
        assert rig.daemon.ask("GET", "/api/ps").json()["models"][0]["in_flight"] == 1
        answer = rig.ask()
        assert (answer.status, rig.ask(stream=True).status) == (200, 200)
        assert int(answer.headers["x-blazar-queue-ms"]) > 0
    assert {row["beside"] for row in recorded(rig.record, "chat")} == {0}


def test_nothing_waits_for_an_answer_that_nobody_listens_to(tmp_path: Path) -> None:
    """It is shown as abandoned, and an eviction ends it at once instead of draining for nobody."""
    rig = Rig(tmp_path, EngineKind.MLX, MLX_WORDS, slow_secs="60")
    with rig.daemon:
        assert rig.ask().status == 200
        before = len(recorded(rig.record, "chat"))
        body = {"model": "m", "messages": [{"role": "user", "content": "slowly"}]}
        with RawClient(rig.daemon.port, CHAT, body):
            assert wait_until(lambda: len(recorded(rig.record, "chat")) > before, WATCHDOG)

        def ps() -> list[dict[str, Any]]:
            models: list[dict[str, Any]] = rig.daemon.ask("GET", "/api/ps").json()["models"]
            return models

        assert wait_until(lambda: ps()[0]["abandoned"] == 1, WATCHDOG)
        began = time.monotonic()
        assert rig.daemon.ask("POST", "/api/evict", {"model": "m"}).json() == {"evicted": ["m"]}
        assert time.monotonic() - began < 20.0  # a drain takes 30, the answer 60
        assert ps() == []


def test_a_process_that_stays_behind_a_failed_load_is_ended(tmp_path: Path) -> None:
    """mlx-lm goes on listening and answers 503 for good: an error at once, and nothing is left."""
    rig = Rig(tmp_path, EngineKind.MLX, MLX_WORDS, fail_load="1")
    with rig.daemon:
        answer = rig.ask()
        assert answer.status == 502, answer.body
        assert "stopped while loading" in answer.json()["error"]["message"]
        assert rig.daemon.children() == []
