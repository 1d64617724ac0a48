"""Pictures from the real sd-server, through the whole daemon."""

import asyncio
import base64
import hashlib
import http.client
import json
import os
import signal
import struct
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from blazar.adapters.engines import children as module
from blazar.adapters.engines.children import SubprocessChildren
from blazar.adapters.engines.drivers import SPECS
from blazar.adapters.hardware.processes import SystemProcesses
from blazar.application.ports.children import Child, LaunchPlan
from blazar.composition.daemon import connect
from blazar.domain.kinds import EngineKind
from blazar.domain.wire.images import MOST_PICTURES
from blazar.domain.wire.pictures import Picture, Size, picture_of
from tests.support.daemon import ONE_THREAD, Answer, Daemon, wait_until
from tests.support.engine import LoopClock, RealEntropy
from tests.support.other_engines import enter, tiny_sd
from tests.support.shared import shared

PATH = "/v1/images/generations"


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """One with sd-server and its smallest model, beside a text model."""
    home = tmp_path_factory.mktemp("sd")
    made = Daemon(home, ONE_THREAD)
    archive = shared("engines/sd-bin-linux-x64.tar.gz")
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    made.must("engine", "install", str(archive), "--kind", "sdcpp", "--tag", "sd-0.4.7", "--sha256", digest)
    made.must("import", str(shared("models/tiny-llama.gguf")), "--name", "text")
    main, *others = (f"{role}={path}" for role, path in tiny_sd().components)
    words = [word for part in others for word in ("--with", part)]
    made.must("import", main.partition("=")[2], "--name", "tiny-sd", *words)
    with made:
        yield made


def draw(daemon: Daemon, **more: object) -> Answer:
    return daemon.ask("POST", PATH, {"model": "tiny-sd", "prompt": "a cat", "size": "64x64", "steps": 1, **more})


def pixels(png: bytes) -> tuple[int, int, bytes]:
    """Width, height and filtered rows of a PNG; its checksums hold."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    at, data, size = 8, b"", (0, 0)
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at : at + 8])
        body = png[at + 8 : at + 8 + length]
        assert struct.unpack(">I", png[at + 8 + length : at + 12 + length])[0] == zlib.crc32(kind + body)
        if kind == b"IHDR":
            size = struct.unpack(">II", body[:8])
        elif kind == b"IDAT":
            data += body
        at += 12 + length
    return *size, zlib.decompress(data)


def test_a_prompt_becomes_a_true_picture(daemon: Daemon) -> None:
    """A PNG of the size that was asked for, whose checksums and rows hold; the child is listed and its lease came back."""
    answer = draw(daemon)
    assert answer.status == 200, answer.body
    row = answer.json()["data"][0]
    width, height, rows = pixels(base64.b64decode(row["b64_json"]))
    assert (width, height, len(rows)) == (64, 64, 64 * (1 + 3 * 64))
    listed = daemon.ask("GET", "/api/ps").json()["models"]
    assert [one["name"].removesuffix(":latest") for one in listed] == ["tiny-sd"]
    meta = {row["id"]: row["meta"] for row in daemon.ask("GET", "/v1/models").json()["data"]}
    assert not {"n_ctx_train", "n_embd"} & set(meta["tiny-sd"])
    assert listed[0]["context_length"] == 0  # a plan has a window, a picture has none
    assert "ctx" not in daemon.must("explain", "tiny-sd").split()


def test_a_seed_repeats_a_picture_and_none_makes_another(daemon: Daemon) -> None:
    """The engine's own seed is a constant, so that every picture without one would be the same."""

    def picture(**more: object) -> str:
        text: str = draw(daemon, **more).json()["data"][0]["b64_json"]
        return text

    assert picture(seed=7) == picture(seed=7)
    assert len({picture(), picture()}) == 2


def test_sides_that_the_model_cannot_draw_are_rounded_up_and_said(daemon: Daemon) -> None:
    """Nobody has to measure the picture to find out."""
    answer = draw(daemon, size="63x65")
    width, height, _ = pixels(base64.b64decode(answer.json()["data"][0]["b64_json"]))
    assert (width, height) == (64, 72)
    assert "63x65 became 64x72" in answer.headers["x-blazar-warning"]


def test_several_pictures_and_data_urls(daemon: Daemon) -> None:
    """`n` of them; `url` is a data URL, for nothing is kept that could be fetched."""
    rows = draw(daemon, n=2, response_format="url").json()["data"]
    assert len(rows) == 2
    for row in rows:
        kind, _, text = row["url"].partition(";base64,")
        assert (kind, pixels(base64.b64decode(text))[:2]) == ("data:image/png", (64, 64))


def test_as_many_pictures_as_one_request_may_ask_for(daemon: Daemon) -> None:
    """The engine draws every one of them: less or more would be a 502."""
    answer = draw(daemon, n=MOST_PICTURES)
    assert answer.status == 200, answer.body
    assert len(answer.json()["data"]) == MOST_PICTURES


@pytest.mark.parametrize("form", ["png", "jpeg"])
def test_a_picture_has_the_form_that_was_asked_for(daemon: Daemon, form: str) -> None:
    """And is known for what it is; there is nothing to warn about."""
    answer = draw(daemon, output_format=form, response_format="url")
    (row,) = answer.json()["data"]
    kind, _, text = row["url"].partition(";base64,")
    assert kind == f"data:image/{form}"
    assert picture_of(text) == Picture(form, Size(64, 64))
    assert "x-blazar-warning" not in answer.headers


