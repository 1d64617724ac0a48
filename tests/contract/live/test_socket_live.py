"""Real engines behind socket files: loaded, asked, evicted; and what is left when the daemon is killed."""

import importlib.util
from pathlib import Path

import pytest

from tests.support.builds import unpacked
from tests.support.daemon import ONE_THREAD, Daemon, alive, wait_until
from tests.support.scripted_gguf import HELLO, scripted_model
from tests.support.shared import shared

CHAT = {"model": "scripted", "messages": [{"role": "user", "content": "hi"}]}


def archive_server(folder: Path) -> str:
    """llama-server of a release archive."""
    archive = shared("engines/llama-b11434-bin-linux-x64.tar.gz")
    listed = (line.split() for line in shared("engines/SHA256SUMS").read_text().splitlines())
    digests = {name: digest for digest, name in listed}
    _, server = unpacked(folder, archive, digests[archive.name])
    return server


@pytest.fixture(params=["archive", "embedded"])
def daemon(request: pytest.FixtureRequest, tmp_path: Path) -> Daemon:
    """Not started yet; the scripted model is in it."""
    env = {}
    if request.param == "archive":
        env["BLAZAR_ENGINE_PATH"] = archive_server(tmp_path / "engine")
    elif importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("needs the embedded engine: pip install -e '.[embedded]'")
    made = Daemon(tmp_path, f'{ONE_THREAD}child_transport = "unix"\n', env)
    made.must("import", str(scripted_model()), "--name", "scripted")
    return made


@pytest.mark.engine
def test_a_life_on_a_socket(daemon: Daemon) -> None:
    """Loaded, asked and evicted, no file is left; of a killed daemon none is left once the next one runs."""

    def answer() -> str:
        text: str = daemon.ask("POST", "/v1/chat/completions", CHAT).json()["choices"][0]["message"]["content"]
        return text

    def sockets() -> list[str]:
        return [path.name for path in daemon.run_dir.glob("*.sock")]

    with daemon:
        assert daemon.ask("POST", "/api/load", {"model": "scripted"}).status == 200
        assert sockets() == ["scripted.sock"]
        assert answer() == HELLO
        assert daemon.ask("POST", "/api/evict", {"model": "scripted"}).status == 200
        assert sockets() == []
        assert answer() == HELLO
        (child,) = daemon.children()
        daemon.kill()
        assert wait_until(lambda: not alive(child), 60)
        daemon.start()
        assert sockets() == []
        assert answer() == HELLO
        assert daemon.stop() == 0
        assert sockets() == []
