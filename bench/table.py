"""From the rounds to the table that is read: medians, spreads, targets. The targets are the first stage's (docs/benchmarks.md)."""

from collections.abc import Callable
from statistics import median
from typing import Any, NamedTuple

from bench.planning import FITTING

Rounds = dict[tuple[str, str], list[Any]]
Facts = dict[str, list[float]]


class Row(NamedTuple):
    """One line; `least` and `most` are targets, `values` one figure a round."""

    name: str
    values: list[float]
    unit: str
    least: float | None = None
    most: float | None = None

    @property
    def target(self) -> str:
        if self.least is not None:
            return f"≥ {self.least:g}"
        return f"≤ {self.most:g}" if self.most is not None else ""

    @property
    def verdict(self) -> str:
        if not self.values or not self.target:
            return ""
        middle = median(self.values)
        good = middle >= self.least if self.least is not None else self.most is not None and middle <= self.most
        return "reached" if good else "missed"

    @property
    def shown(self) -> str:
        if not self.values:
            return "–"
        middle, spread = median(self.values), (max(self.values) - min(self.values)) / 2
        digits = 3 if abs(middle) < 10 else 1 if abs(middle) < 1000 else 0
        return f"{middle:.{digits}f} {self.unit} (±{spread:.{digits}f})"


