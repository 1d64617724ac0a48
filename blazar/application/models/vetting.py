"""Whether what a pull brings can serve at all: asked ahead where headers tell, and said of the reference afterwards. Downloads nothing whole.

A file that is what its registry promised and cannot be used is broken there: no other try mends it, so that it is not kept.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from blazar.application.models.arrivals import Shipment
from blazar.application.models.placing import Order
from blazar.application.ports.landing import Landing
from blazar.application.ports.weights import WeightFiles
from blazar.domain import teaching
from blazar.domain.diffusion_sets import may_draw
from blazar.domain.errors import (
    BadModelFile,
    BlazarError,
    BrokenThere,
    Malformed,
    PartsMissing,
    PartsOfNoSet,
    WrongPart,
)
from blazar.domain.harmless import public
from blazar.domain.kinds import Weights
from blazar.domain.weight_names import SUFFIX


@dataclass(frozen=True, slots=True)
class Vetting:
    """Of one order."""

    weights: WeightFiles
    landing: Landing
    order: Order

    def ahead(self, check: Callable[[], None]) -> None:
        """Raises `Malformed` for a diffusion model whose parts are not ordered or are others, and for parts of what is none.

        And whatever `check` raises.

        What cannot be read ahead is judged when it is here.
        """
        main, row = self.order.main, self.order.present
        if self.order.parts and (not main.single or (row is not None and row.weights is not Weights.DIFFUSION)):
            raise PartsOfNoSet(main.parcel.ref.public, "with")
        for part in self.order.parts:
            self._ahead_of_part(part, check)
        self._ahead_of_main(main, check)

    def _ahead_of_main(self, main: Shipment, check: Callable[[], None]) -> None:
        name = f"{main.parcel.ref.repo} {main.files[0].part.file.name}"
        is_gguf = main.single.lower().endswith(SUFFIX)
        if not main.single or (is_gguf and not may_draw(name) and not self.order.parts):
            return
        try:
            with main.registry.open(main.files[0].part.file) as source:
                self.weights.vet_elsewhere(source, self._given())
        except PartsMissing as why:
            raise self._without_parts(why) from None
        except WrongPart as why:
            raise WrongPart(main.parcel.ref.public, why.role, why.part) from None
        except PartsOfNoSet:
            raise PartsOfNoSet(main.parcel.ref.public, "with") from None
        except BlazarError:
            check()

    def _ahead_of_part(self, part: Shipment, check: Callable[[], None]) -> None:
        try:
            with part.registry.open(part.files[0].part.file) as source:
                self.weights.vet_part_elsewhere(source, part.role)
        except WrongPart as why:
            raise WrongPart(part.parcel.ref.public, why.role, why.part) from None
        except BlazarError:
            check()

    def _given(self) -> list[str]:
        row = self.order.present
        before = row.components if row is not None and row.weights is Weights.DIFFUSION else ()
        return [*(part.role for part in self.order.parts), *(role for role, _ in before)]

    @contextmanager
    def told(self) -> Iterator[None]:
        """What is wrong with files that came is said by what was asked for: people never see where they lie."""
        try:
            yield
        except PartsMissing as why:
            raise self._without_parts(why) from why
        except BadModelFile as why:
            broken = next((one for one in self.order.shipments if why.path.startswith(one.folder)), None)
            if broken is None:
                raise
            for shipment in self.order.shipments:
                self._drop(shipment)
            file = why.path.removeprefix(broken.folder).lstrip("/")
            raise BrokenThere(public(str(broken.parcel.ref)), file, why.why) from why
        except Malformed as why:
            if (said := self._by_reference(str(why))) == str(why):
                raise
            raise Malformed(said, why.field) from why

    def _by_reference(self, sentence: str) -> str:
        """Whatever it says of files that came, said of what they were asked for as: nobody else knows where they lie."""
        for shipment in self.order.shipments:
            reference = shipment.parcel.ref.public
            if shipment.single:
                sentence = sentence.replace(shipment.single, reference)
            sentence = sentence.replace(shipment.folder, reference)
        return sentence

    def _without_parts(self, why: PartsMissing) -> Malformed:
        reference = public(str(self.order.main.parcel.ref))
        return Malformed(teaching.pull_parts_missing(reference, why.family, why.lacking), "with")

    def _drop(self, shipment: Shipment) -> None:
        for one in shipment.files:
            with suppress(BlazarError):  # what is wrong with it matters more
                self.landing.drop(one.at)
