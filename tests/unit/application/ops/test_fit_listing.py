"""A registry's listing as rows: all of them are there, and what is recommended was read."""

from typing import Any

import pytest

from blazar.application.config.model import Config
from blazar.application.ops.fit_listing import MOST_CORRECTIONS, judge_listing
from blazar.application.ops.fit_rows import Judge
from blazar.application.ops.quants import MOST_FAMILIES, Quants
from blazar.application.ports.remote import Listing, Offer
from blazar.application.supervise.preparation import prepare
from blazar.domain import teaching
from blazar.domain.errors import BadModelFile
from blazar.domain.fit.machine import imagined
from blazar.domain.references import RemoteRef
from tests.fakes.remote import MemoryRegistry
from tests.fakes.weights import MemoryWeightFiles, some_shape
from tests.support.registry import offer

GIB = 2**30
REF = RemoteRef("hf", "me/m")
QUANTS = tuple(offer(quant, size * GIB) for quant, size in (("Q2_K", 3), ("Q4_K_M", 5), ("Q6_K", 7), ("Q8_0", 9)))


class World:
    """A repository and one machine."""

    def __init__(self, *offers: Offer, cards: tuple[float, ...] = (12,), **settings: Any) -> None:
        self.offers = offers or QUANTS
        self.weights = MemoryWeightFiles({})
        for one in self.offers:
            self.weights.shapes[one.files[0].name] = some_shape(blocks=32, width=4096, weights=one.size, trained=8192)
        self.registry = MemoryRegistry({"me/m": self.offers})
        prepared = prepare({**Config().settings_for(""), "default_ctx": 1024, **settings}, self.weights, ())
        self.judge = Judge("hf:me/m", imagined(cards, 64), prepared)

    def answer(self, asked: Offer | None = None, notes: tuple[str, ...] = ()) -> dict[str, Any]:
        listing = Listing(REF, self.offers, asked, notes)
        return judge_listing(Quants(self.registry, self.weights, listing), self.judge, REF)


def outcomes(found: dict[str, Any]) -> dict[str, str]:
    return {row["quant"]: row["outcome"] for row in found["quants"]}


def test_what_is_recommended_was_read_whatever_is_shown() -> None:
    """Also beside a quantisation that was named; a first guess by estimate is corrected."""
    world = World()
    world.weights.shapes["m-Q8_0.gguf"] = some_shape(blocks=32, width=4096, weights=30 * GIB)  # nothing like its size
    found = world.answer(asked=QUANTS[0])
    (take,) = [row for row in found["quants"] if row["take"]]
    assert (found["quant"], found["take"], take["quant"], take["estimated"]) == ("Q2_K", "Q6_K", "Q6_K", False)
    assert world.registry.opened == ["m-Q2_K.gguf", "m-Q8_0.gguf", "m-Q6_K.gguf"]


def test_no_estimate_is_recommended_when_corrections_end() -> None:
    """A repository whose sizes tell nothing costs a bounded number of headers."""
    many = tuple(offer(f"Q{at}_K", (3 << 30) + at) for at in range(20))
    world = World(*many)
    for one in many[1:]:
        world.weights.shapes[one.files[0].name] = some_shape(blocks=32, width=4096, weights=300 * GIB)
    found = world.answer(asked=many[0])
    assert found["take"] == "Q0_K"
    assert len(world.registry.opened) == 1 + MOST_CORRECTIONS


def test_one_bad_file_hides_nothing_but_itself() -> None:
    """Its row says so, and a note says why; the one that was named is an error."""
    world = World()
    world.weights.broken["m-Q4_K_M.gguf"] = "it is a page"
    found = world.answer()
    assert outcomes(found) == {"Q2_K": "fits", "Q4_K_M": "unreadable", "Q6_K": "fits", "Q8_0": "fits"}
    assert any(note.startswith("the file of Q4_K_M cannot be read: ") for note in found["notes"])
    assert found["take"] == "Q8_0"
    with pytest.raises(BadModelFile, match="it is a page"):
        world.answer(asked=QUANTS[1])


def test_what_is_recommended_may_turn_out_to_be_broken() -> None:
    """Then the next best is read."""
    world = World()
    world.weights.broken["m-Q8_0.gguf"] = "it is a page"
    found = world.answer()
    assert (found["take"], outcomes(found)["Q8_0"]) == ("Q6_K", "unreadable")


def test_nothing_but_bad_files_is_an_error() -> None:
    """There is nothing to show."""
    world = World()
    world.weights.broken = {one.files[0].name: "it is a page" for one in QUANTS}
    with pytest.raises(BadModelFile):
        world.answer()


def test_every_offer_has_a_row_of_the_same_form() -> None:
    """Also one whose shards lack and one model too many; smallest first, the registry's own notes last."""
    others = [offer("Q8_0", GIB + at, family=f"f{at}")._replace(quant=f"f{at}") for at in range(MOST_FAMILIES + 30)]
    world = World(*QUANTS, *others, offer("F16", 20 * GIB, missing=1))
    found = world.answer(notes=("there is more",))
    assert len(found["quants"]) == len(world.offers)
    assert [row["size"] for row in found["quants"]] == sorted(row["size"] for row in found["quants"])
    assert len({tuple(sorted(row)) for row in found["quants"]}) == 1
    assert outcomes(found)["F16"] == "incomplete"
    assert list(outcomes(found).values()).count("not-read") == 31
    assert any(note.endswith("and 11 more") for note in found["notes"])
    assert "there is more" in found["notes"]


def test_rows_are_compared_at_one_number_of_slots() -> None:
    """Where it is open one, else what was said."""
    found = World(cards=(80,)).answer()
    assert {row["slots"] for row in found["quants"]} == {1}
    assert found["verdict"]["chosen"]["slots"] == 1
    assert teaching.fit_one_at_a_time() in found["notes"]
    said = World(cards=(80,), slots=3).answer()
    assert {row["slots"] for row in said["quants"]} == {3}
    assert teaching.fit_one_at_a_time() not in said["notes"]
    alone = World(QUANTS[0], cards=(80,)).answer()
    assert alone["verdict"]["chosen"]["slots"] > 1
