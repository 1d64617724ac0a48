"""What an engine counts about itself, out of its Prometheus text: which of its names mean which of our figures, and their values. Pure.

An engine is not trusted here: lines that cannot be read are passed over, and no answer costs more than `LARGEST` bytes of reading.
"""

import math
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

LARGEST: Final = 4 * 2**20
"""Bytes of one answer that are read. SGLang's with every histogram and label is some hundred kilobytes."""
_NAME: Final = re.compile(rb"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABELS: Final = re.compile(rb'\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\}')
"""A brace inside a label's value does not end them. Nothing in here can match in two ways, so no line takes longer than it is long."""
_VALUE: Final = re.compile(
    rb"[ \t]+([+-]?(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][+-]?\d{1,5})?)(?:[ \t]+-?\d{1,20})?[ \t]*"
)
"""With a timestamp or without. NaN and both infinities are values as well, and say nothing: they are no match."""


class Measure(NamedTuple):
    """The engine's names behind one figure. No names: it does not tell.

    Series of one name (per rank, per stream) add up, or with `most` the largest of them counts. Several names add up; `per` names
    what the sum is a share of.
    """

    names: tuple[str, ...] = ()
    per: tuple[str, ...] = ()
    most: bool = False


UNTOLD: Final = Measure()


class Metrics(NamedTuple):
    """One kind's. `path` answers with all of them; empty: its server counts nothing that can be asked for.

    Tokens of prompts are all of them, `cached` those that the cache held. Rates are tokens a second as the engine averages them,
    `cache_use` is a share of 1, and so is `acceptance`, for engines that tell no counts of drafted and accepted tokens.
    """

    path: bytes = b""
    running: Measure = UNTOLD
    waiting: Measure = UNTOLD
    cache_use: Measure = UNTOLD
    prompt_tokens: Measure = UNTOLD
    cached_tokens: Measure = UNTOLD
    generated_tokens: Measure = UNTOLD
    prompt_rate: Measure = UNTOLD
    generated_rate: Measure = UNTOLD
    drafted_tokens: Measure = UNTOLD
    accepted_tokens: Measure = UNTOLD
    acceptance: Measure = UNTOLD


class Readings(NamedTuple):
    """The figures of one answer; None: the engine does not tell, or not yet."""

    running: float | None = None
    waiting: float | None = None
    cache_use: float | None = None
    prompt_tokens: float | None = None
    cached_tokens: float | None = None
    generated_tokens: float | None = None
    prompt_rate: float | None = None
    generated_rate: float | None = None
    drafted_tokens: float | None = None
    accepted_tokens: float | None = None
    acceptance: float | None = None


def read_metrics(data: bytes, metrics: Metrics) -> Readings:
    """The figures of that kind in this answer."""
    measures: tuple[Measure, ...] = metrics[1:]
    wanted = frozenset(name.encode() for measure in measures for name in (*measure.names, *measure.per))
    found: dict[str, list[float]] = {}
    for name, value in _samples(data, wanted):
        found.setdefault(name, []).append(value)
    return Readings(*(_figure(measure, found) for measure in measures))


def _figure(measure: Measure, found: dict[str, list[float]]) -> float | None:
    top = _sum(measure.names, found, most=measure.most)
    if top is None or not measure.per:
        return top
    whole = _sum(measure.per, found, most=False)
    return top / whole if whole else None


def _sum(names: tuple[str, ...], found: dict[str, list[float]], *, most: bool) -> float | None:
    """None also where one of several is not there: half of a sum is no figure."""
    if not names or not all(name in found for name in names):
        return None
    return math.fsum(max(found[name]) if most else math.fsum(found[name]) for name in names)


def _samples(data: bytes, wanted: frozenset[bytes]) -> Iterator[tuple[str, float]]:
    whole = data[:LARGEST]
    if len(data) > LARGEST:  # the last line is half of one, and half of a number is another number
        whole = whole[: whole.rfind(b"\n") + 1]
    for line in whole.split(b"\n"):
        named = _NAME.match(line)
        if named is None or named[0] not in wanted:
            continue
        at = named.end()
        if line[at : at + 1] == b"{":
            labelled = _LABELS.match(line, at)
            if labelled is None:
                continue
            at = labelled.end()
        valued = _VALUE.fullmatch(line.rstrip(b"\r"), at)
        value = float(valued[1]) if valued is not None else math.nan
        if 0 <= value < math.inf:  # none of these figures can be below nothing
            yield named[0].decode(), value
