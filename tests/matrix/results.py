"""Runs checks and tells how they went: one table of clients, one of facets, and a line for each miss."""

import time
import traceback
from collections.abc import Iterable
from typing import Any, NamedTuple

from tests.matrix.registry import Check, Lacking, Target


class Outcome(NamedTuple):
    """How one check went: `passed`, `skipped` (`detail` is the reason) or `missed` (`detail` is what happened)."""

    check: Check
    verdict: str
    detail: str = ""
    seconds: float = 0.0


def judge(check: Check, target: Target) -> Outcome:
    """Make one check. A client that raises is a miss: nothing it does ends the run."""
    begun = time.monotonic()
    if reason := check.client.missing():
        return Outcome(check, "skipped", reason)
    try:
        check.run(target)
    except Lacking as error:
        return Outcome(check, "skipped", str(error))
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        detail = f"{type(error).__name__}: {str(error) or (where.line or '')} ({where.name}:{where.lineno})"
        return Outcome(check, "missed", detail, time.monotonic() - begun)
    return Outcome(check, "passed", seconds=time.monotonic() - begun)


FACETS = ("stream", "tools", "schema", "error")


def table(outcomes: Iterable[Outcome]) -> str:
    """One line a client and route, a line of sums for each client, and the whole."""
    told = list(outcomes)
    rows: list[tuple[str, ...]] = [("client", "route", "checks", "passed", "skipped", "missed", *FACETS)]
    for client in dict.fromkeys(one.check.client.name for one in told):
        of_client = [one for one in told if one.check.client.name == client]
        routes = dict.fromkeys(one.check.route for one in of_client)
        rows += [(client, route, *_counts([one for one in of_client if one.check.route == route])) for route in routes]
        rows.append((client, "all", *_counts(of_client)))
    rows.append(("all", "all", *_counts(told)))
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def _counts(told: list[Outcome]) -> list[str]:
    def verdicts(word: str) -> str:
        return str(sum(one.verdict == word for one in told))

    facets = [str(sum(bool(one.check.facets.get(facet)) for one in told)) for facet in FACETS]
    return [str(len(told)), verdicts("passed"), verdicts("skipped"), verdicts("missed"), *facets]


def details(outcomes: Iterable[Outcome]) -> list[str]:
    """A line for each miss, and one for each reason why checks were skipped."""
    told = list(outcomes)
    lines = [f"MISSED {one.check.title}: {one.detail}" for one in told if one.verdict == "missed"]
    reasons: dict[str, int] = {}
    for one in told:
        if one.verdict == "skipped":
            reasons[f"{one.check.client.name}: {one.detail}"] = (
                reasons.get(f"{one.check.client.name}: {one.detail}", 0) + 1
            )
    return lines + [f"skipped {count}: {reason}" for reason, count in reasons.items()]


def as_facts(one: Outcome) -> dict[str, Any]:
    """One outcome for a program: what the check is and how it went."""
    check = one.check
    return {
        "client": check.client.name,
        "check": check.name,
        "route": check.route,
        **check.facets,
        "verdict": one.verdict,
        "detail": one.detail,
        "seconds": round(one.seconds, 3),
    }
