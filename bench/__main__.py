"""`make bench`: what Blazar adds, as ratios in one run to the stub child asked directly (and to nginx where it is installed).

Every figure is the median over interleaved rounds, the spread is half their range. BENCH_ROUNDS (5) sets how many.
"""

import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

from bench import quiet, rig

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
CHAT, OLLAMA, MESSAGES = "/v1/chat/completions", "/api/chat", "/v1/messages"

# name, path, body, width, requests, seconds, rate
PLAIN = [
    ("c1", CHAT, rig.BODY, 1, 1500, 5.0, 0.0),
    ("c16", CHAT, rig.BODY, 16, 8000, 5.0, 0.0),
    ("c64", CHAT, rig.BODY, 64, 8000, 5.0, 0.0),
    ("open200", CHAT, rig.BODY, 16, 400, 2.5, 200.0),
    ("chunks16", CHAT, rig.STREAM, 16, 320, 5.0, 0.0),
]
TRANSLATED = [
    ("ndjson16", OLLAMA, rig.STREAM, 16, 320, 5.0, 0.0),
    ("events16", MESSAGES, rig.STREAM, 16, 320, 5.0, 0.0),
]
# The first token is timed on paced streams: an unpaced child fills its core until its last chunk, and its reader sees the first after that.
PACED = [
    ("ttft", CHAT, rig.STREAM, 1, 20, 6.0, 0.0),
    ("paced32", CHAT, rig.STREAM, 32, 320, 6.0, 0.0),
]
PACED_TRANSLATED = [("paced32-ndjson", OLLAMA, rig.STREAM, 32, 320, 6.0, 0.0)]

Rounds = dict[tuple[str, str], list[Any]]


def measure(tool: Path, target: rig.Target, scenarios: list[Any], into: Rounds) -> None:
    for name, path, body, width, count, seconds, rate in scenarios:
        got = rig.load(tool, target, path, body, width=width, count=count, seconds=seconds, rate=rate)
        if got["errors"]:
            print(f"  ! {target.name} {name}: {got['errors']} of {got['done']} answers were errors")
        into.setdefault((target.name, name), []).append(got)


def one_round(stub: Path, tool: Path, model: Path, into: Rounds, facts: dict[str, list[float]]) -> None:
    for pace, plain, translated in ((0, PLAIN, TRANSLATED), (1000, PACED, PACED_TRANSLATED)):
        with rig.direct(stub, pace) as straight:
            measure(tool, straight, plain, into)
            with rig.nginx(straight.port) as reverse:
                if reverse is not None:
                    measure(tool, reverse, plain, into)
        with rig.blazar(stub, model, pace) as gateway:
            facts.setdefault("rss", []).append(rig.rss_bytes(gateway.target.pid) / 1e6)
            facts.setdefault("listen", []).append(gateway.listen_seconds)
            facts.setdefault("ready", []).append(gateway.ready_seconds)
            measure(tool, gateway.target, [*plain, *translated], into)
            if pace == 0:
                for name, words in (("--version", ["--version"]), ("ps", ["ps"])):
                    facts.setdefault(name, []).append(verb_cpu([sys.executable, "-m", "blazar", *words], gateway.env))
                facts.setdefault("python", []).append(verb_cpu([sys.executable, "-c", "pass"], gateway.env))


def verb_cpu(words: list[str], env: dict[str, str]) -> float:
    """Processor milliseconds of one command, the least of five (start-up noise only adds)."""
    best = 1e9
    for _ in range(5):
        before = os.times()
        subprocess.run(words, env=env, check=True, stdout=subprocess.DEVNULL)
        after = os.times()
        best = min(
            best, (after.children_user + after.children_system) - (before.children_user + before.children_system)
        )
    return best * 1000


class Table:
    """Medians and spreads over rounds."""

    def __init__(self, rounds: Rounds) -> None:
        self.rounds = rounds

    def each(self, target: str, scenario: str, field: str) -> list[float]:
        return [got[field] for got in self.rounds.get((target, scenario), [])]

    def added(self, scenario: str, field: str) -> str:
        """Median same-round difference to the direct child, in microseconds."""
        pairs = zip(self.each("blazar", scenario, field), self.each("direct", scenario, field), strict=True)
        return shown([a - b for a, b in pairs], "µs")

    def ratio(self, scenario: str, field: str, to: str, of: str | None = None) -> str:
        ours, theirs = self.each("blazar", of or scenario, field), self.each(to, scenario, field)
        return shown([a / b for a, b in zip(ours, theirs, strict=True)], "×") if theirs else "–"

    def per(self, target: str, scenario: str, unit: str) -> list[float]:
        """Processor microseconds of the gateway per answer or per streamed part."""
        return [got["cpu"] * 1e6 / max(1, got[unit]) for got in self.rounds.get((target, scenario), [])]


