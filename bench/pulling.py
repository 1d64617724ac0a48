"""What a download adds to `curl | sha256sum` of the same file from the same server: time, memory, and waits of an event loop beside it.

Twice: the transfer alone, and `/api/pull` of a whole daemon. As a program it is the one that downloads (a loop that ticks, and the
transfer in a thread, as in the daemon), or the one that asks the daemon and looks on.
"""

import asyncio
import hashlib
import http.client
import json
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from bench.quiet import PREEMPTS

SIZE: Final = 1 << 30
TICK: Final = 0.001
LOOK: Final = 0.005
"""Between two questions to the daemon: often enough to meet a wait of the bound, seldom enough that they cost the pull a few percent."""
CONNECTIONS: Final = 8
ROOT: Final = Path(__file__).resolve().parent.parent
SERVER: Final = """import sys, time
from pathlib import Path
from tests.support.model_registry import ModelRegistry
from tests.support.registry_faults import Stored
registry = ModelRegistry()
registry.given["/file"] = Stored(Path(sys.argv[1]))
registry.publish_hub("me/Bench-GGUF", {"Bench-Q4_0.gguf": Path(sys.argv[1])})
print(registry.url, flush=True)
sys.stdin.read()
registry.close()"""
MODEL: Final = "hf.co/me/Bench-GGUF:Q4_0"


def pulled(folder: Path, size: int = SIZE) -> dict[str, float]:
    """Facts of one round; without the ratios where there is no curl."""
    sha256 = _written(folder / "source", size)
    program = [sys.executable, "-m", "bench.pulling"]
    with _server(folder / "source") as url:
        by_curl = _curl_seconds(f"{url}/file")
        alone = _said([*program, "fetch", f"{url}/file", str(folder / "file"), str(size), sha256])
        (folder / "file").unlink()
        whole = _said([*program, "daemon", url, str(folder / "home")])
    found = {f"{name}_rate": size / got["seconds"] / 1e6 for name, got in (("pull", alone), ("whole_pull", whole))}
    for name, got in (("pull", alone), ("whole_pull", whole)):
        found |= {f"{name}_mib": got["mib"], f"{name}_block_ms": got["block_ms"]}
        if by_curl:
            found[f"{name}_ratio"] = by_curl / got["seconds"]
    return found


def _said(words: list[str]) -> dict[str, float]:
    got: dict[str, float] = json.loads(subprocess.run(words, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)
    return got


def _written(path: Path, size: int) -> str:
    """A model whose weights are followed by noise, no two MiB of which are equal; its digest."""
    from tests.support.gguf_files import tiny

    block, digest = os.urandom(1 << 20), hashlib.sha256()
    with path.open("wb") as file:
        for number in range(size >> 20):
            data = number.to_bytes(8) + block[8:]
            if number == 0:
                front = tiny().build()
                data = front + data[len(front) :]
            file.write(data)
            digest.update(data)
    return digest.hexdigest()


@contextmanager
def _server(path: Path) -> Any:
    command = [sys.executable, "-c", SERVER, str(path)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        server.communicate("")


def _curl_seconds(url: str) -> float:
    """0 where one of the two programs is missing."""
    if not (shutil.which("curl") and shutil.which("sha256sum")):
        return 0.0
    began = time.perf_counter()
    subprocess.run(["sh", "-c", f"curl -s {url} | sha256sum"], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def _rss_mib(process: int | str = "self") -> float:
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


def _fetch(url: str, path: str, size: str, sha256: str) -> float:
    """Seconds; what a pull loads is loaded here, as in the daemon: it counts as memory, not as time."""
    from blazar.adapters.hardware.disk import SystemDisk
    from blazar.adapters.net.downloads import HttpDownloads
    from blazar.adapters.net.throttle import Throttle
    from blazar.application.ports.downloads import Wanted

    loads = HttpDownloads(SystemDisk(), Throttle(lambda: 0, time.monotonic), lambda: CONNECTIONS)
    began = time.perf_counter()
    loads.fetch(Wanted(url, path, "file", int(size), sha256), lambda _done, _total: None)
    return time.perf_counter() - began


async def _measured(url: str, path: str, size: str, sha256: str) -> dict[str, float]:
    import_module(
        "blazar.domain.teaching"
    )  # a daemon has it from its start: reading it is one wait of 45 ms where it is not compiled yet
    idle = peak = _rss_mib()
    block, ticks = 0.0, 0
    fetching = asyncio.create_task(asyncio.to_thread(_fetch, url, path, size, sha256))
    while not fetching.done():
        before = time.perf_counter()
        await asyncio.sleep(TICK)
        block = max(block, time.perf_counter() - before - TICK)
        ticks += 1
        if ticks % 16 == 0:
            peak = max(peak, _rss_mib())
    return {"seconds": await fetching, "mib": peak - idle, "block_ms": block * 1000}


def _watched(url: str, home: str) -> dict[str, float]:
    """A daemon pulls, from the question to the last line; meanwhile its loop is asked for the least that it answers."""
    from tests.support.daemon import Daemon

    Path(home).mkdir()
    made = Daemon(Path(home), "", {"BLAZAR_REGISTRY_BASE": url})
    with made:
        pass  # the first one of an installation holds an ORM from its start on: what a pull loads would not be seen
    with made as daemon, ThreadPoolExecutor(1) as helper:
        assert daemon.process is not None
        pid = daemon.process.pid
        _first_in_line(pid)
        idle = peak = _rss_mib(pid)
        block, looks = 0.0, 0
        with closing(http.client.HTTPConnection("127.0.0.1", daemon.port)) as line:
            _looked(line)
            pulling = helper.submit(_pulled, daemon.port)
            while not pulling.done():
                block, looks = max(block, _looked(line)), looks + 1
                if looks % 4 == 0:
                    peak = max(peak, _rss_mib(pid))
                time.sleep(LOOK)
        return {"seconds": pulling.result(), "mib": peak - idle, "block_ms": block * 1000}


def _pulled(port: int) -> float:
    began = time.perf_counter()
    with closing(http.client.HTTPConnection("127.0.0.1", port)) as connection:
        connection.request("POST", "/api/pull", json.dumps({"model": MODEL}))
        with connection.getresponse() as answer:
            last = answer.read().splitlines()[-1]
    if json.loads(last).get("status") != "success":
        raise RuntimeError(f"not pulled: {last.decode()}")
    return time.perf_counter() - began


def _looked(line: http.client.HTTPConnection) -> float:
    """Seconds of one answer on a connection that is there already."""
    began = time.perf_counter()
    line.request("GET", "/health")
    with line.getresponse() as answer:
        answer.read()
    return time.perf_counter() - began


def _first_in_line(process: int = 0) -> None:
    """The loop's thread gets a processor at once where that may be asked for, its helpers do not: what it waits for is the interpreter.

    In both, a process's first thread is the one with the loop; those that it starts from now on are ordinary.
    """
    if PREEMPTS:
        os.sched_setscheduler(process, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))


if __name__ == "__main__":
    _first_in_line()
    kind, *words = sys.argv[1:]
    print(json.dumps(asyncio.run(_measured(*words)) if kind == "fetch" else _watched(*words)))
