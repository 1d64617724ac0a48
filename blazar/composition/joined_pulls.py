"""Pulls in the daemon: one for all who want the same, by the configuration as it is when it begins. Loads no HTTP client before one does."""

from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

from blazar.application.models.judged_pull import JudgedPull
from blazar.application.models.pulling import OnePull
from blazar.application.models.pulls import Pulls
from blazar.application.models.slots import Slot
from blazar.application.ops.preview_fit import Wanted
from blazar.composition.foundation import Foundation
from blazar.composition.preview import Beside
from blazar.composition.pulling import Pulling, Shelf
from blazar.domain.errors import Refusal
from blazar.domain.records import Model


class Serving(NamedTuple):
    """Whoever serves. `notice` has them see what is there now: a request right behind a pull is not the old model's. `route` raises where nothing serves a model."""

    notice: Callable[[], Awaitable[None]]
    route: Callable[[Model], object]


def joined_pulls(
    foundation: Foundation,
    env: Mapping[str, str],
    shelf: Shelf,
    beside: Beside,
    catch_up: Callable[[], Awaitable[None]],
    *,
    serving: Serving,
) -> Pulls:
    """What they are made of."""
    pulling = Pulling(foundation.folders, env, lambda: foundation.live.config, shelf, foundation.throttle)

    def begin(slot: Slot) -> OnePull:
        pull = pulling(slot)
        pull.unserved = unserved
        return JudgedPull(pull, lambda: beside((), Wanted()), unserved)

    def unserved(model: Model) -> str:
        try:
            serving.route(model)
        except Refusal as why:
            return str(why)
        return ""

    async def behind_each() -> None:
        await catch_up()
        await serving.notice()

    return Pulls(begin, foundation.events, foundation.clock, behind_each, pulling.mended)
