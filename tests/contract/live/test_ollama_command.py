"""What ollama's own command line sends, replayed with its headers: the binary cannot be had here.

The requests are those of cmd/cmd.go and api/client.go of ollama/ollama: every one with its JSON accept header and user agent, and
HEAD / before anything else.
"""

import hashlib
import http.client
import json
from collections.abc import Callable
from contextlib import closing
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest

from tests.contract.live.conftest import Gateway
from tests.matrix.gateway import smollm2


class Said(NamedTuple):
    """A status, the kind of content, and the lines of a body."""

    status: int
    kind: str
    lines: list[Any]
    text: str


Ask = Callable[..., Said]


@pytest.fixture
def ask(gateway: Gateway) -> Ask:
    """One request as `api.Client` makes it."""
    at = urlsplit(gateway.url)

    def asked(method: str, path: str, body: Any = None, *, stream: bool = False) -> Said:
        headers = {
            "User-Agent": "ollama/0.32.0 (amd64 linux) Go/go1.24.1",
            "Accept": "application/x-ndjson" if stream else "application/json",
            "Content-Type": "application/json",
            "Authorization": f"Bearer {gateway.key}",
        }
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        with closing(http.client.HTTPConnection(at.hostname or "", at.port, timeout=120)) as line:
            line.request(method, path, data, headers)
            with line.getresponse() as got:
                text = got.read().decode()
                kind = got.headers.get("content-type", "")
                rows = [json.loads(row) for row in text.splitlines() if row.startswith("{")]
                return Said(got.status, kind, rows, text)

    assert asked("HEAD", "/").status == 200
    return asked


def test_list_and_ps(ask: Ask, gateway: Gateway) -> None:
    """It prints twelve digits of a digest and ages of times; HEAD of a listing is what a probe asks."""
    ask("POST", "/api/generate", {"model": gateway.chat, "prompt": "", "stream": True}, stream=True)
    for path in ("/api/tags", "/api/ps"):
        for row in ask("GET", path).lines[0]["models"]:
            assert len(row["digest"]) >= 12
            assert row["size"] > 0
            assert row["details"]["families"]
        assert ask("HEAD", path).status == 200
    row = next(row for row in ask("GET", "/api/ps").lines[0]["models"] if row["name"] == gateway.chat)
    assert {"name", "model", "size", "size_vram", "digest", "details", "expires_at", "context_length"} <= set(row)


def test_show_prints_what_it_reads(ask: Ask, gateway: Gateway) -> None:
    """Architecture, count, window and width come out of `model_info` as numbers."""
    told = ask("POST", "/api/show", {"model": gateway.chat}).lines[0]
    arch = told["model_info"]["general.architecture"]
    for key in ("general.parameter_count", f"{arch}.context_length", f"{arch}.embedding_length"):
        assert isinstance(told["model_info"][key], int)
    assert told["capabilities"]
    assert told["details"]["quantization_level"]


def test_run_with_a_prompt(ask: Ask, gateway: Gateway) -> None:
    """`ollama run MODEL "hi"`: show, load, then a streamed generate; think is left out."""
    assert ask("POST", "/api/show", {"model": gateway.chat}).status == 200
    body = {
        "model": gateway.chat,
        "prompt": "hi",
        "suffix": "",
        "system": "",
        "template": "",
        "format": "",
        "images": [],
        "context": None,
        "options": {"num_predict": 4},
        "stream": True,
    }
    said = ask("POST", "/api/generate", body, stream=True)
    assert said.kind == "application/x-ndjson"
    assert [line["done"] for line in said.lines].count(True) == 1
    assert said.lines[-1]["eval_count"] == 4


def test_run_as_a_conversation(ask: Ask, gateway: Gateway) -> None:
    """The interactive mode loads with an empty prompt, then chats with the whole history."""
    load = ask("POST", "/api/generate", {"model": gateway.chat, "prompt": "", "keep_alive": "5m"}, stream=True)
    assert load.lines[-1]["done_reason"] == "load"
    said = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}, {"role": "user", "content": "?"}]
    got = ask(
        "POST",
        "/api/chat",
        {"model": gateway.chat, "messages": said, "format": "", "options": {"num_predict": 3}, "keep_alive": "5m"},
        stream=True,
    )
    assert got.lines[-1]["done"]
    assert "".join(line["message"]["content"] for line in got.lines)


def test_stop(ask: Ask, gateway: Gateway) -> None:
    """An empty prompt with zero to keep."""
    said = ask("POST", "/api/generate", {"model": gateway.chat, "prompt": "", "keep_alive": 0}, stream=True)
    assert said.lines[-1]["done_reason"] == "unload"
    assert gateway.chat not in {row["name"] for row in ask("GET", "/api/ps").lines[0]["models"]}


def test_cp_and_rm(ask: Ask, gateway: Gateway) -> None:
    """Empty 200s; `rm` unloads first, and asks about a model that is not loaded all the same."""
    assert ask("POST", "/api/copy", {"source": gateway.chat, "destination": "replayed"}).status == 200
    ask("POST", "/api/generate", {"model": "replayed", "prompt": "", "keep_alive": 0})
    assert ask("DELETE", "/api/delete", {"model": "replayed"}).status == 200
    gone = ask("DELETE", "/api/delete", {"model": "replayed"})
    assert (gone.status, "replayed" in gone.lines[0]["error"]) == (404, True)


def test_create_from_a_file(ask: Ask, gateway: Gateway) -> None:
    """`ollama create NAME -f Modelfile`: a look for the blob, the blob, and the fields of the Modelfile."""
    file = smollm2()
    if file is None or not gateway.scripted:
        pytest.skip("writes into the gateway, and needs the model package")
    data = file.read_bytes()
    digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
    if ask("HEAD", f"/api/blobs/{digest}").status != 200:
        assert ask("POST", f"/api/blobs/{digest}", data).status == 201
    assert ask("HEAD", f"/api/blobs/{digest}").status == 200
    body = {
        "model": "made",
        "files": {file.name: digest},
        "system": "S",
        "parameters": {"stop": ["x"], "num_predict": 2},
    }
    made = ask("POST", "/api/create", {**body, "stream": True}, stream=True)
    assert made.lines[-1] == {"status": "success"}
    said = ask("POST", "/api/generate", {"model": "made", "prompt": "hi", "stream": False})
    assert said.lines[0]["eval_count"] <= 2
    assert ask("DELETE", "/api/delete", {"model": "made"}).status == 200


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/api/pull", {"model": "./m.gguf", "stream": True}),
        ("POST", "/api/push", {"model": "me/x", "stream": True}),
        ("POST", "/api/me", {}),
        ("POST", "/api/signout", {}),
        ("POST", "/api/web_search", {"query": "x"}),
        ("GET", "/api/experimental/model-recommendations", None),
    ],
)
def test_what_is_not_here_is_said_in_a_sentence(ask: Ask, method: str, path: str, body: Any) -> None:
    """The command line prints the text of `error`, whatever the status."""
    said = ask(method, path, body, stream=True)
    assert 400 <= said.status < 500
    assert len(said.lines[0]["error"]) > 20
    assert path not in said.lines[0]["error"]


def test_the_version_is_a_number(ask: Ask) -> None:
    """`ollama --version` compares it with its own (D13)."""
    assert ask("GET", "/api/version").lines[0]["version"].replace(".", "").isdigit()
