"""`python -m bench.simulate_admission`: a day of requests in seconds, through the very queue that the daemon uses, beside plain FIFO.

    python -m bench.simulate_admission [--requests 1000000] [--models 100] [--keys 10000] [--seed 1]
    python -m bench.simulate_admission --replay AUDIT.jsonl [--config CONFIG.toml] [--slots [MODEL=]N]... [--weight KEY=W]...

The second one plays an audit log again with a changed configuration: `slots`, `adaptive_slots` and the weights of keys are read from the
file, `--slots` and `--weight` count more. The log says when each request came and ended, what it was to the queue and how long it loaded
and waited. Who waited in vain is not in it: a model computed nothing for it. Of logs that do not say how long anybody waited, that is
found by letting the queue run with the slots that the models had (`--were [MODEL=]N`; by default as many as were seen at work at once).
"""

import argparse
import json
import random
import sys
import time
from array import array
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from heapq import heappop, heappush
from itertools import repeat
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, Protocol

from blazar.application.config.layers import load_config
from blazar.application.config.model import Config
from blazar.domain.admission.queue import WAITING_MOST, AdmissionQueue, Effect, Full, Grant, Late
from blazar.domain.admission.slots import Crowd, one_more
from blazar.domain.admission.work import PREFILL_HEAVY_BYTES, Facts, Priority, Work, WorkClass, classify

SERVICE = {"tool": 0.8, "chat": 2.0, "raw": 9.0}
"""Mean seconds at the engine, by kind of request: short turns of agents, chats, long raw generations."""
MIX = (("tool", 0.3), ("chat", 0.6), ("raw", 0.1))
URGENCY = (("high", 0.1), ("", 0.75), ("low", 0.15))
HEAVY_SHARE, HEAVY_FACTOR = 0.05, 3.0
WEIGHTS = (1.0, 1.0, 1.0, 2.0, 4.0)
LEAST_LOAD, MOST_LOAD = 0.6, 1.1
"""How much of its slots' time a model is asked for: from bored to more than it can do."""


class Request(NamedTuple):
    """One that comes: when, as what, and how long the engine needs for it."""

    at: float
    work: Work
    seconds: float


class Line(Protocol):
    """What a discipline has to do."""

    def arrive(self, ticket: int, work: Work, now: float) -> Sequence[Effect]: ...
    def release(self, *, raw: bool = False) -> Sequence[Effect]: ...
    def tick(self, now: float) -> Sequence[Effect]: ...
    def next_deadline(self) -> float | None: ...


class Fifo:
    """First in, first out with the same bounds: what there was before."""

    def __init__(self, slots: int, bound: int = WAITING_MOST) -> None:
        self._free, self._bound = slots, bound
        self._waiting: OrderedDict[int, tuple[float, float]] = OrderedDict()
        self._bounds: list[tuple[float, int]] = []

    def arrive(self, ticket: int, work: Work, now: float) -> Sequence[Effect]:
        if self._free and not self._waiting:
            self._free -= 1
            return [Grant(ticket)]
        if len(self._waiting) >= self._bound:
            return [Full(ticket, self._bound)]
        self._waiting[ticket] = (now + work.wait, work.wait)
        heappush(self._bounds, (now + work.wait, ticket))
        return ()

    def release(self, *, raw: bool = False) -> Sequence[Effect]:
        self._free += 1
        if not self._waiting:
            return ()
        self._free -= 1
        return [Grant(self._waiting.popitem(last=False)[0], raw)]

    def tick(self, now: float) -> Sequence[Effect]:
        late: list[Effect] = []
        while self._bounds and self._bounds[0][0] <= now:
            ticket = heappop(self._bounds)[1]
            if (one := self._waiting.pop(ticket, None)) is not None:
                late.append(Late(ticket, one[1], len(self._waiting)))
        return late

    def next_deadline(self) -> float | None:
        while self._bounds and self._bounds[0][1] not in self._waiting:
            heappop(self._bounds)
        return self._bounds[0][0] if self._bounds else None


def admission(slots: int) -> AdmissionQueue:
    """The daemon's own, serving."""
    queue = AdmissionQueue()
    queue.open(slots, 0.0)
    return queue


