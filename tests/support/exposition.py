"""A lint for the Prometheus text format: what every scrape, and every two scrapes, must keep to (case O11)."""

import re
from typing import NamedTuple

_SAMPLE = re.compile(
    r'(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(?P<labels>(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\n"])*",?)*)\})? (?P<value>\S+)'
)
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\n"])*)"')


class Scrape(NamedTuple):
    """Types by family, values by (name, labels)."""

    types: dict[str, str]
    values: dict[tuple[str, tuple[tuple[str, str], ...]], float]

    def value(self, name: str, **labels: str) -> float | None:
        """One sample; None where there is no such series."""
        return self.values.get((name, tuple(sorted(labels.items()))))


def _family_of(name: str, types: dict[str, str]) -> str:
    for suffix in ("_bucket", "_sum", "_count"):
        base = name.removesuffix(suffix)
        if base != name and types.get(base) == "histogram":
            return base
    return name


def lint(data: bytes) -> Scrape:
    """Read a whole exposition, asserting its grammar; no duplicate series, HELP and TYPE once and before their samples."""
    text = data.decode()
    assert text.endswith("\n")
    types: dict[str, str] = {}
    helped: set[str] = set()
    values: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}
    current = ""
    for line in text.splitlines():
        if line.startswith("# HELP "):
            current = line.split(" ", 3)[2]
            assert current not in helped, f"HELP twice: {current}"
            helped.add(current)
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name == current, f"TYPE without its HELP: {name}"
            assert name not in types, f"TYPE twice: {name}"
            assert kind in {"counter", "gauge", "histogram"}
            types[name] = kind
        else:
            found = _SAMPLE.fullmatch(line)
            assert found is not None, f"no sample: {line!r}"
            name = found["name"]
            assert _family_of(name, types) == current, f"outside its family: {line!r}"
            labels = tuple(sorted(_LABEL.findall(found["labels"] or "")))
            assert len(dict(labels)) == len(labels), f"label twice: {line!r}"
            assert (name, labels) not in values, f"series twice: {line!r}"
            values[name, labels] = float(found["value"])
    assert helped == set(types)
    _lint_names(types)
    _lint_histograms(types, values)
    return Scrape(types, values)


def _lint_names(types: dict[str, str]) -> None:
    for name, kind in types.items():
        assert name.startswith("blazar_"), name
        assert name.endswith("_total") == (kind == "counter"), name


def _lint_histograms(types: dict[str, str], values: dict) -> None:
    series: dict[tuple[str, tuple], list[tuple[float, float]]] = {}
    for (name, labels), value in values.items():
        base = _family_of(name, types)
        if name == f"{base}_bucket":
            rest = tuple(pair for pair in labels if pair[0] != "le")
            series.setdefault((base, rest), []).append((float(dict(labels)["le"]), value))
    for (base, rest), buckets in series.items():
        counts = [count for _, count in sorted(buckets)]
        assert counts == sorted(counts), f"{base} is not cumulative"
        assert max(buckets)[0] == float("inf"), f"{base} has no +Inf"
        assert counts[-1] == values[f"{base}_count", rest], f"{base} +Inf is not its count"
        assert (f"{base}_sum", rest) in values, f"{base} has no sum"


def lint_progress(before: Scrape, after: Scrape) -> None:
    """Between two scrapes counters and histograms only grow, and no series of them vanishes."""
    for (name, labels), value in before.values.items():
        if before.types[_family_of(name, before.types)] != "gauge":
            assert after.values[name, labels] >= value, f"{name}{labels} went back"
