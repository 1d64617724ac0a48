"""The stub engine does what its head promises; fault tests build on these switches."""

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.engine import STUB, recorded, stub_model

CHAT = "/v1/chat/completions"


class Running:
    """One stub on a free port."""

    def __init__(self, *words: str, **env: Any) -> None:
        variables = {f"STUB_{k.upper()}": str(v) for k, v in env.items()}
        self.process = subprocess.Popen(
            [sys.executable, "-S", str(STUB), "--port", "0", "--alias", "m", *words],
            env=variables,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
        )
        assert self.process.stderr is not None
        while b"listening on" not in (line := self.process.stderr.readline()):
            assert line, self.process.wait(60)
        self.port = int(line.rsplit(b":", 1)[1])

    def send(self, path: str, body: Any = None, headers: str = "") -> socket.socket:
        data = json.dumps(body).encode() if body is not None else b""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        method = "GET" if body is None else "POST"
        head = f"{method} {path} HTTP/1.1\r\nHost: x\r\n{headers}Content-Length: {len(data)}\r\n\r\n"
        connection.sendall(head.encode() + data)
        return connection

    def raw(self, path: str, body: Any = None, headers: str = "", until: bytes = b"") -> bytes:
        """What comes back until the connection ends or `until` was seen."""
        got = b""
        with self.send(path, body, headers) as connection:
            try:
                while data := connection.recv(65536):
                    got += data
                    if until and until in got:
                        break
            except ConnectionResetError:
                got += b"<reset>"
        return got

    def json(self, path: str, body: Any = None, headers: str = "") -> tuple[int, Any]:
        with self.send(path, body, headers) as connection, connection.makefile("rb") as file:
            status = int(file.readline().split()[1])
            length = 0
            while (line := file.readline()) != b"\r\n":
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            return status, json.loads(file.read(length))


@pytest.fixture
def start() -> Iterator[Any]:
    running: list[Running] = []

    def begin(*words: str, **env: Any) -> Running:
        running.append(Running(*words, **env))
        return running[-1]

    yield begin
    for stub in running:
        stub.process.kill()
        stub.process.communicate()


def saying(text: str, **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}], **more}


def test_the_surface_answers(start: Any) -> None:
    """Each route gives the shape that the real server gives."""
    stub = start("--ctx-size", "1024", "--parallel", "2")
    assert stub.json("/health") == (200, {"status": "ok"})
    assert stub.json("/v1/models")[1]["data"][0]["id"] == "m"
    assert len(stub.json("/slots")[1]) == stub.json("/props")[1]["total_slots"] == 2
    assert b"llamacpp:requests_processing" in stub.raw("/metrics", until=b"processing 0")
    assert len(stub.json("/tokenize", {"content": "a b c"})[1]["tokens"]) == 3
    assert stub.json("/apply-template", saying("hi"))[1]["prompt"].endswith("<|assistant|>")
    answer = stub.json(CHAT, saying("hi"))[1]
    assert answer["choices"][0]["message"]["content"] == "Hello from the stub."
    assert stub.json("/v1/completions", {"prompt": "hi"})[1]["choices"][0]["text"] == "Hello from the stub."
    assert stub.json("/nothing")[0] == 404
    assert stub.json("/v1/embeddings", {"input": "x"})[0] == 501
    rows = start("--embeddings").json("/v1/embeddings", {"input": ["x", "y"]})[1]["data"]
    assert [len(row["embedding"]) for row in rows] == [8, 8]


def test_streams_have_the_real_order(start: Any) -> None:
    """Role, words, finish, usage when asked for, [DONE], and the coding is finished."""
    got = start().raw(CHAT, saying("hi", stream=True, stream_options={"include_usage": True}), until=b"\r\n0\r\n\r\n")
    events = [json.loads(line[6:]) for line in got.decode().splitlines() if line.startswith("data: {")]
    deltas = [event["choices"][0]["delta"] for event in events if event["choices"]]
    assert deltas[0]["role"] == "assistant"
    assert "".join(delta.get("content") or "" for delta in deltas) == "Hello from the stub."
    assert events[-2]["choices"][0]["finish_reason"] == "stop"
    assert events[-1]["usage"]["completion_tokens"] == 5
    assert got.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n")


