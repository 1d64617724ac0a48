"""The pieces of a measurement: compiled stub and load generator, the daemon in front of the stub, nginx where there is one.

Gateways run on core 0, stub and load generator on core 1, so that what a gateway costs is not taken from its measuring.
Everything listens on loopback, is bounded in requests and seconds, and is ended by its pid.
"""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.quiet import CHILD, GATEWAY, alone_on, move

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / ".cache" / "bench"
KEY = "plm_bench"
SLOTS = 64
"""Of the one model: more than any scenario asks at once, except the one that holds streams."""

NGINX = """
worker_processes 1; daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 4096; }}
http {{
  access_log off; keepalive_requests 1000000000; client_body_temp_path {folder}/b; proxy_temp_path {folder}/p;
  fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  upstream child {{ server 127.0.0.1:{child}; keepalive 256; keepalive_requests 1000000000; }}
  server {{ listen 127.0.0.1:{port}; location / {{
    proxy_pass http://child; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; }} }}
}}
"""


class Target(NamedTuple):
    """Something that answers chat completions; `pid` is whose processor time counts."""

    name: str
    port: int
    pid: int


# What stands in where there is no C compiler (D27). Slower than the C helpers, so only the ratios mean something.
SUBSTITUTES = {
    "stub": """import os, runpy
os.environ.setdefault("STUB_TOKENS", os.environ.get("BENCH_CHUNKS", "200"))
os.environ.setdefault("STUB_INTERVAL_MS", str(float(os.environ.get("BENCH_PACE_US", "0")) / 1000))
os.environ.setdefault("STUB_IGNORE_KEY", "1")
runpy.run_path({root!r} + "/tests/stubs/llama_server.py", run_name="__main__")""",
    "load": "import runpy; runpy.run_path({root!r} + '/bench/load.py', run_name='__main__')",
    "spin": "import signal; signal.pause()",
}


def compiler() -> str | None:
    return shutil.which("cc") or shutil.which("gcc")