def test_a_prompt_cannot_give_orders(daemon: Daemon) -> None:
    """The engine's tag in a prompt is text: neither the size nor the seed of that order is obeyed."""
    order = '<sd_cpp_extra_args>{"width":128,"height":128,"seed":5}</sd_cpp_extra_args>'
    answer = draw(daemon, prompt=f"a cat {order}")
    assert answer.status == 200, answer.body
    assert pixels(base64.b64decode(answer.json()["data"][0]["b64_json"]))[:2] == (64, 64)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "hi"}]}),
        ("/v1/completions", {"prompt": "hi"}),
        ("/v1/embeddings", {"input": "hi"}),
        ("/v1/messages", {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 5}),
        ("/api/chat", {"messages": [{"role": "user", "content": "hi"}]}),
        ("/api/embed", {"input": "hi"}),
    ],
)
def test_text_is_not_asked_of_it(daemon: Daemon, path: str, body: dict[str, object]) -> None:
    """Every text surface is a 400 that names the images endpoint."""
    answer = daemon.ask("POST", path, {"model": "tiny-sd", **body})
    assert answer.status == 400
    assert PATH in json.dumps(answer.json())


def test_a_text_model_draws_nothing(daemon: Daemon) -> None:
    """The gate works in both directions, and nothing is loaded for it."""
    answer = daemon.ask("POST", PATH, {"model": "text", "prompt": "a cat"})
    assert answer.status == 400
    assert "/v1/chat/completions" in answer.json()["error"]["message"]
    listed = daemon.ask("GET", "/api/ps").json()["models"]
    assert "text" not in [one["key"] for one in listed]


def test_a_child_that_crashes_over_a_picture_says_its_last(daemon: Daemon) -> None:
    """502 with the signal and its last lines, as for a bare Flux file that ends it by SIGSEGV; the next picture gets a fresh child."""
    assert draw(daemon).status == 200

    def busy() -> bool:
        rows = daemon.ask("GET", "/api/ps").json()["models"]
        return bool(rows) and rows[0]["in_flight"] == 1

    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(draw, daemon, steps=1000)
        assert wait_until(busy, 60)
        os.kill(daemon.ask("GET", "/api/ps").json()["models"][0]["pid"], signal.SIGSEGV)
        said = answer.result(60)
    assert said.status == 502
    assert "SIGSEGV" in said.json()["error"]["message"]
    assert "said last" in said.json()["error"]["message"]
    assert draw(daemon).status == 200


def test_a_picture_that_nobody_waits_for_is_drawn_before_the_next(daemon: Daemon) -> None:
    """The engine cannot be stopped: its place stays taken, so that the next one waits in line and then finds it free."""
    assert draw(daemon).status == 200

    def running() -> int:
        rows = daemon.ask("GET", "/api/ps").json()["models"]
        return sum(row["in_flight"] for row in rows)

    body = {"model": "tiny-sd", "prompt": "a cat", "size": "64x64", "steps": 200}
    with closing(http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=60)) as client:
        client.request("POST", PATH, json.dumps(body), {"content-type": "application/json"})
        assert wait_until(lambda: running() == 1, 60)
    assert running() == 1
    answer = draw(daemon)
    assert answer.status == 200, answer.body
    assert int(answer.headers["x-blazar-queue-ms"]) > 0
    assert wait_until(lambda: running() == 0, 60)


def test_a_set_without_its_encoder_says_why(daemon: Daemon) -> None:
    """A child that dies, while it loads or over its first picture, is a 5xx with what it said last, and the daemon goes on."""
    bare = tiny_sd("bare")
    parts = tuple(part for part in bare.components if part[0] != "llm")
    row = replace(bare, components=parts, files=tuple(path for _, path in parts), sizes=bare.sizes[: len(parts)])
    enter(daemon, None, row)
    answer = daemon.ask("POST", PATH, {"model": "bare", "prompt": "a cat", "size": "64x64", "steps": 1})
    assert answer.status in (500, 502, 503), answer.body
    assert "said last" in answer.json()["error"]["message"]
    assert draw(daemon).status == 200


def test_a_second_server_that_shares_the_port_is_seen(
    tmp_path: Path, daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both listen and neither fails: ours is ended and starts over on a port of its own (G17)."""
    parts = [word for role, path in tiny_sd().components for word in (f"--{role.replace('_', '-')}", path)]
    words = (str(next(daemon.data.rglob("sd-server"))), *parts, "-t", "1")
    run_dir = tmp_path / "run"
    run_dir.mkdir()
    plan = LaunchPlan("sd", "sd", EngineKind.SDCPP, "sd-0.4.7", words, listed="sd-cpp-local")

    async def scenario() -> None:
        children = SubprocessChildren(run_dir, LoopClock(), RealEntropy(), connect, SPECS, processes=SystemProcesses())
        stranger = await ready(await children.spawn(plan._replace(key="stranger")))
        offered = [stranger.port]
        honest = module.free_port
        monkeypatch.setattr(module, "free_port", lambda: offered.pop() if offered else honest())
        children._live.clear()  # what it is offered is no child's of ours, as far as it knows
        child = await children.spawn(plan)
        first = child.pid
        assert child.port == stranger.port
        await ready(child)
        assert child.pid != first
        assert child.port != stranger.port
        for one in (child, stranger):
            one.signal(signal.SIGTERM)
            await one.wait()
            await one.aclose()

    asyncio.run(asyncio.wait_for(scenario(), 120))


async def ready(child: Child) -> Child:
    """The same, once it serves."""
    while not await child.is_ready():
        await asyncio.sleep(0.05)
    return child
