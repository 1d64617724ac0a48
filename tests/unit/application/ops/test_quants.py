"""A registry's offers with what they weigh, and how few headers that takes."""

from blazar.application.ops.quants import MOST_FAMILIES, Quants
from blazar.application.ports.remote import Listing, Offer, RemoteFile
from blazar.domain.fit.shape import Projector
from blazar.domain.references import RemoteRef
from tests.fakes.remote import MemoryRegistry
from tests.fakes.weights import MemoryWeightFiles, some_shape
from tests.support.registry import offer

REF = RemoteRef("hf", "me/m")
Q2, Q4, Q8 = offer("Q2_K", 3_000_000), offer("Q4_K_M", 5_000_000), offer("Q8_0", 9_000_000)


def quants(*offers: Offer, asked: Offer | None = None) -> tuple[Quants, MemoryRegistry, MemoryWeightFiles]:
    registry, weights = MemoryRegistry({"me/m": offers}), MemoryWeightFiles({})
    for one in offers:
        weights.shapes[one.files[0].name] = some_shape(weights=one.size - 1000)
    return Quants(registry, weights, Listing(REF, offers, asked)), registry, weights


def weighs(found: Quants, one: Offer) -> int:
    return sum(row.bytes for row in found.shape(one).tensors)


def test_one_header_judges_them_all() -> None:
    """The usual quantisation is read, the others come from their sizes; smallest first."""
    found, registry, _ = quants(Q8, Q2, Q4)
    assert found.offers() == [Q2, Q4, Q8]
    assert [weighs(found, one) for one in found.offers()] == [2_999_000, 4_999_000, 8_999_000]
    assert registry.opened == ["m-Q4_K_M.gguf"]
    assert [found.estimated(one) for one in found.offers()] == [True, False, True]


def test_what_was_asked_for_is_the_one_that_is_read() -> None:
    """It is the one that is shown."""
    found, registry, _ = quants(Q2, Q4, Q8, asked=Q8)
    found.shape(Q2)
    assert registry.opened == ["m-Q8_0.gguf"]


def test_without_the_usual_one_the_middle_is_read() -> None:
    """Estimates reach in both directions."""
    q5 = offer("Q5_K_M", 6_000_000)
    found, registry, _ = quants(Q8, q5, Q2)
    found.shape(Q2)
    assert registry.opened == ["m-Q5_K_M.gguf"]


def test_reading_makes_exact_and_is_done_once() -> None:
    """An estimate gives way to the header; all shards of a set are read."""
    both = Offer("Q6_K", "m", (RemoteFile("a-1.gguf", 4_000_000, "/1"), RemoteFile("a-2.gguf", 3_000_000, "/2")))
    found, registry, weights = quants(Q4, both)
    assert weighs(found, both) == 6_999_000
    weights.shapes["a-1.gguf"] = some_shape(weights=6_500_000)
    for _ in range(2):
        found.read(both)
    assert (weighs(found, both), found.estimated(both)) == (6_500_000, False)
    assert registry.opened == ["m-Q4_K_M.gguf", "a-1.gguf", "a-2.gguf"]


def test_other_models_are_not_judged_by_this_ones_header() -> None:
    """One header a family, and no more than eight families; the one that was asked for is among them."""
    many = [offer("Q8_0", 1_000_000 + number, family=f"f{number}") for number in range(12)]
    found, registry, _ = quants(*many, asked=many[11])
    shown = found.offers()
    assert len(shown) == MOST_FAMILIES
    assert many[11] in shown
    for one in shown:
        found.shape(one)
    assert sorted(registry.opened) == sorted(one.files[0].name for one in shown)


def test_a_set_with_missing_shards_is_not_judged() -> None:
    """It is named with their number."""
    broken = offer("F16", 20_000_000, missing=2)
    found, _, _ = quants(Q4, broken)
    assert found.offers() == [Q4]
    assert found.incomplete() == [broken]


def test_the_usual_projector_goes_with_each() -> None:
    """Read once, however many quantisations there are."""
    files = (RemoteFile("mmproj-F32.gguf", 90, "/a"), RemoteFile("mmproj-F16.gguf", 50, "/b"))
    seeing = [one._replace(projectors=files) for one in (Q4, Q8)]
    found, registry, _ = quants(*seeing)
    assert [found.projector(one) for one in seeing] == [Projector("clip", 50, 0)] * 2
    assert registry.opened == ["mmproj-F16.gguf"]
    assert found.projector(Q2) is None
