"""A sixth engine kind is one folder: `tests/toy` adds one, and a request goes the whole way through the daemon to its server."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pytest

from tests.support.daemon import Daemon

ROOT = Path(__file__).resolve().parents[2]
HELLO = [{"role": "user", "content": "hello"}]


class ToyDaemon(Daemon):
    """`tests.toy.main` instead of `blazar`."""

    def spawn(self, *more: str) -> Self:
        words = [sys.executable, "-m", "tests.toy.main", str(self.data), "serve", "--port", "0", *more]
        self.errors = self.home / "stderr.txt"
        env = {**self.env, "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), self.env.get("PYTHONPATH"))))}
        with self.errors.open("ab") as errors:
            self.process = subprocess.Popen(
                words, env=env, cwd=self.home, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors
            )
        return self


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with ToyDaemon(tmp_path_factory.mktemp("toy")) as made:
        yield made


def test_a_request_goes_the_whole_way(daemon: Daemon) -> None:
    """Routed, compiled, started, known by what it lists, asked by its own name with a bound, answered under ours."""
    answer = daemon.ask("POST", "/v1/chat/completions", {"model": "m", "messages": HELLO})
    assert (answer.status, answer.json()["model"]) == (200, "m"), answer.body
    row = daemon.ask("GET", "/api/ps").json()["models"][0]
    assert (row["engine"], row["state"]) == ("toy-1", "serving")


def test_the_other_dialects_reach_it_too(daemon: Daemon) -> None:
    """Nothing about it stands in a translator."""
    chat = daemon.ask("POST", "/api/chat", {"model": "m", "messages": HELLO, "format": "json"})
    assert json.loads(chat.body.splitlines()[-1])["done_reason"] == "stop"
    messages = daemon.ask("POST", "/v1/messages", {"model": "m", "messages": HELLO, "max_tokens": 9})
    assert messages.json()["content"][0]["text"] == "Hello from the stub."


def test_what_it_cannot_do_is_told_under_its_name(daemon: Daemon) -> None:
    """From its manners alone."""
    cut = daemon.ask("POST", "/tokenize", {"model": "m", "content": "a"})
    assert cut.status == 400
    assert "served by toy" in cut.json()["error"]["message"]
    count = daemon.ask("POST", "/v1/messages/count_tokens", {"model": "m", "messages": HELLO})
    assert count.status == 200, count.body
    assert count.json()["input_tokens"] > 0


def test_its_command_line_is_explained(daemon: Daemon) -> None:
    """Each word with its reason, as for every other kind."""
    explained = daemon.ask("GET", "/api/explain?model=m")
    assert explained.status == 200, explained.body
    assert b"it would write every prompt into its log" in explained.body
