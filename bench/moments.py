"""What is no throughput: a model's first token from cold, streams that are merely held, the processor time of a command."""

import contextlib
import http.client
import json
import resource
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench import rig
from bench.quiet import CHILD, alone_on

CHAT = "/v1/chat/completions"
HELD = 1000
"""Streams held at once, and one token every five seconds on each: people who watch an answer come."""
HELD_BY = ("bench", "bench2", "bench3", "bench4", "bench5")
"""Models that share them evenly: llama.cpp has at most 256 slots a child (LLAMA_MAX_SEQ), and a plan for more is refused."""
HELD_SLOTS = HELD // len(HELD_BY) + 20
HELD_PACE_US, HELD_CHUNKS = 5_000_000, 4


def first_token(port: int) -> float:
    """Seconds from a request's first byte to the first byte of its streamed answer."""
    begin = time.perf_counter()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("POST", CHAT, rig.STREAM, {"authorization": f"Bearer {rig.KEY}"})
        answer = connection.getresponse()
        if answer.status != 200 or not answer.read(1):
            raise RuntimeError(f"no first token: {answer.status}")
        return time.perf_counter() - begin
    finally:
        connection.close()


def cold_by_hand(stub: Path) -> float:
    """Start the engine as a shell would, ask until it listens, and wait for its first token; in seconds."""
    port = rig.free_port()
    begin = time.perf_counter()
    with rig.process([str(stub), "--port", str(port)], stdout=subprocess.DEVNULL, **alone_on(CHILD)):
        rig.listening(port)
        first_token(port)
        return time.perf_counter() - begin


def cold_through(gateway: rig.Gateway) -> float:
    """Unload the model, then ask for it: what the same costs when the gateway does it all."""
    port = gateway.target.port
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    unload = json.dumps({"model": "bench", "messages": [], "keep_alive": 0})
    connection.request("POST", "/api/chat", unload, {"authorization": f"Bearer {rig.KEY}"})
    answer = connection.getresponse()
    answer.read()
    connection.close()
    if answer.status != 200 or rig.children(gateway.target.pid):
        raise RuntimeError(f"the model was not unloaded: {answer.status}")
    return first_token(port)


class Held(NamedTuple):
    """What streams cost while nothing happens on them."""

    bytes_each: float
    small_p99: float  # microseconds, of unstreamed requests meanwhile
    errors: int


def held_streams(tool: Path, gateway: rig.Gateway) -> Held:
    """Hold many streams at once; measure memory and what other requests feel."""
    for name in HELD_BY:
        rig.load(tool, gateway.target, CHAT, rig.BODY.replace('"bench"', f'"{name}"'), width=16, count=500, seconds=3)
    before = rig.rss_bytes(gateway.target.pid)
    share = str(HELD // len(HELD_BY))
    words = [str(tool), str(gateway.target.port), CHAT, share, share, "60", "0", rig.KEY]
    pipe: Any = subprocess.PIPE
    with contextlib.ExitStack() as all_of_them:
        holding = [
            all_of_them.enter_context(rig.process(words, stdin=pipe, stdout=pipe, **alone_on(CHILD))) for _ in HELD_BY
        ]
        for name, one in zip(HELD_BY, holding, strict=True):
            assert one.stdin is not None
            one.stdin.write(rig.STREAM.replace('"bench"', f'"{name}"'))
            one.stdin.close()
        time.sleep(3)  # all of them have begun
        each = (rig.rss_bytes(gateway.target.pid) - before) / HELD
        small = rig.load(tool, gateway.target, CHAT, rig.BODY, width=4, count=800, seconds=4, rate=200)
        results = [json.loads(one.stdout.read()) for one in holding if one.stdout is not None]
    errors, done = (sum(result[field] for result in results) for field in ("errors", "done"))
    return Held(each, small["p99"], errors + small["errors"] + (HELD - done))


def verb_cpu(words: Sequence[str], env: dict[str, str]) -> float:
    """Processor milliseconds of one command, the least of nine: start-up noise only adds."""
    return min(_cpu_of(words, env) for _ in range(9)) * 1000


def _cpu_of(words: Sequence[str], env: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(list(words), env=env, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
