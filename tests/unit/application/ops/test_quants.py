"""A registry's offers with what they weigh, and how few headers that takes."""

import pytest

from blazar.application.ops.quants import MOST_FAILED, MOST_FAMILIES, MOST_OFFERS, MOST_SHARDS, Quants
from blazar.application.ports.remote import Listing, Offer, RemoteFile
from blazar.domain import teaching
from blazar.domain.errors import BadModelFile
from blazar.domain.fit.shape import Projector
from blazar.domain.references import RemoteRef
from tests.fakes.remote import MemoryRegistry, MemorySource
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
    assert registry.opened == ["mmproj-F16.gguf", "m-Q4_K_M.gguf"]
    assert found.projector(Q2) is None


def test_an_encoder_must_belong_to_the_model() -> None:
    """Its rows are as wide as the model's; one that cannot be read is not counted, and a note says so."""
    files = tuple(RemoteFile(f"mmproj-{name}.gguf", 50, f"/{name}") for name in ("F16", "BF16", "F32"))
    seeing = Q4._replace(projectors=files)
    found, registry, weights = quants(seeing)
    weights.projectors |= {
        files[0].name: Projector("clip", 50, 0, widths=(5120,)),
        files[1].name: Projector("clip", 40, 0, widths=(256,)),
    }
    assert found.projector(seeing) == weights.projectors[files[1].name]
    weights.broken[files[1].name] = "it is a page"
    again = Quants(registry, weights, Listing(REF, (seeing,)))
    assert again.projector(seeing) == Projector("clip", 50, 0)  # F32, whose width is unknown
    why = f"{files[1].name} is not a usable GGUF model: it is a page"
    assert again.notes == [teaching.fit_projector_unreadable(files[1].name, why)]


def test_a_file_that_is_no_model_spoils_its_own_row_only() -> None:
    """Another header of its family judges the others; all of them broken is all that can be said."""
    found, registry, weights = quants(Q2, Q4, Q8)
    weights.broken[Q4.files[0].name] = "it is a page"
    assert weighs(found, Q2) == 2_999_000
    assert registry.opened == ["m-Q4_K_M.gguf", "m-Q8_0.gguf"]
    with pytest.raises(BadModelFile, match="it is a page"):
        found.shape(Q4)
    assert list(found.failed) == [Q4]
    weights.broken |= {one.files[0].name: "gone" for one in (Q2, Q8)}
    again = Quants(registry, weights, Listing(REF, (Q2, Q4, Q8)))
    for one in (Q2, Q4, Q8):
        with pytest.raises(BadModelFile):
            again.shape(one)


def test_a_listing_without_end_is_bounded() -> None:
    """What was asked for is among those that are looked at; the others are counted and a few are named."""
    many = [offer(f"q{number}", 1_000_000 + number) for number in range(9000)]
    found, _, _ = quants(*many, asked=many[7000])
    assert len(found.offers()) == len(found.listing.offers) == MOST_OFFERS
    assert many[7000] in found.offers()
    (note,) = found.notes
    assert note.startswith("not looked at: q63, q64, ")
    assert note.endswith(f"q82 and {9000 - MOST_OFFERS - 20} more; name one to see it")


def test_a_set_of_thousands_is_not_read() -> None:
    """Each file is a request; no published set comes near."""
    files = tuple(RemoteFile(f"m-{number}.gguf", 10, f"/{number}") for number in range(MOST_SHARDS + 1))
    found, registry, _ = quants(Offer("Q6_K", "m", files))
    with pytest.raises(BadModelFile, match=f"more than {MOST_SHARDS} files"):
        found.shape(found.offers()[0])
    assert registry.opened == []


def test_of_a_set_one_file_is_open_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was fetched of one is dropped before the next, also where one of them is bad."""
    files = tuple(RemoteFile(f"m-{number}.gguf", 100_000, f"/{number}") for number in range(4))
    both = Offer("Q6_K", "m", files)
    found, registry, weights = quants(both)
    sources: list[MemorySource] = []
    open_one = registry.open

    def opened(file: RemoteFile) -> MemorySource:
        assert all(source.closed for source in sources)
        sources.append(open_one(file))
        return sources[-1]

    monkeypatch.setattr(registry, "open", opened)
    assert found.read(both)
    weights.broken["m-2.gguf"] = "it is a page"
    again = Quants(registry, weights, found.listing)
    assert not again.read(both)
    assert (len(sources), all(source.closed for source in sources)) == (4 + 3, True)
    assert again.failed[both].__traceback__ is None


def test_not_every_file_of_a_bad_repository_is_looked_into() -> None:
    """Each may be as large as a header can be."""
    many = [offer(f"q{number}", 1_000_000 + number) for number in range(40)]
    found, registry, weights = quants(*many)
    weights.broken |= {one.files[0].name: "it is a page" for one in many}
    for one in many:
        with pytest.raises(BadModelFile):
            found.shape(one)
    assert len(registry.opened) == len(found.failed) == MOST_FAILED