class Outcome(NamedTuple):
    """What became of requests: seconds waited of those served, how many were late, how many never let in."""

    waits: "array[float]"
    late: list[int]
    full: list[int]


def fresh() -> Outcome:
    return Outcome(array("d"), [0], [0])


Ends = Callable[[int, float], float]
"""(ticket, when it was granted) -> when it ends."""


def lasting(requests: Sequence[Request]) -> Ends:
    """As long as each of them takes, whenever it begins."""
    return lambda ticket, now: now + requests[ticket].seconds


class Widening:
    """A queue that gets a slot more for every minute in which somebody always waited (`adaptive_slots`), without a new child's load."""

    def __init__(self, slots: int) -> None:
        self._line, self._crowd = admission(slots), Crowd()
        self.next_deadline = self._line.next_deadline

    def arrive(self, ticket: int, work: Work, now: float) -> Sequence[Effect]:
        return [*self._line.arrive(ticket, work, now), *self._adopt(now)]

    def release(self, *, raw: bool = False) -> Sequence[Effect]:
        return self._line.release(raw=raw)

    def tick(self, now: float) -> Sequence[Effect]:
        return [*self._line.tick(now), *self._adopt(now)]

    def _adopt(self, now: float) -> Sequence[Effect]:
        self._crowd.note(now, waiting=self._line.waiting > 0)
        if not self._crowd.lasts(now):
            return ()
        self._crowd.forget()
        return self._line.widen(one_more(self._line.slots))


def play(line: Line, requests: Sequence[Request], ends: Ends, told: Callable[[int], Outcome]) -> None:
    """One model's life, event by event; models do not touch each other. `told` says where what becomes of a ticket is noted."""
    running: list[tuple[float, int]] = []
    never = float("inf")

    def follow(effects: Iterable[Effect], now: float) -> None:
        for effect in effects:
            ticket = effect.ticket
            if type(effect) is Grant:
                told(ticket).waits.append(now - requests[ticket].at)
                heappush(running, (max(now, ends(ticket, now)), ticket))
            elif type(effect) is Late:
                told(ticket).late[0] += 1
            else:
                told(ticket).full[0] += 1

    coming, number = 0, len(requests)
    while True:
        arrival = requests[coming].at if coming < number else never
        end = running[0][0] if running else never
        due = line.next_deadline() or never
        if due < end and due < arrival:
            follow(line.tick(due), due)
        elif end <= arrival and end < never:
            ticket = heappop(running)[1]
            follow(line.release(raw=requests[ticket].work.kind is WorkClass.RAW_LONG), end)
        elif arrival < never:
            effects = line.arrive(coming, requests[coming].work, arrival)
            coming += 1
            follow(effects, arrival)
        else:
            return


# A made-up day


def day(chance: random.Random, count: int, keys: int) -> tuple[int, list[Request]]:
    """One model's slots and its requests."""
    slots = chance.randint(1, 8)
    mean = sum(SERVICE[kind] * share for kind, share in MIX) * (1 + HEAVY_SHARE * (HEAVY_FACTOR - 1))
    rate = chance.uniform(LEAST_LOAD, MOST_LOAD) * slots / mean
    kinds = chance.choices([kind for kind, _ in MIX], [share for _, share in MIX], k=count)
    urgencies = chance.choices([word for word, _ in URGENCY], [share for _, share in URGENCY], k=count)
    at, found = 0.0, []
    for kind, urgency in zip(kinds, urgencies, strict=True):
        at += chance.expovariate(rate)
        heavy, owner = chance.random() < HEAVY_SHARE, int(keys * chance.random() ** 3)
        facts = Facts(
            urgency,
            tools=kind == "tool",
            raw=kind == "raw",
            size=PREFILL_HEAVY_BYTES + 1 if heavy else 0,
            key=f"k{owner}",
            weight=WEIGHTS[owner % len(WEIGHTS)],
        )
        seconds = chance.expovariate(1 / SERVICE[kind]) * (HEAVY_FACTOR if heavy else 1.0)
        found.append(Request(at, classify(facts), seconds))
    return slots, found


