"""Measuring builds: by their tool, by their server, and what goes wrong with either."""

import json
import os
import sys
from pathlib import Path

import pytest

from blazar.adapters.engines.benching import EngineBench
from blazar.application.ports.benches import BenchFailed, Run, Way
from blazar.domain.records import Engine
from tests.fakes.engines import an_engine

TOOL_RUN = Run(Way.TOOL, "/m.gguf", 16, 3, 2, 20.0)
SERVER_RUN = TOOL_RUN._replace(way=Way.SERVER)
ROW = [{"n_gen": 16, "samples_ts": [85.9, 87.3, 84.1]}]

SERVER = """
import http.server, json, os, sys
words = sys.argv
open(os.environ["RECORD"], "w").write(json.dumps({"pid": os.getpid(), "words": words[1:]}))
port = int(words[words.index("--port") + 1])
class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_): pass
    def say(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status); self.send_header("Content-Length", str(len(data))); self.end_headers()
        self.wfile.write(data)
    def do_GET(self): self.say(200, {"status": "ok"})
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert asked["ignore_eos"] and not asked["cache_prompt"]
        self.say(200, json.loads(os.environ["ANSWER"]) or {"timings": {"predicted_per_second": asked["n_predict"] * 2.0}})
http.server.HTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""


def program(path: Path, text: str, interpreter: str = "/bin/sh") -> Path:
    path.write_text(f"#!{interpreter}\n{text}\n")
    path.chmod(0o755)
    return path


def build(folder: Path, tool: str = "") -> Engine:
    """A build whose tool is this shell script."""
    server = program(folder / "llama-server", "exit 1")
    if tool:
        program(folder / "llama-bench", tool)
    return an_engine("b1", server_path=str(server))


def served(folder: Path, monkeypatch: pytest.MonkeyPatch, answer: object = None, text: str = SERVER) -> Engine:
    """A build whose server answers completions."""
    monkeypatch.setenv("RECORD", str(folder / "record.json"))
    monkeypatch.setenv("ANSWER", json.dumps(answer))
    return an_engine("b1", server_path=str(program(folder / "llama-server", text, sys.executable)))


def test_by_the_tool(tmp_path: Path) -> None:
    """One row, its samples; the words say what a run says, and nothing of prompts."""
    engine = build(tmp_path, f"echo \"$@\" > {tmp_path}/words; echo '{json.dumps(ROW)}'; echo noise >&2")
    bench = EngineBench(())
    assert bench.has_tool(engine)
    assert bench.measure(engine, TOOL_RUN) == [85.9, 87.3, 84.1]
    assert (tmp_path / "words").read_text().strip() == "-m /m.gguf -p 0 -n 16 -r 3 -t 2 -o json"
    bench.measure(engine, TOOL_RUN._replace(threads=0))
    assert "-t" not in (tmp_path / "words").read_text().split()


def test_the_environment_is_a_childs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without what would change its settings, with what configuration adds: both builds run as they would serve."""
    monkeypatch.setenv("LLAMA_ARG_THREADS", "64")
    engine = build(tmp_path, f"echo \"$LLAMA_ARG_THREADS/$EXTRA\" > {tmp_path}/env; echo '{json.dumps(ROW)}'")
    EngineBench(("LLAMA_ARG_",), {"EXTRA": "yes"}).measure(engine, TOOL_RUN)
    assert (tmp_path / "env").read_text() == "/yes\n"


@pytest.mark.parametrize(
    ("tool", "why"),
    [
        ("exit 3", "it ended with status 3"),
        ("kill -SEGV $$", "it was ended by signal 11"),
        ("echo nonsense", "it measured nothing"),
        ("echo '[]'", "it measured nothing"),
        ("echo '[{\"n_gen\": 16}]'", "it measured nothing"),
        ('echo \'[{"n_gen": 16, "samples_ts": [0, 0]}]\'', "it measured nothing"),
        ('echo \'[{"n_gen": 16, "samples_ts": ["x"]}]\'', "it measured nothing"),
        ("echo '{\"samples_ts\": 1}'", "it measured nothing"),
    ],
)
def test_a_tool_that_fails(tmp_path: Path, tool: str, why: str) -> None:
    """A reason, never a traceback, and never slow: it told nothing, however fast it was."""
    with pytest.raises(BenchFailed, match=why) as failed:
        EngineBench(()).measure(build(tmp_path, tool), TOOL_RUN)
    assert not failed.value.slow


def test_a_tool_that_takes_too_long(tmp_path: Path) -> None:
    """It is ended, and the run was slow."""
    engine = build(tmp_path, f"echo $$ > {tmp_path}/pid; exec sleep 600")
    with pytest.raises(BenchFailed) as failed:
        EngineBench(()).measure(engine, TOOL_RUN._replace(seconds=1.0))
    assert failed.value.slow
    assert not _lives(int((tmp_path / "pid").read_text()))


def test_no_tool(tmp_path: Path) -> None:
    """An older archive has none, and the wheel is no program with anything beside it."""
    bench = EngineBench(())
    assert not bench.has_tool(build(tmp_path))
    assert not bench.has_tool(an_engine("embedded-1", server_path="/usr/bin/python3", command=("python3", "-m", "x")))
    with pytest.raises(BenchFailed, match="No such file"):
        bench.measure(build(tmp_path), TOOL_RUN)


def test_by_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own figures of decoding, sample by sample; it is on loopback and gone afterwards."""
    engine = served(tmp_path, monkeypatch)
    assert EngineBench(()).measure(engine, SERVER_RUN) == [32.0, 32.0, 32.0]
    record = json.loads((tmp_path / "record.json").read_text())
    assert record["words"][:4] == ["-m", "/m.gguf", "--host", "127.0.0.1"]
    assert record["words"][-2:] == ["--threads", "2"]
    assert not _lives(record["pid"])


@pytest.mark.parametrize("answer", [{"x": 1}, {"timings": None}, {"timings": {"predicted_per_second": 0}}])
def test_a_server_that_tells_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: object) -> None:
    """Ended all the same."""
    with pytest.raises(BenchFailed, match="it measured nothing"):
        EngineBench(()).measure(served(tmp_path, monkeypatch, answer), SERVER_RUN)
    assert not _lives(json.loads((tmp_path / "record.json").read_text())["pid"])


def test_a_server_that_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its last words are the reason."""
    engine = served(tmp_path, monkeypatch, text="import sys; print('starting'); sys.exit('unknown model architecture')")
    with pytest.raises(BenchFailed, match=r"^unknown model architecture$"):
        EngineBench(()).measure(engine, SERVER_RUN)


def test_a_server_that_never_listens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slow, and ended."""
    text = f"import os, time; open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    with pytest.raises(BenchFailed) as failed:
        EngineBench(()).measure(served(tmp_path, monkeypatch, text=text), SERVER_RUN._replace(seconds=3.0))
    assert failed.value.slow
    assert not _lives(int((tmp_path / "pid").read_text()))


def test_a_server_that_cannot_be_started(tmp_path: Path) -> None:
    """The system's own reason."""
    with pytest.raises(BenchFailed, match="No such file"):
        EngineBench(()).measure(an_engine("b1", server_path=str(tmp_path / "gone")), SERVER_RUN)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
