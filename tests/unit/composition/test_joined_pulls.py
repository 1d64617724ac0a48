"""Pulls as the daemon has them, over a registry on loopback."""

import asyncio
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from blazar.adapters.files.folders import Folders
from blazar.adapters.telemetry.clock import MonotonicClock
from blazar.application.models.pulling import DONE, Pulled, Step, Wish
from blazar.application.models.pulls import Pulls
from blazar.composition.joined_pulls import Serving, joined_pulls
from blazar.composition.local import Local
from blazar.composition.pulling import Shelf
from blazar.domain.errors import ChoiceOpen, Unserved
from blazar.domain.fit.machine import imagined
from blazar.domain.records import Model
from tests.fakes.telemetry import MemoryEvents
from tests.support.gguf_files import tiny
from tests.support.model_registry import ModelRegistry
from tests.support.registry_faults import Fault

GGUF = tiny().build()
WATCHDOG = 60.0


class Rig:
    """What a daemon has of it."""

    def __init__(self, home: Path, registry: ModelRegistry) -> None:
        self.local = Local(Folders(home / "config.toml", home / "data"), {"BLAZAR_REGISTRY_BASE": registry.url}, list)
        self.events, self.caught_up, self.noticed, self.unserved = MemoryEvents(), 0, 0, ""
        loaded = self.local.settings().loaded
        self.about: Any = SimpleNamespace(
            folders=self.local.folders.ensure(),
            live=SimpleNamespace(config=loaded.config),
            events=self.events,
            clock=MonotonicClock(),
            throttle=self.local.throttle,
        )

    def make(self) -> Pulls:
        local = self.local
        beside: Any = lambda tenants, wanted: imagined((), 16)  # noqa: E731
        shelf = Shelf(local.catalog, local.weights, local.overlays, local.clock)
        return joined_pulls(
            self.about, local.env, shelf, beside, self.catch_up, serving=Serving(self.notice, self.route)
        )

    async def catch_up(self) -> None:
        self.caught_up += 1

    async def notice(self) -> None:
        """Comes behind it: what serves is planned by the configuration as it is then."""
        self.noticed = self.caught_up

    def route(self, model: Model) -> None:
        if self.unserved:
            raise Unserved(self.unserved)

    def pull(self, *wishes: Wish) -> list[Pulled | None]:
        """All at once."""

        async def one(pulls: Pulls, wish: Wish) -> Pulled | None:
            watching = pulls.join(wish)
            while (step := await watching.next()) is None or step.status != DONE:
                pass
            return watching.pulled

        async def together() -> list[Pulled | None]:
            pulls = self.make()
            return await asyncio.wait_for(asyncio.gather(*(one(pulls, wish) for wish in wishes)), WATCHDOG)

        return asyncio.run(together())


@pytest.fixture
def registry() -> Iterator[ModelRegistry]:
    with closing(ModelRegistry()) as made:
        yield made


@pytest.fixture
def rig(tmp_path: Path, registry: ModelRegistry) -> Iterator[Rig]:
    made = Rig(tmp_path, registry)
    with closing(made.local):
        yield made


def test_two_who_want_the_same_get_one_model_for_one_download(rig: Rig, registry: ModelRegistry) -> None:
    """And the configuration is read again behind it, once."""
    repo = registry.publish_hub("me/Tiny-GGUF", {"Tiny-F16.gguf": GGUF})
    first, second = rig.pull(Wish("me/Tiny-GGUF"), Wish("me/Tiny-GGUF"))
    assert first == second is not None
    assert repo.files["Tiny-F16.gguf"].stored.sent == len(GGUF)
    assert rig.caught_up == rig.noticed == 1
    assert [kind for kind, _ in rig.events.emitted] == ["pull_started", "pulled"]


def test_two_wishes_do_not_hinder_each_other(rig: Rig, registry: ModelRegistry) -> None:
    """Each has a thread and a transfer of its own, and both have one catalog."""
    registry.publish_hub("me/One-GGUF", {"One-F16.gguf": GGUF})
    registry.publish_hub("me/Two-GGUF", {"Two-F16.gguf": GGUF + b"\0" * 32})
    got = rig.pull(Wish("me/One-GGUF"), Wish("me/Two-GGUF"), Wish("me/One-GGUF", "mine"))
    names = [pulled.model.name for pulled in got if pulled is not None and pulled.model is not None]
    assert names == ["one-f16", "two-f16", "mine"]
    assert {row.name for row in rig.local.catalog.list_models()} == set(names)


