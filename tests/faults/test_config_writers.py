"""Several processes write the configuration file at once, and the disk is full: nothing that was said is lost."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

from blazar.adapters.files.configfile import write_new_keys

START = "# mine\nhost = 'h' # kept\n\n[gateway]\n# here too\ncors_origins = ['https://x.example']\n"

WRITERS = (
    {"port": "1", "engine_env.A": "a", "preload": "p"},
    {"default_ctx": "512", "engine_env.B": "b", "slots": "2"},
    {"model_overrides.m.ctx": "512", "engine_env.C": "c", "warmup": "false"},
    {"model_overrides.m.slots": "3", "engine_env.D": "d", "threads": "4"},
    {"model_overrides.n.pin": "true", "engine_env.E": "e", "gateway.allowed_hosts": "w.lan"},
)

CODE = """
import sys
from blazar.__main__ import main
words = sys.argv[1:]
for key, value in zip(words[::2], words[1::2], strict=True):
    sys.argv = ["blazar", "config", "set", key, value]
    if code := main(): sys.exit(code)
"""


def start(home: Path, values: dict[str, str]) -> subprocess.Popen[str]:
    """One process that sets key after key."""
    env = {**os.environ, "XDG_CONFIG_HOME": str(home), "XDG_DATA_HOME": str(home)}
    words = [word for pair in values.items() for word in pair]
    return subprocess.Popen(
        [sys.executable, "-c", CODE, *words], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_five_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    """And neither does a daemon that brings keys along: every value, every comment, one file, ten backups."""
    file = tmp_path / "blazar" / "config.toml"
    file.parent.mkdir()
    file.write_text(START)
    processes = [start(tmp_path, values) for values in WRITERS]
    try:
        for number in range(5):
            write_new_keys(file, {"BLAZAR_KEYS": f"k{number}:plm_{number}"})
        said = [process.communicate(timeout=120) for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert [(process.returncode, err) for process, (_, err) in zip(processes, said, strict=True)] == [(0, "")] * 5
    raw = tomllib.loads(file.read_text())
    assert raw["engine_env"] == {"A": "a", "B": "b", "C": "c", "D": "d", "E": "e"}
    assert raw["model_overrides"] == {"m": {"ctx": 512, "slots": 3}, "n": {"pin": True}}
    assert {key: raw[key] for key in ("host", "port", "preload", "default_ctx", "slots", "warmup", "threads")} == {
        "host": "h",
        "port": 1,
        "preload": ["p"],
        "default_ctx": 512,
        "slots": 2,
        "warmup": False,
        "threads": 4,
    }
    assert raw["allowed_hosts"] == ["w.lan"]
    assert [key["name"] for key in raw["keys"]] == [f"k{number}" for number in range(5)]
    for line in START.splitlines():
        assert line in file.read_text().splitlines()
    beside = [path.name for path in file.parent.iterdir() if path != file]
    assert len(beside) == 10
    assert all(name.endswith(".bak") for name in beside)


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    """Exit 1, one line, no traceback, nothing changed."""
    file = tmp_path / "blazar" / "config.toml"
    file.parent.mkdir()
    file.write_text(START)
    (tmp_path / "blazar" / ".config.toml.lock").mkdir()  # stands in the way of the lock, for root too
    process = start(tmp_path, {"port": "1"})
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (1, "")
    assert err == f"error: {file} is as it was: it cannot be written (Is a directory)\n"
    assert file.read_text() == START


def test_a_limit_on_file_size_is_a_full_disk(tmp_path: Path) -> None:
    """The kernel refuses in the middle of the write: no half file, no leftovers, exit 1 with a sentence."""
    file = tmp_path / "blazar" / "config.toml"
    file.parent.mkdir()
    text = START + "# padding\n" * 500
    file.write_text(text)
    env = {**os.environ, "XDG_CONFIG_HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}
    limited = "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    limited += "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
    done = subprocess.run(
        [sys.executable, "-B", "-c", limited + CODE, "port", "1"], env=env, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"error: {file} is as it was: it cannot be written (File too large)\n"
    assert file.read_text() == text
    assert list(file.parent.iterdir()) == [file]
