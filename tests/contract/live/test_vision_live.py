"""Pictures on a real engine: the first one has the child started anew with its projector, which then serves text as well."""

import base64
import importlib.util
import shutil
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest

from tests.support.builds import unpacked
from tests.support.daemon import ONE_THREAD, Daemon
from tests.support.shared import shared

SIDE = 56
TEXT = {"model": "m", "max_tokens": 4, "messages": [{"role": "user", "content": "hi"}]}


def png() -> str:
    """A grey square, as base64."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 0, 0, 0, 0)
    pixels = zlib.compress((b"\0" + b"\x7f" * SIDE) * SIDE)
    whole = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    return base64.b64encode(whole).decode()


def pictures() -> dict[str, dict[str, Any]]:
    """The same picture in three dialects."""
    data = png()
    said = {"type": "text", "text": "what is it?"}
    part = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
    block = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    chat = {"role": "user", "content": "what is it?", "images": [data]}
    return {
        "/v1/chat/completions": {**TEXT, "messages": [{"role": "user", "content": [said, part]}]},
        "/v1/messages": {**TEXT, "messages": [{"role": "user", "content": [said, block]}]},
        "/api/chat": {"model": "m", "stream": False, "messages": [chat], "options": {"num_predict": 4}},
        "/api/generate": {
            "model": "m",
            "stream": False,
            "prompt": "what is it?",
            "images": [data],
            "options": {"num_predict": 4},
        },
    }


def archive_server(folder: Path) -> str:
    """llama-server of a release archive."""
    archive = shared("engines/llama-b11434-bin-linux-x64.tar.gz")
    listed = (line.split() for line in shared("engines/SHA256SUMS").read_text().splitlines())
    digests = {name: digest for digest, name in listed}
    _, server = unpacked(folder, archive, digests[archive.name])
    return server


@pytest.fixture(params=["archive", "embedded"])
def daemon(request: pytest.FixtureRequest, tmp_path: Path) -> Daemon:
    """Not started yet; a tiny model is in it, imported with a projector of random weights beside it."""
    env = {}
    if request.param == "archive":
        env["BLAZAR_ENGINE_PATH"] = archive_server(tmp_path / "engine")
    elif importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("needs the embedded engine: pip install -e '.[embedded]'")
    made = Daemon(tmp_path, ONE_THREAD, env)
    folder = tmp_path / "downloads"
    folder.mkdir()
    shutil.copy(shared("models/tiny-llama.gguf"), folder / "m.gguf")
    shutil.copy(shared("models/mmproj-64.gguf"), folder / "mmproj-F16.gguf")
    made.must("import", str(folder / "m.gguf"), "--name", "m")
    return made


def words(daemon: Daemon) -> list[str]:
    """The command line of the only child."""
    (child,) = daemon.children()
    return Path(f"/proc/{child}/cmdline").read_bytes().decode().split("\0")


@pytest.mark.engine
def test_the_first_picture_brings_the_projector(daemon: Daemon) -> None:
    """Text is served by a plain child, a picture in any dialect by one with the projector, and text afterwards by the same."""
    with daemon:
        chat = "/v1/chat/completions"
        assert daemon.ask("POST", chat, TEXT).status == 200
        (plain,) = daemon.children()
        assert "--mmproj" not in words(daemon)
        for path, body in pictures().items():
            answer = daemon.ask("POST", path, body)
            assert answer.status == 200, (path, answer.body)
        (seeing,) = daemon.children()
        assert seeing != plain
        file = Path(words(daemon)[words(daemon).index("--mmproj") + 1])
        assert file.samefile(daemon.home / "downloads" / "mmproj-F16.gguf")
        assert daemon.ask("POST", chat, TEXT).status == 200
        assert daemon.children() == [seeing]
        shown = daemon.ask("POST", "/api/show", {"model": "m"}).json()
        assert shown["projector_info"]["general.architecture"] == "clip"
        assert shown["projector_info"]["general.parameter_count"] > 0
        assert [Path(line.removeprefix("FROM ")).exists() for line in shown["modelfile"].splitlines()] == [True, True]
        assert daemon.ask("POST", "/api/evict", {"model": "m@vision"}).json() == {"evicted": ["m"]}
        assert daemon.ask("POST", chat, TEXT).status == 200
        assert "--mmproj" not in words(daemon)
        assert daemon.ask("POST", "/api/load", {"model": "m@vision"}).status == 200
        assert "--mmproj" in words(daemon)


@pytest.mark.engine
def test_without_a_projector_a_picture_is_refused(daemon: Daemon) -> None:
    """A 400 that says what to do, in every dialect, and the child that serves text stays."""
    daemon.config_file.write_text(f'{ONE_THREAD}mmproj_policy = "skip"\n')
    with daemon:
        assert daemon.ask("POST", "/v1/chat/completions", TEXT).status == 200
        before = daemon.children()
        for path, body in pictures().items():
            answer = daemon.ask("POST", path, body)
            assert answer.status == 400, (path, answer.body)
            assert b"'m' takes no pictures" in answer.body
        assert daemon.children() == before


@pytest.mark.engine
def test_a_projector_of_another_model_leaves_text_alone(daemon: Daemon, tmp_path: Path) -> None:
    """The engine ends itself over it; who brought the picture hears so, and text is served before and after."""
    wrong = tmp_path / "wrong.gguf"
    wrong.write_bytes(
        shared("models/mmproj-64.gguf").read_bytes().replace(b"clip.vision.block_count", b"clip.vision.block_kount")
    )
    daemon.config_file.write_text(f'{ONE_THREAD}[model_overrides.m]\nmmproj = "{wrong}"\n')
    with daemon:
        chat = "/v1/chat/completions"
        assert daemon.ask("POST", chat, TEXT).status == 200
        answer = daemon.ask("POST", chat, pictures()[chat])
        assert answer.status == 502, answer.body
        assert b"'m' could not be loaded with its projector" in answer.body
        assert daemon.ask("POST", chat, TEXT).status == 200
        assert "--mmproj" not in words(daemon)
