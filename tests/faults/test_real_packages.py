"""The real mlx-lm from the package index, installed by the verb and served (D22). Only with `make chaos`: a third of a gigabyte."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.conftest import CHAOS
from tests.support.daemon import ONE_THREAD, Daemon
from tests.support.shared import shared

pytestmark = pytest.mark.skipif(not CHAOS, reason="downloads a third of a gigabyte; make chaos does")

ASKED = {"model": "tiny-mlx", "messages": [{"role": "user", "content": "hello"}], "max_tokens": 4}


INSTALL_SECS = 900.0
"""Ten times as long as it takes on a machine that has nothing else to do."""


def install(daemon: Daemon) -> None:
    """As `Daemon.must`, with more patience."""
    words = [sys.executable, "-m", "blazar", "engine", "install", "--kind", "mlx", "--backend", "cpu"]
    done = subprocess.run(words, env=daemon.env, capture_output=True, text=True, timeout=INSTALL_SECS)
    assert done.returncode == 0, (done.stdout, done.stderr)


def rows(daemon: Daemon) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(daemon.must("engine", "list", "--json"))["engines"]
    return [row for row in found if row["kind"] == "mlx"]


def test_mlx_is_installed_and_serves_also_after_a_move(tmp_path: Path) -> None:
    """Pinned and recorded; nothing newer at once; the folder may be moved; removing leaves nothing."""
    daemon = Daemon(tmp_path / "one", ONE_THREAD)
    install(daemon)
    (row,) = rows(daemon)
    assert row["provenance"] == "python environment"
    assert f"mlx-lm=={row['version']}" in str(row["source"]).split()
    tag = str(row["tag"])
    lock = (daemon.data / "engines" / tag / "requirements.lock").read_text()
    assert lock.split() == str(row["source"]).split()
    assert json.loads(daemon.must("engine", "update", "--kind", "mlx", "--json"))["updated"] is False
    daemon.must("import", str(shared("models/tiny-mlx")), "--name", "tiny-mlx")

    (tmp_path / "two").mkdir()
    shutil.move(tmp_path / "one" / "data", tmp_path / "two" / "data")
    moved = Daemon(tmp_path / "two", ONE_THREAD)
    with moved:
        answer = moved.ask("POST", "/v1/chat/completions", ASKED)
        assert answer.status == 200, answer.body
        assert answer.json()["usage"]["completion_tokens"] == 4
    moved.must("engine", "rm", tag)
    assert rows(moved) == []
    assert [
        path for path in (moved.data / "engines").iterdir() if path.name.startswith((tag, ".staging", ".aside"))
    ] == []