class Table:
    """Figures of all rounds, by target and scenario."""

    def __init__(self, rounds: Rounds, facts: Facts) -> None:
        self._rounds, self._facts = rounds, facts

    def each(self, target: str, scenario: str, field: str) -> list[float]:
        """One field of every round."""
        return [got[field] for got in self._rounds.get((target, scenario), [])]

    def added(self, scenario: str, field: str, by: str = "blazar") -> list[float]:
        """Same-round differences to the child asked directly, in milliseconds; none where `by` did not run."""
        if (by, scenario) not in self._rounds:
            return []
        return _joined(
            self.each(by, scenario, field), self.each("direct", scenario, field), lambda a, b: (a - b) / 1000
        )

    def ratio(self, scenario: str, field: str, to: str, of: str | None = None) -> list[float]:
        """Same-round ratios."""
        return _joined(
            self.each("blazar", of or scenario, field), self.each(to, scenario, field), lambda a, b: a / b if b else 0.0
        )

    def per(self, target: str, scenario: str, unit: str) -> list[float]:
        """Processor microseconds of the gateway per answer or per streamed part."""
        return [got["cpu"] * 1e6 / max(1, got[unit]) for got in self._rounds.get((target, scenario), [])]

    def over(self, name: str, base: str) -> list[float]:
        """Same-round differences of two facts."""
        return _joined(self._facts.get(name, []), self._facts.get(base, []), lambda a, b: a - b)

    def rows(self) -> list[Row]:
        """Everything with a target first, then what else is worth knowing."""
        chunk = self.per("nginx", "paced32", "parts")
        passed, told = self.per("blazar", "paced32", "parts"), self.per("blazar", "paced32-ndjson", "parts")
        fact = self._facts
        return [
            Row("requests/s, c=16, of nginx", self.ratio("c16", "rps", "nginx"), "×", least=0.045),
            Row("CPU per request, c=16", self.per("blazar", "c16", "done"), "µs", most=430),
            Row("added p50, c=1", self.added("c1", "p50"), "ms", most=0.5),
            Row("added p50, 200/s open loop", self.added("open200", "p50"), "ms", most=0.8),
            Row("added p99, 200/s open loop", self.added("open200", "p99"), "ms", most=1.5),
            Row("added time to first token, p50", self.added("ttft", "first_p50"), "ms", most=0.8),
            Row("CPU per un-coalesced chunk, passthrough, of nginx", _joined(passed, chunk, _over), "×", most=2.6),
            Row("CPU per un-coalesced chunk, NDJSON, of nginx", _joined(told, chunk, _over), "×", most=3.0),
            Row(
                "32 streams × 1000/s, served of direct",
                self.ratio("paced32", "parts_per_s", "direct"),
                "×",
                least=0.94,
            ),
            Row("chunks/s, c=16, of nginx", self.ratio("chunks16", "parts_per_s", "nginx"), "×", least=0.8),
            Row(
                "chunks/s, c=16, NDJSON, of nginx's passthrough",
                self.ratio("chunks16", "parts_per_s", "nginx", "ndjson16"),
                "×",
                least=0.7,
            ),
            Row("1000 held streams, memory each", fact.get("held_kib", []), "KiB", most=64),
            Row("small requests meanwhile, p99", fact.get("held_p99", []), "ms", most=50),
            Row("CPU of key, queue and account per request, 10 000 keys", fact.get("accounting", []), "µs", most=25),
            Row("one key of 10 000 changed and in force", fact.get("key_change", []), "ms", most=1000),
            Row("RSS idle, one model loaded", fact.get("rss", []), "MB", most=90),
            Row("serve to listening", fact.get("listen", []), "s", most=0.4),
            Row("serve to first proxied answer", fact.get("ready", []), "s", most=1.2),
            Row("CPU of blazar --version over bare Python", self.over("--version", "python"), "ms", most=15),
            Row("CPU of blazar ps over bare Python", self.over("ps", "python"), "ms", most=130),
            Row(
                f"a plan, 100 blocks on 8 devices, worst of {len(FITTING)} that fit", fact.get("plan", []), "ms", most=2
            ),
            Row("CPU of blazar fit, 32 GB file", fact.get("fit", []), "ms", most=350),
            Row("CPU of import blazar.domain.fit over bare Python", self.over("fit_import", "python"), "ms", most=50),
            Row("CPU of loading 300 lines of configuration", fact.get("config_load", []), "ms", most=60),
            Row("cold model to first token, over by hand", self.over("cold", "cold_by_hand"), "ms", most=100),
            Row("a pull's speed over loopback, of curl | sha256sum", fact.get("pull_ratio", []), "×", least=0.85),
            Row("memory of a pull above idle", fact.get("pull_mib", []), "MiB", most=64),
            Row("longest wait of the event loop beside a pull", fact.get("pull_block_ms", []), "ms", most=20),
            Row("the same of /api/pull, speed", fact.get("whole_pull_ratio", []), "×", least=0.85),
            Row(
                "the same of /api/pull, memory of its daemon above idle", fact.get("whole_pull_mib", []), "MiB", most=64
            ),
            Row(
                "the same of /api/pull, longest answer to /health meanwhile",
                fact.get("whole_pull_block_ms", []),
                "ms",
                most=20,
            ),
            *self._normalised(),
            *self._untargeted(chunk),
        ]

    def _normalised(self) -> list[Row]:
        """A conversation of 200 turns and 1 MB (bound: 10 ms), as it comes and with every repair to do."""
        named = {
            "sound": "a sound chat",
            "broken": "a chat to repair",
            "ollama": "ollama's",
            "anthropic": "Anthropic's",
            "responses": "a response's",
        }
        return [
            Row(f"CPU to normalise {said}, 200 turns, 1 MB", self._facts.get(f"normalised {way}", []), "ms", most=10.0)
            for way, said in named.items()
        ]

    def _untargeted(self, chunk: list[float]) -> list[Row]:
        return [
            Row("RSS idle of an installation's first daemon", self._facts.get("rss_first", []), "MB"),
            Row("its start to first proxied answer", self._facts.get("ready_first", []), "s"),
            Row("first plan of a shape", self._facts.get("first_plan", []), "ms"),
            Row(
                "a plan that looks for the widest window below a million tokens",
                self._facts.get("plan_million", []),
                "ms",
            ),
            Row("a plan that finds whom to evict, of 8", self._facts.get("plan_evicting", []), "ms"),
            Row("a plan that will never fit, with its levers", self._facts.get("plan_never", []), "ms"),
            Row("CPU of what the configuration says of one model", self._facts.get("config_settings", []), "ms"),
            Row("CPU of blazar config get, over bare Python", self.over("config_get", "python"), "ms"),
            Row("CPU of blazar engine list, over bare Python", self.over("engine list", "python"), "ms"),
            Row("CPU of blazar show, over bare Python", self.over("show bench", "python"), "ms"),
            Row("a pull's speed over loopback", self._facts.get("pull_rate", []), "MB/s"),
            Row("the same of /api/pull", self._facts.get("whole_pull_rate", []), "MB/s"),
            Row("requests/s, c=16", self.each("blazar", "c16", "rps"), "/s"),
            Row("requests/s, c=16, of direct", self.ratio("c16", "rps", "direct"), "×"),
            *[Row(f"added {q}, c={c}", self.added(f"c{c}", q), "ms") for c in (1, 16, 64) for q in ("p50", "p99")][1:],
            Row("chunks/s, c=16, of direct", self.ratio("chunks16", "parts_per_s", "direct"), "×"),
            Row("chunks/s, c=16, to Anthropic events", self.each("blazar", "events16", "parts_per_s"), "/s"),
            Row("CPU per un-coalesced chunk, passthrough", self.per("blazar", "paced32", "parts"), "µs"),
            Row("the same for nginx", chunk, "µs"),
            *[
                Row(f"added {q}, 200/s open loop, by nginx", self.added("open200", q, "nginx"), "ms")
                for q in ("p50", "p99")
            ],
        ]


def _over(ours: float, theirs: float) -> float:
    return ours / theirs if theirs else 0.0


def _joined(left: list[float], right: list[float], how: Callable[[float, float], float]) -> list[float]:
    return [how(a, b) for a, b in zip(left, right, strict=True)] if right else []


def text(rows: list[Row]) -> str:
    """As columns for a terminal."""
    names = max(len(row.name) for row in rows)
    figures = max(len(row.shown) for row in rows)
    lines = [f"{row.name:<{names}}  {row.shown:<{figures}}  {row.target:<8} {row.verdict}".rstrip() for row in rows]
    return "\n".join(lines)