def helper(name: str) -> Path:
    """One of the C helpers, built when it is older than its source; without a compiler its stand-in."""
    BUILD.mkdir(parents=True, exist_ok=True)
    source, binary = ROOT / "bench" / f"{name}.c", BUILD / name
    cc = compiler()
    if cc is None:
        script = BUILD / f"{name}-substitute"
        script.write_text(f"#!{sys.executable}\n{SUBSTITUTES[name].format(root=str(ROOT))}\n")
        script.chmod(0o755)
        return script
    if not binary.exists() or binary.stat().st_mtime < source.stat().st_mtime:
        subprocess.run([cc, "-O2", "-o", str(binary), str(source)], check=True)
    return binary


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextlib.contextmanager
def process(words: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """A process that is gone when the block ends."""
    running = subprocess.Popen(list(words), text=True, **options)
    try:
        yield running
    finally:
        if running.poll() is None:
            running.send_signal(signal.SIGTERM)
            try:
                running.wait(30)
            except subprocess.TimeoutExpired:
                running.kill()
                running.wait()
        if running.stdout is not None:
            running.stdout.close()


def listening(port: int, seconds: float = 20.0) -> None:
    """Wait until somebody accepts on a port."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.005)
    raise TimeoutError(f"nothing listens on {port}")


@contextlib.contextmanager
def direct(stub: Path, pace_us: int) -> Iterator[Target]:
    port = free_port()
    env = os.environ | {"BENCH_PACE_US": str(pace_us)}
    words = [str(stub), "--port", str(port)]
    with process(words, env=env, stdout=subprocess.DEVNULL, **alone_on(CHILD)) as running:
        listening(port)
        yield Target("direct", port, running.pid)


@contextlib.contextmanager
def nginx(child: int) -> Iterator[Target | None]:
    """nginx in front of a child, or None where it is not installed."""
    binary = shutil.which("nginx")
    if binary is None:
        yield None
        return
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "nginx.conf"
        file.write_text(NGINX.format(folder=folder, child=child, port=port))
        with process(
            [binary, "-c", str(file), "-p", folder], stderr=subprocess.DEVNULL, **alone_on(GATEWAY)
        ) as running:
            listening(port)
            workers = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
            yield Target("nginx", port, int(workers[0]) if workers else running.pid)


class Gateway(NamedTuple):
    """A running daemon: where it is and what starting it took, in seconds."""

    target: Target
    home: Path
    env: dict[str, str]
    listen_seconds: float
    ready_seconds: float
    first: "Start"


class Start(NamedTuple):
    """What a start took, in seconds and bytes, with one model loaded."""

    listen_seconds: float
    ready_seconds: float
    rss: int


@contextlib.contextmanager
def blazar(
    stub: Path, model: Path, pace_us: int, *, slots: int = SLOTS, chunks: int = 200, more: tuple[str, ...] = ()
) -> Iterator[Gateway]:
    """The whole daemon with one key, its audit log and its access log, in front of the stub as its engine.

    `more` are further names of the model, each with a child of its own once it is asked for. It is the second daemon of its folder:
    the first one of an installation writes its engine down, with an ORM that no later one loads, and is reported beside.
    """
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        config = home / "config" / "blazar" / "config.toml"
        config.parent.mkdir(parents=True)
        # What is measured sends the same again and again, and every one of them is to be carried.
        config.write_text(
            f'slots = {slots}\nspawn_mem_guard = false\nsingleflight = false\n\n[[keys]]\nname = "bench"\nkey = "{KEY}"\n'
        )
        env = {k: v for k, v in os.environ.items() if not k.startswith(("BLAZAR_", "XDG_"))}
        env |= {"XDG_CONFIG_HOME": str(home / "config"), "XDG_DATA_HOME": str(home / "data")}
        env |= {
            "BLAZAR_ENGINE_PATH": str(stub),
            "BENCH_PACE_US": str(pace_us),
            "BENCH_CHUNKS": str(chunks),
            "BLAZAR_API_KEY": KEY,
        }
        verb = [sys.executable, "-m", "blazar"]
        subprocess.run([*verb, "import", str(model), "--name", "bench"], env=env, check=True, stdout=subprocess.DEVNULL)
        for name in more:
            subprocess.run([*verb, "cp", "bench", name], env=env, check=True, stdout=subprocess.DEVNULL)
        with _serving(env, home / "first.txt") as (_, first):
            pass
        with _serving(env, home / "stderr.txt") as (target, start):
            yield Gateway(target, home, env, start.listen_seconds, start.ready_seconds, first)


@contextlib.contextmanager
def _serving(env: dict[str, str], log: Path) -> Iterator[tuple[Target, Start]]:
    """One daemon, from its start to its end."""
    port = free_port()
    words = [sys.executable, "-m", "blazar", "serve", "--port", str(port)]
    begin = time.monotonic()
    with log.open("w") as file, process(words, env=env, stdout=file, stderr=file, **alone_on(GATEWAY)) as running:
        listening(port)
        listen = time.monotonic() - begin
        first_answer(port)
        ready = time.monotonic() - begin
        for child in children(running.pid):
            move(child, CHILD)
        yield Target("blazar", port, running.pid), Start(listen, ready, rss_bytes(running.pid))


def children(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError):  # a thread that ended while we looked had none
            found += [int(word) for word in (task / "children").read_text().split()]
    return found


def first_answer(port: int) -> None:
    """Ask until the first proxied answer comes."""
    import http.client

    end = time.monotonic() + 30
    while time.monotonic() < end:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        try:
            connection.request("POST", "/v1/chat/completions", BODY, {"authorization": f"Bearer {KEY}"})
            if connection.getresponse().status == 200:
                return
        except OSError:
            pass
        finally:
            connection.close()
        time.sleep(0.01)
    raise TimeoutError("the gateway gave no proxied answer")


# About the size of a short chat request (485 bytes), as in the measurements that the targets come from.
TEXT = (
    "Write one plain paragraph about local inference servers, their queues and what they add to the first token. " * 3
)
BODY = json.dumps({"model": "bench", "messages": [{"role": "user", "content": TEXT}], "max_tokens": 64})
STREAM = BODY[:-1] + ', "stream": true}'


def load(
    tool: Path, target: Target, path: str, body: str, *, width: int, count: int, seconds: float, rate: float = 0
) -> Any:
    """One run of the load generator; its JSON line and the gateway's processor seconds."""
    words = [str(tool), str(target.port), path, str(width), str(count), str(seconds), str(rate), KEY]
    before = cpu_seconds(target.pid)
    done = subprocess.run(
        words, input=body, capture_output=True, text=True, check=True, timeout=seconds + 60, **alone_on(CHILD)
    )
    result = json.loads(done.stdout)
    result["cpu"] = cpu_seconds(target.pid) - before
    return result


def cpu_seconds(pid: int) -> float:
    """Processor time of a process (all its threads) so far, from the scheduler's own nanosecond count."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a thread that has ended since it was listed
            total += int((task / "schedstat").read_text().split()[0])
    return total / 1e9


def rss_bytes(pid: int) -> int:
    fields = Path(f"/proc/{pid}/statm").read_text().split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")
