"""`make bench`: what Blazar adds, as ratios in one run to the stub child asked directly (and to nginx where it is installed).

Every figure is the median over interleaved rounds, the spread is half their range. BENCH_ROUNDS (5) sets how many.
"""

import os
import platform
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench import accounting, config, moments, normalising, planning, pulling, quiet, rig
from bench.table import Facts, Rounds, Table, text

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
CHAT, OLLAMA, MESSAGES = "/v1/chat/completions", "/api/chat", "/v1/messages"

# name, path, body, width, requests, seconds, rate
# The open loop runs on a gateway that was warmed but not yet loaded, and long enough for ten requests beyond its 99th percentile.
PLAIN = [
    ("warm", CHAT, rig.BODY, 4, 400, 2.0, 0.0),
    ("open200", CHAT, rig.BODY, 16, 1000, 6.0, 200.0),
    ("c1", CHAT, rig.BODY, 1, 1500, 5.0, 0.0),
    ("c16", CHAT, rig.BODY, 16, 8000, 5.0, 0.0),
    ("c64", CHAT, rig.BODY, 64, 8000, 5.0, 0.0),
    ("chunks16", CHAT, rig.STREAM, 16, 640, 5.0, 0.0),
]
TRANSLATED = [
    ("ndjson16", OLLAMA, rig.STREAM, 16, 640, 5.0, 0.0),
    ("events16", MESSAGES, rig.STREAM, 16, 640, 5.0, 0.0),
]
# The first token is timed on paced streams: an unpaced child fills its core until its last chunk, and its reader sees the first after that.
PACED = [
    ("ttft", CHAT, rig.STREAM, 1, 20, 6.0, 0.0),
    ("paced32", CHAT, rig.STREAM, 32, 320, 6.0, 0.0),
]
PACED_TRANSLATED = [("paced32-ndjson", OLLAMA, rig.STREAM, 32, 320, 6.0, 0.0)]


def measure(tool: Path, target: rig.Target, scenarios: list[Any], into: Rounds) -> None:
    for name, path, body, width, count, seconds, rate in scenarios:
        time.sleep(1 if rate else 0)
        got = rig.load(tool, target, path, body, width=width, count=count, seconds=seconds, rate=rate)
        if got["errors"]:
            print(f"  ! {target.name} {name}: {got['errors']} of {got['done']} answers were errors")
        into.setdefault((target.name, name), []).append(got)


def one_round(stub: Path, tool: Path, model: Path, into: Rounds, facts: Facts) -> None:
    for pace, plain, translated in ((0, PLAIN, TRANSLATED), (1000, PACED, PACED_TRANSLATED)):
        with rig.direct(stub, pace) as straight:
            measure(tool, straight, plain, into)
            with rig.nginx(straight.port) as reverse:
                if reverse is not None:
                    measure(tool, reverse, plain, into)
        with rig.blazar(stub, model, pace) as gateway:
            note(facts, rss=rig.rss_bytes(gateway.target.pid) / 1e6)
            note(facts, listen=gateway.listen_seconds, ready=gateway.ready_seconds)
            note(facts, rss_first=gateway.first.rss / 1e6, ready_first=gateway.first.ready_seconds)
            measure(tool, gateway.target, [*plain, *translated], into)
            if pace == 0:
                commands(gateway, facts)
                cold(stub, gateway, facts)
    if rig.compiler() is None:  # the stand-in paces every answer, so it cannot hold some and give others at once
        return
    slots, chunks, more = moments.HELD_SLOTS, moments.HELD_CHUNKS, moments.HELD_BY[1:]
    with rig.blazar(stub, model, moments.HELD_PACE_US, slots=slots, chunks=chunks, more=more) as gateway:
        held = moments.held_streams(tool, gateway)
        if held.errors:
            print(f"  ! held streams: {held.errors} errors")
        note(facts, held_kib=held.bytes_each / 1024, held_p99=held.small_p99 / 1000)


def commands(gateway: rig.Gateway, facts: Facts) -> None:
    verb = [sys.executable, "-m", "blazar"]
    for words in (["--version"], ["ps"], ["engine", "list"], ["show", "bench"]):
        note(facts, **{" ".join(words): moments.verb_cpu([*verb, *words], gateway.env)})
    note(facts, python=moments.verb_cpu([sys.executable, "-c", "pass"], gateway.env))
    note(facts, **planning.plans_ms(), first_plan=planning.first_plan_ms(), fit_import=planning.import_cpu(gateway.env))
    note(facts, **normalising.normalised_ms())
    with tempfile.TemporaryDirectory() as folder:
        note(facts, **accounting.accounting_us(), key_change=accounting.key_change_ms(Path(folder)))
    with tempfile.TemporaryDirectory() as folder:
        note(facts, fit=planning.fit_verb_cpu(Path(folder), gateway.env))
    with tempfile.TemporaryDirectory() as folder:
        note(facts, **config.config_ms(), config_get=config.get_verb_cpu(Path(folder), gateway.env))
    with tempfile.TemporaryDirectory() as folder:
        note(facts, **pulling.pulled(Path(folder)))


def cold(stub: Path, gateway: rig.Gateway, facts: Facts) -> None:
    for _ in range(5):
        note(facts, cold=moments.cold_through(gateway) * 1000, cold_by_hand=moments.cold_by_hand(stub) * 1000)


def note(facts: Facts, **values: float) -> None:
    for name, value in values.items():
        facts.setdefault(name, []).append(value)


def main() -> int:
    stub, tool, spinner = rig.helper("stub"), rig.helper("load"), rig.helper("spin")
    if rig.compiler() is None:
        print(
            "no C compiler: stub and load generator are in Python and slower than what they measure; read the ratios only"
        )
    from tests.support.scripted_gguf import scripted_model

    begin = time.monotonic()
    rounds: Rounds = {}
    facts: Facts = {}
    busy = os.getloadavg()[0]
    with quiet.awake(spinner):
        for number in range(ROUNDS):
            print(f"round {number + 1} of {ROUNDS}", file=sys.stderr, flush=True)
            one_round(stub, tool, scripted_model(), rounds, facts)
    priority = "real-time priority" if quiet.PREEMPTS else "ordinary priority (no right to another): noisier"
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, {ROUNDS} rounds, {priority}"
    )
    print(f"load of the machine before: {busy:.1f}\n")
    print(text(Table(rounds, facts).rows()))
    print(f"\ntook {time.monotonic() - begin:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