def shown(values: list[float], unit: str) -> str:
    middle = median(values)
    spread = (max(values) - min(values)) / 2
    digits = 3 if abs(middle) < 10 else 1 if abs(middle) < 1000 else 0
    return f"{middle:.{digits}f} {unit} (±{spread:.{digits}f})"


def report(table: Table, facts: dict[str, list[float]]) -> None:
    chunk = table.per("nginx", "paced32", "parts")
    rows = [
        ("requests/s, c=16, of direct", table.ratio("c16", "rps", "direct")),
        ("requests/s, c=16, of nginx", table.ratio("c16", "rps", "nginx")),
        ("requests/s, c=16", shown(table.each("blazar", "c16", "rps"), "/s")),
        ("CPU per request, c=16", shown(table.per("blazar", "c16", "done"), "µs")),
        *[(f"added {q}, c={c}", table.added(f"c{c}", q)) for c in (1, 16, 64) for q in ("p50", "p99")],
        ("added p50, 200/s open loop", table.added("open200", "p50")),
        ("added p99, 200/s open loop", table.added("open200", "p99")),
        ("added time to first token, p50", table.added("ttft", "first_p50")),
        ("chunks/s, c=16, passthrough, of direct", table.ratio("chunks16", "parts_per_s", "direct")),
        ("chunks/s, c=16, passthrough, of nginx", table.ratio("chunks16", "parts_per_s", "nginx")),
        (
            "chunks/s, c=16, to NDJSON, of nginx's passthrough",
            table.ratio("chunks16", "parts_per_s", "nginx", "ndjson16"),
        ),
        ("chunks/s, c=16, to NDJSON, of direct", table.ratio("chunks16", "parts_per_s", "direct", "ndjson16")),
        ("chunks/s, c=16, to Anthropic events", shown(table.each("blazar", "events16", "parts_per_s"), "/s")),
        ("chunks/s, 32 streams × 1000/s, of direct", table.ratio("paced32", "parts_per_s", "direct")),
        ("CPU per un-coalesced chunk, passthrough", shown(table.per("blazar", "paced32", "parts"), "µs")),
        ("CPU per un-coalesced chunk, to NDJSON", shown(table.per("blazar", "paced32-ndjson", "parts"), "µs")),
        ("the same for nginx's passthrough", shown(chunk, "µs") if chunk else "–"),
        ("RSS idle", shown(facts["rss"], "MB")),
        ("serve to listening", shown(facts["listen"], "s")),
        ("serve to first proxied answer", shown(facts["ready"], "s")),
        ("CPU of blazar --version over bare Python", shown(minus(facts["--version"], facts["python"]), "ms")),
        ("CPU of blazar ps over bare Python", shown(minus(facts["ps"], facts["python"]), "ms")),
    ]
    width = max(len(name) for name, _ in rows)
    print("\n".join(f"{name:<{width}}  {value}" for name, value in rows))


def minus(left: list[float], right: list[float]) -> list[float]:
    return [a - b for a, b in zip(left, right, strict=True)]


def main() -> int:
    stub, tool = rig.compiled("stub"), rig.compiled("load")
    if stub is None or tool is None:
        print("the bench needs a C compiler for its stub and load generator (apt-get install gcc)", file=sys.stderr)
        return 1
    from tests.support.scripted_gguf import scripted_model

    begin = time.monotonic()
    rounds: Rounds = {}
    facts: dict[str, list[float]] = {}
    with quiet.awake():
        for number in range(ROUNDS):
            print(f"round {number + 1} of {ROUNDS}", file=sys.stderr, flush=True)
            one_round(stub, tool, scripted_model(), rounds, facts)
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, {ROUNDS} rounds\n")
    report(Table(rounds), facts)
    print(f"\ntook {time.monotonic() - begin:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
