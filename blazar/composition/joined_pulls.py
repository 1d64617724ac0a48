"""Pulls in the daemon: one for all who want the same, by the configuration as it is when it begins. Loads no HTTP client before one does."""

from collections.abc import Awaitable, Callable, Mapping

from blazar.application.models.judged_pull import JudgedPull
from blazar.application.models.pulling import OnePull
from blazar.application.models.pulls import Pulls
from blazar.application.ops.preview_fit import Wanted
from blazar.composition.foundation import Foundation
from blazar.composition.preview import Beside
from blazar.composition.pulling import Pulling, Shelf


def joined_pulls(
    foundation: Foundation,
    env: Mapping[str, str],
    shelf: Shelf,
    beside: Beside,
    catch_up: Callable[[], Awaitable[None]],
    *,
    notice: Callable[[], None],
) -> Pulls:
    """What they are made of. `notice` has whoever serves see the catalog as it is now: a request right behind a pull is not the old model's."""
    pulling = Pulling(foundation.folders, env, lambda: foundation.live.config, shelf)

    def begin() -> OnePull:
        return JudgedPull(pulling(), lambda: beside((), Wanted()))

    async def behind_each() -> None:
        await catch_up()
        notice()

    return Pulls(begin, foundation.events, foundation.clock, behind_each, pulling.mended)
