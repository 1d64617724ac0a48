"""A supervised world on one accelerator that really gets full: what living children use is gone from it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from blazar.application.ports.children import Measured
from blazar.application.supervise.surroundings import Limits
from blazar.domain.records import Machine
from tests.fakes.catalog import a_model
from tests.fakes.hardware import GIB, FakeCensus, a_gpu, a_machine
from tests.fakes.weights import heavy_shape
from tests.support.supervision import World

NAMES = ("a", "b", "c")
CARD = "CUDA0"
CARD_BYTES = 24 * GIB


class Card(FakeCensus):
    """One 24 GiB card, of which `others` (bytes) are no child's; main memory is too small for any model."""

    def __init__(self, world: World) -> None:
        super().__init__(a_machine(ram=4 * GIB, available=3 * GIB))
        self.world = world
        self.others = 0

    @property
    def used(self) -> int:
        """What living children have taken of it."""
        return sum(dict(child.memory().devices).get(CARD, 0) for child in self.world.children.alive)

    def read(self) -> Machine:
        self.readings += 1
        card = a_gpu(total=CARD_BYTES)._replace(kind="cuda", free=max(0, CARD_BYTES - self.others - self.used))
        return self.machine._replace(gpus=(card,))


def on_card(
    limits: Limits | None = None, sizes: Sequence[int] = (10, 10, 10), **settings: dict[str, Any]
) -> Callable[[], World]:
    """Makes a world in which the weights of each of `NAMES` take so many GiB of the card, and its child what they take."""

    def make() -> World:
        world = World([a_model(name) for name in NAMES], limits, **{key: dict(said) for key, said in settings.items()})
        card = Card(world)
        for name, size in zip(NAMES, sizes, strict=True):
            world.files.shapes[f"/models/{name}.gguf"] = heavy_shape(size * GIB)
            world.children.appetites[name] = Measured(GIB, 0, ((CARD, size * GIB),))
        sizing = replace(world.planner.sizing, hardware=card)
        world.census = card
        world.planner = world.supervisor.planner = replace(world.planner, hardware=card, sizing=sizing)
        return world

    return make
