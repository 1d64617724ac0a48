"""Every offer of a registry's listing with what it weighs: a few headers read, the other rows worked out from their sizes.

A header with its vocabulary is some MB, and a repository has twenty quantisations of one model: their caches are the same and
the sizes of their files are known, so that one header a family is enough to judge all of them. What is recommended is then
read as well. A file that is no model spoils its own row only.
"""

from collections.abc import Generator, Sequence
from contextlib import closing

from blazar.application.ports.remote import Listing, Offer, RemoteFile, RemoteModels
from blazar.application.ports.weights import Source, WeightFiles
from blazar.domain import teaching
from blazar.domain.errors import BadModelFile, BlazarError, Malformed, NotFound, RegistryGarbled
from blazar.domain.fit.preview import belongs, resized
from blazar.domain.fit.shape import ModelShape, Projector
from blazar.domain.weight_names import projector_rank, same_model

MOST_FAMILIES = 8
"""Models with headers of their own that are read of one repository; offers of further ones are left out."""

MOST_OFFERS = 64
"""Offers of one listing that are looked at: publishers make about thirty quantisations of a model."""
MOST_NAMED = 20
"""Of those that were left out."""
MOST_SHARDS = 512
"""Files of one model: the largest published sets have less than 200, and each costs a request."""
MOST_FAILED = 8
"""Headers that could not be used, after which no more is judged: each may be 64 MiB of anything."""
MOST_PROJECTORS = 4
"""Encoders of a repository that are looked into for the one that belongs to a model."""
UNUSABLE = (Malformed, NotFound, RegistryGarbled)
"""What is wrong with one file and need not be with the next; a registry that cannot be reached cannot be for all of them."""


class Quants:
    """One listing, and the shapes that were read or worked out for it.

    `failed` are the offers whose headers could not be used, with why; `notes` sentences about what else could not.
    """

    def __init__(self, registry: RemoteModels, weights: WeightFiles, listing: Listing) -> None:
        self.listing, left = _bounded(listing)
        self._registry, self._weights = registry, weights
        self._read: dict[Offer, ModelShape] = {}
        self._projectors: dict[str, Projector | None] = {}
        self.failed: dict[Offer, BlazarError] = {}
        self.notes: list[str] = [teaching.fit_more_there(left[:MOST_NAMED], len(left))] if left else []

    def offers(self) -> list[Offer]:
        """Those that can be judged, the smallest first."""
        families = list(dict.fromkeys(offer.family for offer in self._loadable()))[:MOST_FAMILIES]
        if self.listing.asked is not None and self.listing.asked.family not in families:
            families[-1:] = [self.listing.asked.family]
        return sorted((offer for offer in self._loadable() if offer.family in families), key=lambda offer: offer.size)

    def incomplete(self) -> list[Offer]:
        """Sets of which shards are missing."""
        return [offer for offer in self.listing.offers if offer.missing]

    def estimated(self, offer: Offer) -> bool:
        """Whether its header was not read."""
        return offer not in self._read

    def shape(self, offer: Offer) -> ModelShape:
        """As read, else worked out from another offer of its family. Raises what reading it raised where it cannot be used."""
        while offer not in self.failed:
            model = offer if offer in self._read else self._model_of(offer.family)
            if model is offer:
                return self._read[offer]
            if model is not None:
                return resized(self._read[model], model.size, offer.size)
            if len(self.failed) >= MOST_FAILED:
                raise next(reversed(self.failed.values()))
            self.read(self._representative(offer.family))
        raise self.failed[offer]

    def read(self, offer: Offer) -> bool:
        """Take the shape from the headers of all its files; whether they could be used."""
        if offer in self._read or offer in self.failed:
            return offer in self._read
        try:
            if len(offer.files) > MOST_SHARDS:
                raise BadModelFile(offer.files[0].name, teaching.fit_many_shards(MOST_SHARDS))
            with closing(self._sources(offer)) as sources:
                self._read[offer] = self._weights.shape_elsewhere(sources)
        except UNUSABLE as why:
            self.failed[offer] = why.with_traceback(None)  # whose frames hold what was fetched
        return offer in self._read

    def _sources(self, offer: Offer) -> Generator[Source, None, None]:
        """One open at a time: of a set, no more than one file's header is held."""
        for file in offer.files:
            with self._registry.open(file) as source:
                yield source

    def projector(self, offer: Offer) -> Projector | None:
        """The encoder that would be loaded beside it: the usual one of those that are offered and belong to it."""
        alike = {file: same_model(file.name, offer.files[0].name) for file in offer.projectors}
        for file in sorted(alike, key=lambda file: (alike[file] is False, projector_rank(file.name)))[:MOST_PROJECTORS]:
            projector = self._encoder(file)
            if projector and belongs(projector, self.shape(offer)) and (projector.widths or alike[file] is not False):
                return projector
        return None

    def _encoder(self, file: RemoteFile) -> Projector | None:
        if file.at not in self._projectors:
            self._projectors[file.at] = None
            try:
                with self._registry.open(file) as source:
                    self._projectors[file.at] = self._weights.projector_elsewhere(source)
            except UNUSABLE as why:
                self.notes.append(teaching.fit_projector_unreadable(file.name, str(why)))
        return self._projectors[file.at]

    def _model_of(self, family: str) -> Offer | None:
        return next((known for known in self._read if known.family == family), None)

    def _loadable(self) -> Sequence[Offer]:
        return [offer for offer in self.listing.offers if not offer.missing]

    def _representative(self, family: str) -> Offer:
        """What was asked for, else Q4_K_M, which nearly every repository has, else the one in the middle."""
        members = [offer for offer in self.offers() if offer.family == family and offer not in self.failed]
        asked = self.listing.asked
        if asked in members:
            return members[members.index(asked)] if asked else members[0]
        usual = [offer for offer in members if offer.quant == "Q4_K_M"]
        return (usual or members[len(members) // 2 :])[0]


def _bounded(listing: Listing) -> tuple[Listing, list[str]]:
    """No more offers than are looked at, what was asked for among them, and what the others are called."""
    offers = list(listing.offers)
    if listing.asked in offers[MOST_OFFERS:]:
        offers.remove(listing.asked)
        offers.insert(0, listing.asked)
    return listing._replace(offers=tuple(offers[:MOST_OFFERS])), [offer.quant for offer in offers[MOST_OFFERS:]]