def simulate(count: int, models: int, keys: int, seed: int) -> dict[tuple[str, str], tuple[Outcome, Outcome]]:
    """By priority and class: what the queue did, and what FIFO did with the same requests."""
    chance = random.Random(seed)
    found = {level: (fresh(), fresh()) for level in levels()}
    names = {(p, k): (p.name.lower(), k.name.lower()) for p in Priority for k in WorkClass}
    for model in range(models):
        each = count // models + (model < count % models)
        slots, requests = day(chance, each, keys)
        for which, line in enumerate((admission(slots), Fifo(slots))):
            groups = [found[names[one.work.priority, one.work.kind]][which] for one in requests]
            play(line, requests, lasting(requests), groups.__getitem__)
    return found


def levels() -> Iterator[tuple[str, str]]:
    """In the order of turns."""
    for priority in Priority:
        for kind in WorkClass:
            yield priority.name.lower(), kind.name.lower()


# An audit log, played again


class Logged(NamedTuple):
    """One line of it. Times in seconds."""

    model: str
    arrived: float
    ended: float
    work: Work
    refused: bool
    depth: int
    waited: float | None = None  # None: an older log, which does not say


def work_of(line: Mapping[str, Any], weights: Mapping[str, float]) -> Work:
    """As the queue took it, where the log says so; the priority is what it was after a demotion."""
    key = line["key"]
    work = classify(Facts(line["priority"], key=key, weight=weights.get(key, 1.0)))
    if kind := line.get("work"):
        work = work._replace(kind=WorkClass[kind.upper()])
    bound = line.get("deadline_ms", 0) / 1000
    return work._replace(wait=bound) if bound else work


def read(path: Path, weights: Mapping[str, float]) -> Iterator[Logged]:
    """Its lines; those that named no model that was loaded are left out."""
    for raw in path.read_text(encoding="utf-8").splitlines():
        line: dict[str, Any] = json.loads(raw)
        if not line["model"] or 400 <= line["status"] < 499:
            continue
        ended = datetime.fromisoformat(line["ts"]).timestamp()
        queued = line.get("queue_ms")
        yield Logged(
            line["model"],
            ended - (line["ms"] - line.get("load_ms", 0)) / 1000,  # until it serves nobody's bound runs
            ended,
            work_of(line, weights),
            line["status"] == 503,
            line["queue_depth"],
            None if queued is None else queued / 1000,
        )


def were(rows: Sequence[Logged]) -> int:
    """The most that were at work at once, of those that did not have to wait."""
    at_once = [row for row in rows if not row.depth and not row.refused]
    steps = sorted([(row.arrived, 1) for row in at_once] + [(row.ended, -1) for row in at_once])
    most = now = 0
    for _, step in steps:
        now += step
        most = max(most, now)
    return max(1, most)


def replay(rows: Sequence[Logged], before: int, after: int, *, widens: bool = False) -> tuple[Outcome, Outcome]:
    """One model's: as it was, and as it would have been. Who was refused then needs as long as the others did."""
    rows = sorted(rows, key=lambda row: row.arrived)
    then, took = told_of(rows) if all(row.waited is not None for row in rows) else found_out(rows, before)
    usual = median(took.values()) if took else 0.0
    now = fresh()
    again = [Request(row.arrived, row.work, took.get(index, usual)) for index, row in enumerate(rows)]
    play(Widening(after) if widens else admission(after), again, lasting(again), lambda _: now)
    return then, now


def told_of(rows: Sequence[Logged]) -> tuple[Outcome, dict[int, float]]:
    """What the log says."""
    then, took = fresh(), dict[int, float]()
    for index, row in enumerate(rows):
        then.waits.append(row.waited or 0.0)
        took[index] = max(0.0, row.ended - row.arrived - (row.waited or 0.0))
    return then, took