@pytest.mark.parametrize(
    ("switch", "found"),
    [
        ("half_header=close", b"HTTP/1.1 200 OK\r\nContent-Ty"),
        ("garbage", b"\x00\x01this is not HTTP"),
        ("endless_body", b'"a": 1,\n' * 2**18),
        ("endless_body=500", b"HTTP/1.1 500"),
        ("garbage_event=2", b"data: {this is not JSON"),
        ("garbage_chunk=2", b"zz\r\nnot a chunk"),
        ("error_event=1", b'data: {"error"'),
        ("reset_after=2", b"<reset>"),
        ("fail=503", b"HTTP/1.1 503"),
        ("tokens=3", b'"finish_reason":"stop"'),
        ("think", b"reasoning_content"),
        ("finish=length", b'"finish_reason":"length"'),
        ("close_each", b"[DONE]"),
    ],
)
def test_misbehaviour_on_demand(start: Any, switch: str, found: bytes) -> None:
    """A word in the prompt is enough."""
    assert found in start().raw(CHAT, saying(f"please stub:{switch}.", stream=True), until=found)


@pytest.mark.parametrize(
    ("switch", "status"), [("die_after=0", 9), ("die_after=2", 9), ("die_after=1 stub:die_signal=9", -9)]
)
def test_death_on_demand(start: Any, switch: str, status: int) -> None:
    """It ends in the middle of an answer, by exit or by signal."""
    stub = start()
    got = stub.raw(CHAT, saying(f"stub:{switch}", stream=True))
    assert b"[DONE]" not in got
    assert stub.process.wait(60) == status


def test_silence_and_leaving_are_recorded(start: Any, tmp_path: Path) -> None:
    """A request that is never answered, and the moment its client leaves."""
    record = tmp_path / "record.jsonl"
    stub = start(record=record)
    connection = stub.send(CHAT, saying("stub:silent"))
    while not recorded(record, "request"):
        time.sleep(0.01)
    connection.close()
    while not recorded(record, "closed"):
        time.sleep(0.01)
    assert recorded(record, "closed")[0]["unfinished"] is True
    assert recorded(record, "answered") == []


def test_the_model_file_sets_manners(start: Any, tmp_path: Path) -> None:
    """Loading takes its time, TERM is ignored, the listed name is another's: all by the file."""
    model = stub_model(tmp_path / "m.gguf", load_secs=600, ignore_term=1, wrong_alias="other")
    stub = start("--model", str(model))
    assert stub.json("/health")[0] == 503
    assert stub.json("/v1/models")[1]["data"][0]["id"] == "other"
    stub.process.send_signal(signal.SIGTERM)
    assert stub.json("/health")[0] == 503


def test_keys_are_checked(start: Any, tmp_path: Path) -> None:
    """401 without the key, unless told to ignore it; /health needs none."""
    keys = tmp_path / "keys"
    keys.write_text("k\n")
    stub = start("--api-key-file", str(keys))
    assert [stub.json(path)[0] for path in ("/health", "/slots")] == [200, 401]
    assert stub.json("/slots", headers="Authorization: Bearer k\r\n")[0] == 200
    assert start("--api-key-file", str(keys), ignore_key=1).json("/slots")[0] == 200


def test_tools_are_called(start: Any) -> None:
    """With the switch and a declared tool, a call in fragments."""
    tools = [{"type": "function", "function": {"name": "add", "parameters": {}}}]
    answer = start().json(CHAT, saying("stub:tool", tools=tools))[1]["choices"][0]
    assert (answer["finish_reason"], answer["message"]["tool_calls"][0]["function"]["name"]) == ("tool_calls", "add")


def test_unknown_flags_are_refused() -> None:
    """Exit 1 with the flag's name, as the real one does."""
    done = subprocess.run([sys.executable, STUB, "--nope"], capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (1, b"error: invalid argument: --nope\n")
