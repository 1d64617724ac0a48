"""What a download adds to `curl | sha256sum` of the same file from the same server: time, memory, and waits of an event loop beside it.

As a program it is the one that downloads: a loop that ticks, and the transfer in a thread, as in the daemon.
"""

import asyncio
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from bench.quiet import PREEMPTS

SIZE: Final = 1 << 30
TICK: Final = 0.001
CONNECTIONS: Final = 8
ROOT: Final = Path(__file__).resolve().parent.parent
SERVER: Final = """import sys, time
from pathlib import Path
from tests.support.registry import Registry
from tests.support.registry_faults import Stored
registry = Registry()
registry.given["/file"] = Stored(Path(sys.argv[1]))
print(registry.url, flush=True)
sys.stdin.read()
registry.close()"""


def pulled(folder: Path) -> dict[str, float]:
    """Facts of one round; without the ratio where there is no curl."""
    sha256 = _written(folder / "source")
    with _server(folder / "source") as url:
        words = [sys.executable, "-m", "bench.pulling", url, str(folder / "file"), sha256]
        by_curl = _curl_seconds(url)
        got = json.loads(subprocess.run(words, cwd=ROOT, check=True, capture_output=True).stdout)
    found = {"pull_mib": got["mib"], "pull_block_ms": got["block_ms"], "pull_rate": SIZE / got["seconds"] / 1e6}
    if by_curl:
        found["pull_ratio"] = by_curl / got["seconds"]
    return found


def _written(path: Path) -> str:
    """No two MiB of it are equal; its digest."""
    block, digest = os.urandom(1 << 20), hashlib.sha256()
    with path.open("wb") as file:
        for number in range(SIZE >> 20):
            data = number.to_bytes(8) + block[8:]
            file.write(data)
            digest.update(data)
    return digest.hexdigest()


@contextmanager
def _server(path: Path) -> Any:
    command = [sys.executable, "-c", SERVER, str(path)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield f"{server.stdout.readline().strip()}/file"
        server.communicate("")


def _curl_seconds(url: str) -> float:
    """0 where one of the two programs is missing."""
    if not (shutil.which("curl") and shutil.which("sha256sum")):
        return 0.0
    began = time.perf_counter()
    subprocess.run(["sh", "-c", f"curl -s {url} | sha256sum"], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def _rss_mib() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


def _fetch(url: str, path: str, sha256: str) -> float:
    """Seconds; what a pull loads is loaded here, as in the daemon: it counts as memory, not as time."""
    from blazar.adapters.hardware.disk import SystemDisk
    from blazar.adapters.net.downloads import HttpDownloads
    from blazar.adapters.net.throttle import Throttle
    from blazar.application.ports.downloads import Wanted

    loads = HttpDownloads(SystemDisk(), Throttle(lambda: 0, time.monotonic), lambda: CONNECTIONS)
    began = time.perf_counter()
    loads.fetch(Wanted(url, path, "file", SIZE, sha256), lambda _done, _total: None)
    return time.perf_counter() - began


async def _measured(url: str, path: str, sha256: str) -> dict[str, float]:
    idle = peak = _rss_mib()
    block, ticks = 0.0, 0
    fetching = asyncio.create_task(asyncio.to_thread(_fetch, url, path, sha256))
    while not fetching.done():
        before = time.perf_counter()
        await asyncio.sleep(TICK)
        block = max(block, time.perf_counter() - before - TICK)
        ticks += 1
        if ticks % 16 == 0:
            peak = max(peak, _rss_mib())
    return {"seconds": await fetching, "mib": peak - idle, "block_ms": block * 1000}


def _first_in_line() -> None:
    """The loop's thread gets a processor at once where that may be asked for, its helpers do not: what it waits for is the interpreter."""
    if PREEMPTS:
        os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))


if __name__ == "__main__":
    _first_in_line()
    print(json.dumps(asyncio.run(_measured(*sys.argv[1:]))))
