"""Every offer of a registry's listing with what it weighs: a few headers read, the other rows worked out from their sizes.

A header with its vocabulary is some MB, and a repository has twenty quantisations of one model: their caches are the same and
the sizes of their files are known, so that one header a family is enough to judge all of them. What is recommended is then
read as well.
"""

from collections.abc import Sequence
from contextlib import ExitStack

from blazar.application.ports.remote import Listing, Offer, RemoteModels
from blazar.application.ports.weights import WeightFiles
from blazar.domain.fit.preview import resized
from blazar.domain.fit.shape import ModelShape, Projector
from blazar.domain.weight_names import projector_rank

MOST_FAMILIES = 8
"""Models with headers of their own that are read of one repository; offers of further ones are left out."""


class Quants:
    """One listing, and the shapes that were read or worked out for it."""

    def __init__(self, registry: RemoteModels, weights: WeightFiles, listing: Listing) -> None:
        self.listing = listing
        self._registry, self._weights = registry, weights
        self._read: dict[Offer, ModelShape] = {}
        self._projectors: dict[str, Projector] = {}

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
        """As read, else worked out from another offer of its family."""
        if offer in self._read:
            return self._read[offer]
        model = next((known for known in self._read if known.family == offer.family), None)
        if model is None:
            model = self._representative(offer.family)
            self.read(model)
        if model is offer:
            return self._read[offer]
        return resized(self._read[model], model.size, offer.size)

    def read(self, offer: Offer) -> ModelShape:
        """The shape by the headers of all its files."""
        if offer not in self._read:
            with ExitStack() as stack:
                sources = [stack.enter_context(self._registry.open(file)) for file in offer.files]
                self._read[offer] = self._weights.shape_elsewhere(sources)
        return self._read[offer]

    def projector(self, offer: Offer) -> Projector | None:
        """The encoder that would be loaded beside it: the usual one of those that are offered."""
        if not offer.projectors:
            return None
        file = min(offer.projectors, key=lambda one: projector_rank(one.name))
        if file.at not in self._projectors:
            with self._registry.open(file) as source:
                self._projectors[file.at] = self._weights.projector_elsewhere(source)
        return self._projectors[file.at]

    def _loadable(self) -> Sequence[Offer]:
        return [offer for offer in self.listing.offers if not offer.missing]

    def _representative(self, family: str) -> Offer:
        """What was asked for, else Q4_K_M, which nearly every repository has, else the one in the middle."""
        members = [offer for offer in self.offers() if offer.family == family]
        asked = self.listing.asked
        if asked in members:
            return members[members.index(asked)] if asked else members[0]
        usual = [offer for offer in members if offer.quant == "Q4_K_M"]
        return (usual or members[len(members) // 2 :])[0]
