"""Routing against a table that is read without its code: every format, support, installation, mode, policy and override."""

import re
from collections import Counter
from contextlib import suppress
from functools import cache
from itertools import islice

from blazar.domain import teaching
from blazar.domain.errors import Unserved
from blazar.domain.kinds import EngineKind
from blazar.domain.routing import lane_for, rejections
from tests.support.routing_matrix import Case, cases, first_row, meant, rows
from tests.support.shared import shared

DRIVEN = frozenset(EngineKind)
# A sentence is recognised by what no other one says.
MARKS = {
    "pin_names_nothing": "neither an installed build nor an engine kind",
    "pin_not_installed": "unset its engine under",
    "chosen_cannot_serve": " does not serve ",
    "diffusion_elsewhere": "serves no diffusion model",
    "text_on_diffusion": "makes pictures and serves no text model",
    "architecture_unserved": "no installed engine knows the architecture",
    "only_forks": "only forks are installed",
    "no_engine": "for an archive, set BLAZAR_ENGINE_PATH",
    "no_lane": "no engine serves ",
    "mlx_unserved": "only mlx-lm decodes",
    "quantized_unserved": "served by SGLang alone",
    "diffusion_unserved": "a diffusion model is served by",
}


@cache
def _mark(sentence: str) -> str:
    found = [name for name, mark in MARKS.items() if mark in sentence]
    assert len(found) == 1, sentence
    return found[0]


def outcome(case: Case) -> str:
    """What the code says."""
    try:
        return f"serve {lane_for(case.subject(), case.engines(), DRIVEN, case.rules()).engine.tag}"
    except Unserved as refusal:
        return f"refuse {_mark(str(refusal))}"


def test_every_combination_is_routed_as_the_table_says():
    """More than a hundred thousand questions; every row of the table decides some of them."""
    table = rows()
    used: Counter[int] = Counter()
    wrong = []
    for case in cases():
        facts = case.facts()
        number = first_row(table, facts)
        used[number] += 1
        if (said := outcome(case)) != meant(table[number], facts):
            wrong.append((case, said, table[number]["then"]))
    assert wrong[:3] == [], f"{len(wrong)} of {used.total()}"
    assert sorted(used) == list(range(len(table)))
    assert used.total() > 50_000


def test_every_lane_that_was_not_taken_has_one_reason():
    """Kinds that have no build that could serve as kinds, of the others each build or the kind; a sample of all cases."""
    for case in islice(cases(), 0, None, 101):
        engines, chosen = case.engines(), None
        with suppress(Unserved):
            chosen = lane_for(case.subject(), engines, DRIVEN, case.rules()).engine
        found = rejections(case.subject(), engines, DRIVEN, case.rules(), chosen)
        lanes = [one.lane for one in found]
        assert len(lanes) == len(set(lanes))
        assert chosen is None or chosen.tag not in lanes
        builds = {engine.tag: engine.kind for engine in engines}
        spoken_for = {EngineKind(builds.get(lane, lane)) for lane in lanes} | ({chosen.kind} if chosen else set())
        assert spoken_for == set(EngineKind)
        assert all(one.reason and "''" not in one.reason for one in found)
        assert all((one.lane in builds) == (one.lane_class is not None) for one in found)


def test_every_row_names_words_of_the_specification():
    """The words stand in the line that the row names."""
    for row in rows():
        document, line = row["at"].split(":")
        text = shared(f"spec/{document}").read_text(encoding="utf-8").splitlines()[int(line) - 1]
        assert _plain(row["says"]) in _plain(text), row


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def test_every_refusal_of_the_table_is_a_sentence():
    """Of `teaching`, and each is refused with somewhere."""
    named = {row["then"].split()[1] for row in rows() if row["then"].startswith("refuse")}
    assert named == set(MARKS)
    assert all(hasattr(teaching, name) for name in named)
