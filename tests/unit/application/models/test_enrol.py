"""Links and rows appear together or not at all."""

import pytest

from blazar.application.models.enrol import enrol, link_beside, spelled, take_place
from blazar.domain.errors import Conflict, StoreTrouble
from blazar.domain.records import Model
from tests.fakes.catalog import MemoryModelCatalog, a_model
from tests.fakes.weights import MemoryWeightFiles, some_facts

LINK = "/models/m.gguf"
MODEL = a_model("m", files=(LINK,))


def _weights() -> MemoryWeightFiles:
    return MemoryWeightFiles({LINK: some_facts(LINK)})


def test_a_row_is_added() -> None:
    """And answered."""
    catalog = MemoryModelCatalog()
    assert enrol(catalog, _weights(), MODEL) == MODEL
    assert catalog.find_model("m") == MODEL


def test_the_same_model_under_the_same_name_is_the_winner_s_row() -> None:
    """A link that the winner's row does not name is taken away again."""
    winner = a_model("m", files=("/elsewhere/m.gguf",), owned=False)
    weights = _weights()
    weights.content["/elsewhere/m.gguf"] = weights.content[LINK]
    assert enrol(MemoryModelCatalog([winner]), weights, MODEL) == winner
    assert weights.missing((LINK,)) == LINK


def test_a_winner_with_other_bytes_is_another_model() -> None:
    """Though the fingerprints agree."""
    weights = _weights()
    weights.content["/elsewhere/m.gguf"] = "other bytes"
    winner = a_model("m", files=("/elsewhere/m.gguf",), owned=False)
    with pytest.raises(Conflict):
        enrol(MemoryModelCatalog([winner]), weights, MODEL)
    assert weights.missing((LINK,)) == LINK


def test_links_that_the_winner_uses_stay() -> None:
    """Both imports linked the same name."""
    weights = _weights()
    with pytest.raises(Conflict):
        enrol(MemoryModelCatalog([a_model("m", files=(LINK,), digest="other")]), weights, MODEL)
    assert weights.missing((LINK,)) is None


def test_a_reference_is_never_taken_away() -> None:
    """The file is somebody else's."""
    weights = _weights()
    with pytest.raises(Conflict):
        enrol(
            MemoryModelCatalog([a_model("m", digest="other", files=("/x",))]),
            weights,
            a_model("m", files=(LINK,), owned=False),
        )
    assert weights.missing((LINK,)) is None


@pytest.mark.parametrize("taken", ["M", "M:LATEST", "m:latest"])
def test_a_name_in_other_letters_is_taken(taken: str) -> None:
    """Where case is ignored the links of both would be one file."""
    weights = _weights()
    catalog = MemoryModelCatalog([a_model(taken, files=("/elsewhere/m.gguf",), owned=False)])
    with pytest.raises(Conflict, match=f"'{taken}' exists already"):
        enrol(catalog, weights, MODEL)
    assert weights.missing((LINK,)) == LINK
    assert spelled(catalog, "m") == taken
    assert spelled(catalog, "other") == "other"


def test_links_of_another_model_stay_where_they_are() -> None:
    """What takes its place is called after its own bytes, and plainly where those links are called so."""
    weights = MemoryWeightFiles({file: some_facts(file) for file in (LINK, "/in/a.gguf", "/in/b.gguf")})
    (first,), _ = link_beside(weights, "m", f"sha256:{'ab' * 32}", ("/in/a.gguf",), ())
    assert first not in (LINK, "/in/a.gguf")
    del weights.content[LINK]
    assert link_beside(weights, "m", f"sha256:{'ab' * 32}", ("/in/b.gguf",), ()) == ((LINK,), True)


@pytest.mark.parametrize("error", [StoreTrouble, ValueError, None])
def test_a_row_takes_another_one_s_place_or_all_is_as_before(error: type[Exception] | None) -> None:
    """However its words fail: the row before is back, its links are there, and none of the new one's."""
    other = "/models/m@other.gguf"
    weights = MemoryWeightFiles({file: some_facts(file) for file in (LINK, other)})
    catalog = MemoryModelCatalog([MODEL])
    newer = a_model("m", files=(other,), digest="other")
    seen = []

    def lay(row: Model) -> None:
        seen.append((row, catalog.find_model("m")))
        if error is not None:
            raise error("no")

    if error is None:
        assert take_place(catalog, weights, MODEL, newer, lay) == newer
    else:
        with pytest.raises(error):
            take_place(catalog, weights, MODEL, newer, lay)
    assert seen == [(newer, newer)]
    assert catalog.list_models() == [newer if error is None else MODEL]
    assert (weights.missing((LINK,)), weights.missing((other,))) == (None, other if error else None)


def test_links_that_both_rows_name_stay() -> None:
    """A copy of the same file over its own copy."""
    weights, catalog = _weights(), MemoryModelCatalog([MODEL])

    def lay(_: Model) -> None:
        raise StoreTrouble("no")

    with pytest.raises(StoreTrouble):
        take_place(catalog, weights, MODEL, MODEL, lay)
    assert (weights.missing((LINK,)), catalog.list_models()) == (None, [MODEL])
