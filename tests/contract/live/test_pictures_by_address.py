"""Pictures that a request names by their address, on a real engine: what it sees is what it would have seen in the request itself."""

import base64
import importlib.util
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.live.test_vision_live import png
from tests.support.daemon import ONE_THREAD, Daemon
from tests.support.registry import Answer, Registry
from tests.support.shared import shared

# Test-only: the daemon itself never takes a loopback address for a public one, and has no word to be told so.
ALLOWANCE = """
from blazar.adapters.net import pictures
pictures.PublicPictures.__init__.__defaults__ = (pictures.resolved, lambda address: address == "127.0.0.1", 10.0)
"""


@pytest.fixture
def network() -> Iterator[Registry]:
    server = Registry()
    server.given["/cat.png"] = Answer(base64.b64decode(png()), headers=(("content-type", "text/plain"),))
    server.given["/moved"] = Answer(status=302, headers=(("location", "/cat.png"),))
    server.given["/page"] = Answer(b"<html>")
    yield server
    server.close()


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    if importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("needs the embedded engine: pip install -e '.[embedded]'")
    folder = tmp_path / "allowance"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(ALLOWANCE)
    made = Daemon(tmp_path, ONE_THREAD, {"PYTHONPATH": f"{folder}:{Path.cwd()}"})
    models = tmp_path / "downloads"
    models.mkdir()
    shutil.copy(shared("models/tiny-llama.gguf"), models / "m.gguf")
    shutil.copy(shared("models/mmproj-64.gguf"), models / "mmproj-F16.gguf")
    made.must("import", str(models / "m.gguf"), "--name", "m")
    with made:
        yield made


def asked(picture: str) -> dict[str, dict[str, Any]]:
    """The picture in every dialect, by its address or as data."""
    data = picture.removeprefix("data:image/png;base64,")
    held = {"type": "base64", "media_type": "image/png", "data": data}
    source = held if data != picture else {"type": "url", "url": picture}
    text = {"type": "text", "text": "what is it?"}
    spoken = {"role": "user", "content": [text, {"type": "image_url", "image_url": {"url": picture}}]}
    item = {"role": "user", "content": [{"type": "input_text", "text": "what is it?"}]}
    item["content"].append({"type": "input_image", "image_url": picture})  # type: ignore[attr-defined]
    base = {"model": "m", "stream": False}
    block = [{"role": "user", "content": [text, {"type": "image", "source": source}]}]
    return {
        "/v1/chat/completions": {**base, "max_tokens": 4, "messages": [spoken]},
        "/v1/messages": {**base, "max_tokens": 4, "messages": block},
        "/v1/messages/count_tokens": {"model": "m", "messages": block},
        "/v1/responses": {**base, "max_output_tokens": 4, "store": False, "input": [item]},
        "/api/chat": {**base, "messages": [{"role": "user", "content": "what is it?", "images": [data]}]},
    }


def prompt_tokens(answer: Any) -> int:
    """Of whatever dialect."""
    counts = answer.get("usage") or answer
    fields = ("prompt_tokens", "input_tokens", "prompt_eval_count")
    return int(next(counts[field] for field in fields if field in counts))


@pytest.mark.engine
def test_a_fetched_picture_is_the_same_as_a_sent_one(daemon: Daemon, network: Registry) -> None:
    """The same tokens in every dialect, behind a redirect too, and the counted ones are those of the real call (C3, D14)."""
    sent = asked(f"data:image/png;base64,{png()}")
    for address in ("/cat.png", "/moved"):
        for path, body in asked(network.url + address).items():
            answer, same = daemon.ask("POST", path, body), daemon.ask("POST", path, sent[path])
            assert (answer.status, same.status) == (200, 200), (path, answer.body, same.body)
            assert prompt_tokens(answer.json()) == prompt_tokens(same.json()) > 10, path
    counts = {prompt_tokens(daemon.ask("POST", path, body).json()) for path, body in sent.items()}
    assert len(counts) == 1


@pytest.mark.engine
def test_what_cannot_be_fetched_is_a_400_that_names_it(daemon: Daemon, network: Registry) -> None:
    """In the dialect's own envelope, and the engine was not bothered."""
    for address, why in (("/page", b"no PNG"), ("/gone", b"answered 404")):
        for path, body in asked(network.url + address).items():
            answer = daemon.ask("POST", path, body)
            assert answer.status == 400, (path, answer.body)
            assert why in answer.body
    assert not daemon.children()