def found_out(rows: Sequence[Logged], before: int) -> tuple[Outcome, dict[int, float]]:
    """What must have been."""
    served = [index for index, row in enumerate(rows) if not row.refused]
    then, took = fresh(), dict[int, float]()

    def logged_end(ticket: int, now: float) -> float:
        took[served[ticket]] = max(0.0, rows[served[ticket]].ended - now)
        return rows[served[ticket]].ended

    was = [Request(rows[index].arrived, rows[index].work._replace(wait=float("inf")), 0.0) for index in served]
    play(admission(before), was, logged_end, lambda _: then)
    then.late[0] = len(rows) - len(served)
    return then, took


# What is printed


def percentile(waits: "array[float]", share: float) -> float:
    return sorted(waits)[min(len(waits) - 1, int(len(waits) * share))] if waits else 0.0


def cells(outcome: Outcome) -> list[str]:
    refused = outcome.late[0] + outcome.full[0]
    return [f"{percentile(outcome.waits, 0.5):.2f}", f"{percentile(outcome.waits, 0.99):.2f}", f"{refused}"]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    every = [list(head), *map(list, rows)]
    widths = [max(len(row[at]) for row in every) for at in range(len(head))]
    lines = ("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in every)
    return "\n".join(lines)


def print_day(asked: argparse.Namespace) -> None:
    begun = time.monotonic()
    found = simulate(asked.requests, asked.models, asked.keys, asked.seed)
    head = ["priority", "class", "requests", "p50 s", "p99 s", "503", "FIFO p50 s", "p99 s", "503"]
    rows = []
    for level, (ours, fifo) in found.items():
        number = len(ours.waits) + ours.late[0] + ours.full[0]
        rows.append([*level, str(number), *cells(ours), *cells(fifo)])
    print(
        f"{asked.requests} requests, {asked.models} models of 1 to 8 slots, {asked.keys} keys; waits of those served\n"
    )
    print(table(head, rows))
    print(f"\nboth played in {time.monotonic() - begun:.1f} s")


def numbers(words: Sequence[str]) -> Callable[[str], float | None]:
    """`N` for all, `NAME=N` for one; the latter counts."""
    said = dict(zip(repeat(""), (word for word in words if "=" not in word), strict=False))
    said |= dict(word.rsplit("=", 1) for word in words if "=" in word)
    found = {name: float(value) for name, value in said.items()}
    return lambda name: found.get(name, found.get(""))


def configured(path: Path | None) -> Config:
    """The configuration that is tried; without a file what holds by itself, but that no slots are adopted."""
    if path is None:
        return load_config("adaptive_slots = false", "", {}, {}).config
    return load_config(path.read_text(encoding="utf-8"), str(path), {}, {}).config


def print_replay(asked: argparse.Namespace) -> None:
    config, weight = configured(asked.config), numbers(asked.weight)
    by_model: dict[str, list[Logged]] = defaultdict(list)
    weights = {key.name: key.weight for key in config.keys}
    weights |= {word.rsplit("=", 1)[0]: weight(word.rsplit("=", 1)[0]) or 1.0 for word in asked.weight if "=" in word}
    for row in read(asked.replay, weights):
        by_model[row.model].append(row)
    had, has = numbers(asked.were), numbers(asked.slots)
    rows = []
    for model, logged in sorted(by_model.items()):
        before = int(had(model) or were(logged))
        chosen = has(model) or config.settings_for(model)["slots"]
        after = int(chosen or before)
        then, now = replay(logged, before, after, widens=config.adaptive_slots and not chosen)
        rows.append([model, str(len(logged)), str(before), *cells(then), str(after), *cells(now)])
    print(table(["model", "requests", "slots", "p50 s", "p99 s", "503", "now", "p50 s", "p99 s", "503"], rows))


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="simulate_admission", description=str(__doc__).split("\n", 1)[0])
    parser.add_argument("--requests", type=int, default=1_000_000)
    parser.add_argument("--models", type=int, default=100)
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--replay", type=Path, metavar="AUDIT.jsonl")
    parser.add_argument("--config", type=Path, metavar="CONFIG.toml")
    for option in ("--slots", "--were", "--weight"):
        parser.add_argument(option, action="append", default=[], metavar="[NAME=]N")
    asked = parser.parse_args(words)
    if asked.replay is None:
        print_day(asked)
    else:
        print_replay(asked)
    return 0


if __name__ == "__main__":
    sys.exit(main())
