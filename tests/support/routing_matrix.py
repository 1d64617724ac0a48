"""Every question that routing can be asked, and the checked-in table that answers it without routing's code.

A case is a model and what is installed; the table (tests/fixtures/routing/matrix.toml) is read row by row, the first one whose
conditions hold decides. `lane_for` gets the same case as records.
"""

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from blazar.domain.kinds import EngineKind, Provenance, Weights
from blazar.domain.records import Engine
from blazar.domain.routing import Rules, Subject
from tests.fakes.engines import an_engine

TABLE = Path(__file__).parents[1] / "fixtures" / "routing" / "matrix.toml"
KINDS = tuple(kind.value for kind in EngineKind)
TAGS = {kind: f"{kind}-1" for kind in KINDS} | {"fork": "fork-1"}
SUPPORTS = ("unknown", "listed", "unlisted", "second", "dead", "lost")
POLICIES = ("quality", "latency", "throughput")
ARCH = "newarch"


class Case(NamedTuple):
    """One question. `installed` are kinds and "fork"; `manual` is the kind of the engine that was chosen last, "" in auto mode."""

    weights: str
    installed: frozenset[str]
    support: str
    manual: str
    policy: str
    pin: str

    def facts(self) -> dict[str, str]:
        """As the table speaks of it."""
        owner = {tag: kind for kind, tag in TAGS.items()}
        build = owner.get(self.pin, "")
        if not self.pin:
            pin, chosen = "none", self.manual
        elif build:
            pin, chosen = "tag", "llamacpp" if build == "fork" else build
        else:
            pin, chosen = ("kind", self.pin) if self.pin in KINDS else ("nothing", "")
        there = {one: "yes" if one in self.installed else "no" for one in (*KINDS, "fork")}
        return {
            **there,
            "weights": self.weights,
            "support": self.support,
            "mode": "manual" if self.manual else "auto",
            "policy": self.policy,
            "pin": pin,
            "build": build,
            "chosen": chosen,
            "chosen_there": there.get(chosen, "no"),
        }

    def engines(self) -> list[Engine]:
        """As the catalog would list them."""
        return list(_engines(self.installed, self.support, self.manual))

    def subject(self) -> Subject:
        dead = self.support in ("dead", "lost")
        lacking = frozenset(TAGS[kind] for kind in KINDS if kind in self.installed and dead)
        return Subject(Weights(self.weights), ARCH, self.pin, lacking)

    def rules(self) -> Rules:
        return Rules("manual" if self.manual else "auto", self.policy)


@cache
def _engines(installed: frozenset[str], support: str, manual: str) -> tuple[Engine, ...]:
    def lists(kind: str) -> tuple[str, ...]:
        if support == "unknown":
            return ()
        if kind == "fork":
            return (ARCH,) if support in ("listed", "unlisted", "dead") else ("another",)
        if support in ("dead", "lost"):
            return ()
        return (ARCH, "another") if support == "listed" or (support, kind) == ("second", "mistralrs") else ("another",)

    return tuple(
        an_engine(
            TAGS[one],
            kind=EngineKind.LLAMACPP if one == "fork" else EngineKind(one),
            provenance=Provenance.FORK if one == "fork" else Provenance.ARCHIVE,
            active=one != "fork" or "llamacpp" not in installed,
            used_at=2.0 if one == manual else 1.0 if manual and one != "fork" else 0.0,
            architectures=lists(one),
        )
        for one in (*KINDS, "fork")
        if one in installed
    )


def cases() -> Iterator[Case]:
    """Formats, what is installed, support, mode, policy, override: all combinations that can be."""
    for bits in product((False, True), repeat=len(KINDS) + 1):
        installed = frozenset(one for one, there in zip((*KINDS, "fork"), bits, strict=True) if there)
        modes = ("", *(kind for kind in KINDS if kind in installed))
        pins = ("", "nothing-1", *KINDS, *(TAGS[one] for one in sorted(installed)))
        for weights, support, manual, policy, pin in product(Weights, SUPPORTS, modes, POLICIES, pins):
            yield Case(weights.value, installed, support, manual, policy, pin)


def rows() -> list[dict[str, Any]]:
    """The table."""
    found: list[dict[str, Any]] = tomllib.loads(TABLE.read_text(encoding="utf-8"))["row"]
    return found


def first_row(table: list[dict[str, Any]], facts: Mapping[str, str]) -> int:
    """The number of the row that decides."""
    for number, row in enumerate(table):
        if all(facts[name] in ([value] if isinstance(value, str) else value) for name, value in row["when"].items()):
            return number
    raise AssertionError(f"no row for {facts}")


def meant(row: Mapping[str, Any], facts: Mapping[str, str]) -> str:
    """The outcome of a row for this case: "serve TAG", or "refuse SENTENCE"."""
    verb, _, what = row["then"].partition(" ")
    return f"{verb} {TAGS[facts['chosen'] if what == 'chosen' else what]}" if verb == "serve" else str(row["then"])
