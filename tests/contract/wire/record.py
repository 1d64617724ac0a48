"""Records what a real llama-server sends into `recorded/`: `python -m tests.contract.wire.record --server PATH [NAME …] [--chat GGUF]`.

Without names only what is missing is recorded, so that what tests say about the others stays true. `NAME.sse` is a streamed answer, `NAME.json` (for those in
WHOLE) the same not streamed, `refused/NAME.json` an error body. The model is the scripted one of tests/support, so anybody gets the same words; `unicode` needs
a model that can write (`--chat`), and `error.sse` is kept from a build that wrote a broken call. What a stream says beside words (ids, times, counts of the prompt) is of that run.
"""

import argparse
import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from tests.support.daemon import WATCHDOG, wait_until
from tests.support.scripted_gguf import scripted_model

RECORDED = Path(__file__).parent / "recorded"
CHAT, COMPLETIONS = "/v1/chat/completions", "/v1/completions"


def _function(name: str, **properties: str) -> dict[str, Any]:
    shape = {key: {"type": kind} for key, kind in properties.items()}
    parameters = {"type": "object", "properties": shape, "required": list(shape)}
    return {"type": "function", "function": {"name": name, "description": f"{name} it", "parameters": parameters}}


def _said(text: str, **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}], "max_tokens": 200, **more}


ADD, WEATHER = _function("add", a="integer", b="integer"), _function("get_weather", city="string")
PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["name", "age", "tags"],
}
AS_PERSON = {"type": "json_schema", "json_schema": {"name": "person", "schema": PERSON}}
UNKNOWN_TYPE = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "nothing"}}}
BAD_PATTERN = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "string", "pattern": "^(a$"}}}

REQUESTS: dict[str, dict[str, Any]] = {
    "text": _said("hi"),
    "text_without_usage": _said("hi", stream_options=None),
    "think": _said("think"),
    "long": _said("long", max_tokens=40),
    "schema": _said("hi", response_format=AS_PERSON),
    "stop_word": _said("hi", stop=["scripted"], verbose=True),
    "tool": _said("add", tools=[ADD]),
    "tool_cut": _said("add", tools=[ADD], max_tokens=30),
    "error_grammar": _said("call twice", tools=[ADD]),
    "completion": {"prompt": "<|say_hello|>", "max_tokens": 20},
    "unicode": {"prompt": "Fullwidth and emoji: ＃", "max_tokens": 24},
    "tool_parallel": _said("call twice", tools=[WEATHER, ADD]),
    "tool_parallel_cut": _said("call twice", tools=[WEATHER], max_tokens=8),
    "tool_forced": _said("hi", tools=[WEATHER], tool_choice="required"),
    "tool_required": _said("hi", tools=[ADD], tool_choice="required"),
    "think_tool": _said("ponder", tools=[ADD]),
    "think_cut": _said("think", max_tokens=3),
    "think_raw": _said("think", reasoning_format="none"),
    "two": _said("hi", n=2),
    "two_calls_each": _said("call twice", n=2, tools=[WEATHER]),
    "logprobs": _said("hi", logprobs=True, top_logprobs=2),
    "think_logprobs": _said("think", logprobs=True, top_logprobs=1),
    "completion_logprobs": {"prompt": "<|say_hello|>", "max_tokens": 20, "logprobs": 2},
    "nothing_cut": _said("hi", tools=[ADD], tool_choice="required", max_tokens=3),
    "progress": _said("hi", return_progress=True),
    "nothing": _said("hi", max_tokens=1, stop=["Hello"]),
}
"""Names and the bodies that were asked; what is streamed asks for its counts, but where it says that it does not."""
WHOLE = ("text", "completion", "stop_word", "think", "tool", "tool_parallel", "think_tool")
REFUSED: dict[str, dict[str, Any]] = {
    "schema_type": _said("hi", response_format=UNKNOWN_TYPE),
    "schema_pattern": _said("hi", response_format=BAD_PATTERN),
    "too_long": _said("word " * 5000),
    "too_many": _said("hi", n=99),
    "tool_choice": _said("hi", tools=[ADD], tool_choice="maybe"),
    "messages": {"messages": "hi"},
    "failed": _said("call twice", tools=[ADD]),
}


@contextmanager
def server(program: Path, weights: Path) -> Iterator[int]:
    """The port of a running llama-server with these weights."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [str(program), "-m", str(weights), "-a", "scripted", "--port", str(port), "-c", "4096", "-np", "4"]
    env = {**os.environ, "LD_LIBRARY_PATH": str(program.parent)}
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            [*words, "-t", "1", "--jinja"], env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
        try:
            assert wait_until(lambda: _healthy(port), WATCHDOG), "llama-server did not get ready"
            yield port
        finally:
            process.terminate()
            process.wait(WATCHDOG)


def _healthy(port: int) -> bool:
    try:
        return ask(port, "/health")[0] == 200
    except OSError:
        return False


def ask(port: int, path: str, body: dict[str, Any] | None = None) -> tuple[int, bytes]:
    """Status and bytes of one answer, as they came."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=WATCHDOG)) as connection:
        data = None if body is None else json.dumps({key: value for key, value in body.items() if value is not None})
        connection.request("POST" if data else "GET", path, data, {"content-type": "application/json"})
        with connection.getresponse() as got:
            return got.status, got.read()


def record(port: int, names: set[str]) -> Iterator[str]:
    """Writes those of these names that this server can say; yields what was written."""
    for name in sorted(names & REQUESTS.keys()):
        body = REQUESTS[name]
        path = COMPLETIONS if "prompt" in body else CHAT
        options = {"stream": True, "stream_options": {"include_usage": True}}
        yield _keep(f"{name}.sse", ask(port, path, {**options, **body}), refused=False)
        if name in WHOLE:
            yield _keep(f"{name}.json", ask(port, path, body), refused=False)
    for name in sorted(REFUSED):
        if f"refused/{name}" in names:
            yield _keep(f"refused/{name}.json", ask(port, CHAT, REFUSED[name]), refused=True)


def _keep(name: str, answer: tuple[int, bytes], *, refused: bool) -> str:
    status, raw = answer
    assert (status >= 400) == refused, (name, status, raw[:500])
    (RECORDED / name).parent.mkdir(exist_ok=True)
    (RECORDED / name).write_bytes(raw)
    return name


def main(words: list[str]) -> None:
    """Record what is asked for, or what is missing."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.contract.wire.record", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--server", type=Path, required=True, help="a llama-server")
    parser.add_argument("--chat", type=Path, help="a model that can write, for `unicode`")
    parser.add_argument("names", nargs="*", metavar="NAME", help="what to record anew (default: what is missing)")
    asked = parser.parse_args(words)
    known = {**{name: f"{name}.sse" for name in REQUESTS}, **{f"refused/{n}": f"refused/{n}.json" for n in REFUSED}}
    names = set(asked.names) or {name for name, file in known.items() if not (RECORDED / file).exists()}
    for weights, mine in ((scripted_model(), names - {"unicode"}), (asked.chat, names & {"unicode"})):
        if mine and weights:
            with server(asked.server, weights) as port:
                for written in record(port, mine):
                    print(written)


if __name__ == "__main__":
    main(sys.argv[1:])