@pytest.mark.parametrize(
    "other",
    [Wish("me/Tiny-GGUF:F16", "mine"), Wish("hf:me/Tiny-GGUF:f16"), Wish("me/Tiny-GGUF/Tiny-F16.gguf", "mine")],
    ids=["name", "spelling", "file"],
)
def test_what_is_pulled_is_shared_however_it_is_written(rig: Rig, registry: ModelRegistry, other: Wish) -> None:
    """By a name of its own, too: it sees the other's bytes come, gets its own row, and hears of no other process."""
    data = GGUF + b"\0" * (1 << 20)
    repo = registry.publish_hub("me/Tiny-GGUF", {"Tiny-F16.gguf": data})
    slow = Fault(rate=1 << 17)
    registry.spoil(repo.files["Tiny-F16.gguf"].digest, slow)
    steps: list[Step] = []

    async def together() -> list[Pulled | None]:
        pulls = rig.make()

        async def one(wish: Wish, told: list[Step]) -> Pulled | None:
            watching = pulls.join(wish)
            while (step := await watching.next()) is None or step.status != DONE:
                told += [step] if step is not None else []
                if told is steps and step is not None and 0 < step.completed < step.total:
                    slow.rate = 0  # it has seen the other's bytes come: the rest may come at once
            return watching.pulled

        async def second() -> Pulled | None:
            while not repo.files["Tiny-F16.gguf"].stored.began.is_set():
                await asyncio.sleep(0.01)
            return await one(other, steps)

        return await asyncio.wait_for(asyncio.gather(one(Wish("me/Tiny-GGUF:F16"), []), second()), WATCHDOG)

    first, then = asyncio.run(together())
    assert first is not None
    assert then is not None
    assert first.model is not None
    assert then.model is not None
    assert (first.model.name, then.model.name) == ("tiny-f16", other.name or "tiny-f16")
    assert repo.files["Tiny-F16.gguf"].stored.sent < 2 * len(data)  # its header may have been looked at before
    assert any(0 < step.completed < step.total for step in steps)
    assert [step.note for step in steps if step.note] == []


def test_what_nothing_serves_says_so(rig: Rig, registry: ModelRegistry) -> None:
    """It came all the same: the engine can follow."""
    registry.publish_hub("me/Tiny-GGUF", {"Tiny-F16.gguf": GGUF})
    rig.unserved = "no engine"
    (pulled,) = rig.pull(Wish("me/Tiny-GGUF"))
    assert pulled is not None
    assert (pulled.fresh, pulled.unserved) == (True, "no engine")
    rig.unserved = ""
    (pulled,) = rig.pull(Wish("me/Tiny-GGUF"))
    assert pulled is not None
    assert (pulled.fresh, pulled.unserved) == (False, "")


def test_a_choice_says_what_fits_here(rig: Rig, registry: ModelRegistry) -> None:
    """As the daemon sees the machine."""
    registry.publish_hub("me/Tiny-GGUF", {"Tiny-F16.gguf": GGUF, "Tiny-Q8_0.gguf": GGUF})
    with pytest.raises(ChoiceOpen, match="fits, about"):
        rig.pull(Wish("me/Tiny-GGUF"))


def test_a_pasted_page_of_the_own_hub_is_a_reference(rig: Rig, registry: ModelRegistry) -> None:
    """What `BLAZAR_REGISTRY_BASE` names has Hugging Face's pages."""
    registry.publish_hub("me/Tiny-GGUF", {"Tiny-F16.gguf": GGUF, "Tiny-Q8_0.gguf": GGUF})
    (pulled,) = rig.pull(Wish(f"{registry.url}/me/Tiny-GGUF/blob/main/Tiny-F16.gguf"))
    assert pulled is not None
    assert pulled.model is not None
    assert pulled.model.origin is not None
    assert pulled.model.origin.reference == "hf:me/Tiny-GGUF/Tiny-F16.gguf"
