"""A pull whose question "which of these?" says what of them fits here, about, and that tells where nothing serves what came. Pulls nothing itself."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from blazar.application.models.foretelling import Unserved, nobody_knows
from blazar.application.models.pulling import OnePull, Pulled, Told, Wish
from blazar.domain.errors import BlazarError, ChoiceOpen
from blazar.domain.fit.about import about
from blazar.domain.fit.machine import Machine


@dataclass(frozen=True, slots=True)
class JudgedPull(OnePull):
    """`machine` is what there is now; it is looked at when there is something to judge. Where it cannot be, sizes must do.

    `unserved` says why no engine serves a model; "" where one does.
    """

    pull: OnePull
    machine: Callable[[], Machine]
    unserved: Unserved = nobody_knows

    def __call__(self, wish: Wish, told: Told) -> Pulled:
        try:
            pulled = self.pull(wish, told)
        except ChoiceOpen as question:
            try:
                machine = self.machine()
            except (BlazarError, OSError):
                raise question from None
            raise question.judged(partial(about, machine=machine)) from None
        return pulled if pulled.model is None else pulled._replace(unserved=self.unserved(pulled.model))

    def stop(self, why: BlazarError) -> None:
        self.pull.stop(why)
