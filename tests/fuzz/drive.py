"""Sends the requests, so many at a time, and gathers what became of them. Starts no daemon."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from blazar.adapters.http.routes import Route
from tests.fuzz.client import Line, Reply
from tests.fuzz.judging import judged
from tests.fuzz.known import Known
from tests.fuzz.mutations import Call, nth

AT_A_TIME = 8
PATIENCE = 60.0
"""Seconds within which a request must be over, a load included: a machine that is busy is no hang."""
MOST_FINDINGS = 200
ENDLESS = frozenset({"events.stream"})
"""Answers without an end: their client leaves."""


class Finding(NamedTuple):
    """A request whose answer must not be, and how to send it again."""

    route: Route
    index: int
    call: Call
    what: str

    def __str__(self) -> str:
        body = self.call.body if len(self.call.body) <= 2000 else self.call.body[:2000] + b"..."
        headers = ", ".join(f"{name}: {value[:80]}" for name, value in self.call.headers)
        return (
            f"{self.route.method} {self.route.path} #{self.index}: {self.what}\n"
            f"    {self.call.method} {self.call.target[:300]} [{headers}] {body!r}"
        )


@dataclass
class Tally:
    """What became of all requests."""

    statuses: dict[tuple[str, str], Counter[int]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    sentences: Counter[str] = field(default_factory=Counter)
    sent: int = 0
    seconds: float = 0.0
    slowest: float = 0.0

    def count(self, route: Route, status: int) -> None:
        """One more answer; 0 is none."""
        self.statuses.setdefault((route.method, route.path), Counter())[status] += 1

    def found(self, finding: Finding) -> None:
        """Keep it, unless there are too many to read."""
        if len(self.findings) < MOST_FINDINGS:
            self.findings.append(finding)


@dataclass
class Drive:
    """All rows in turn, each with its next request, until each has had its count; `indices` goes on where a part ended."""

    port: int
    seed: int
    known: Known = field(default_factory=Known)
    tally: Tally = field(default_factory=Tally)
    patience: float = PATIENCE
    nth: Callable[[Route, int, int], Call] = nth

    def run(self, routes: Sequence[Route], indices: range) -> Tally:
        """Send them."""
        began = time.monotonic()
        asyncio.run(self._run((route, index) for index in indices for route in routes))
        self.tally.seconds += time.monotonic() - began
        return self.tally

    async def _run(self, work: Iterator[tuple[Route, int]]) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(AT_A_TIME):
                group.create_task(self._worker(work))

    async def _worker(self, work: Iterator[tuple[Route, int]]) -> None:
        async with Line(self.port) as line:
            for route, index in work:
                await self._one(line, route, index)

    async def _one(self, line: Line, route: Route, index: int) -> None:
        call = self.known.filled(self.nth(route, self.seed, index))
        call = call._replace(leave=call.leave or (route.key in ENDLESS and call.method == "GET"))
        self.tally.sent += 1
        began = time.monotonic()
        try:
            async with asyncio.timeout(self.patience):
                reply = await line.ask(call, leave=call.leave)
        except (TimeoutError, OSError, EOFError, ValueError) as error:
            await line.hang_up()
            self.tally.count(route, 0)
            self.tally.found(Finding(route, index, call, f"no answer: {type(error).__name__} {error}"))
            return
        self.tally.slowest = max(self.tally.slowest, time.monotonic() - began)
        self.tally.count(route, reply.status)
        self._look(route, index, call, reply)

    def _look(self, route: Route, index: int, call: Call, reply: Reply) -> None:
        self.known.learn(route.key, call, reply)
        if reply.status >= 400:
            self.tally.sentences[reply.body[:200].decode("utf-8", "replace")] += 1
        if what := judged(call, reply):
            self.tally.found(Finding(route, index, call, what))


def table(tally: Tally) -> str:
    """How often each row answered what."""
    seen = sorted({status for counts in tally.statuses.values() for status in counts})
    head = f"{'route':<52}" + "".join(f"{status or 'none':>8}" for status in seen)
    rows = [
        f"{method + ' ' + path:<52}" + "".join(f"{counts[status] or '':>8}" for status in seen)
        for (method, path), counts in tally.statuses.items()
    ]
    last = f"{tally.sent} requests in {tally.seconds:.0f} s, the slowest {tally.slowest:.1f} s, {len(tally.findings)} findings"
    return "\n".join([head, *rows, last])
