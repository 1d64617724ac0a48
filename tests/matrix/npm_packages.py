"""The npm clients of the matrix: installed once into .cache/npm from tests/matrix/npm/package.json, driven by node.

Each client has one script `tests/matrix/npm/NAME.mjs` that makes all of its checks in one process (starting node for each would
cost more than the checks) and prints one JSON line a check. What they print is told check by check.
"""

import json
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

from tests.matrix.registry import ROLES, Lacking, Target

HERE = Path(__file__).resolve().parent / "npm"
INSTALLED = HERE.parents[2] / ".cache" / "npm"
PATIENCE = 300.0
"""Seconds one script may take; a client that hangs is a miss."""


@cache
def install() -> str:
    """Install the packages where they are not; why that cannot be, or ""."""
    if not (npm := shutil.which("npm")) or not shutil.which("node"):
        return "node and npm are not on the PATH"
    wanted = (HERE / "package.json").read_bytes()
    stamp = INSTALLED / "installed.json"
    listed = INSTALLED / "node_modules" / ".package-lock.json"
    if stamp.is_file() and stamp.read_bytes() == wanted and listed.is_file():
        return ""
    INSTALLED.mkdir(parents=True, exist_ok=True)
    stamp.unlink(missing_ok=True)  # until the end of an installation there is none
    (INSTALLED / "package.json").write_bytes(wanted)
    words = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
    try:
        done = subprocess.run(
            words, cwd=INSTALLED, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE
        )
    except subprocess.TimeoutExpired:
        return "npm install did not end"
    if done.returncode:
        return f"npm install failed: {(done.stderr.strip().splitlines() or ['no word'])[-1]}"
    stamp.write_bytes(wanted)
    return ""


def lack(name: str) -> str:
    """Why this package cannot be used here, or ""."""
    if reason := install():
        return reason
    return "" if (INSTALLED / "node_modules" / name).is_dir() else f"the npm package {name} is not installed"


@cache
def _told(script: str, url: str, key: str, models: tuple[tuple[str, str], ...]) -> dict[str, dict[str, str]]:
    """What each check of this script said, by its name. Scripts lie beside node_modules while they run: imports look there."""
    for file in HERE.glob("*.mjs"):
        shutil.copyfile(file, INSTALLED / file.name)
    env = {"PATH": os.environ.get("PATH", ""), "HOME": str(INSTALLED), "TARGET_URL": url, "TARGET_KEY": key}
    env |= {f"TARGET_{role.upper()}": name for role, name in models}
    done = subprocess.run(
        ["node", f"{script}.mjs"],
        cwd=INSTALLED,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    told = {line["check"]: line for line in lines}
    told[""] = {"verdict": "missed", "detail": f"the script said nothing of it: {done.stderr.strip()[-400:]}"}
    return told


def made_by(script: str, check: str, target: Target) -> None:
    """Raise what the script said of this check: AssertionError on a miss, Lacking where it was skipped."""
    models = tuple((role, target.models[role]) for role in ROLES if role in target.models)
    told = _told(script, target.url, target.key, models)
    line = told.get(check, told[""])
    if line["verdict"] == "skipped":
        raise Lacking(line["detail"])
    assert line["verdict"] == "passed", line["detail"]
