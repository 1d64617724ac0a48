"""Kept files and batches, put together."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from blazar.adapters.http.lane.rows import HOT_PATHS
from blazar.application.access.accounts import Accounts
from blazar.composition.batching import Batching
from blazar.domain.errors import NotFound
from blazar.domain.keys import Key
from tests.fakes.clock import FakeClock
from tests.fakes.entropy import CountingEntropy
from tests.fakes.saved import MemorySaved
from tests.support.lane_rig import Rig
from tests.unit.adapters.http.asgi_calls import SilentMeter


def batching_in(folder: Path, *keys: Any) -> Batching:
    ground: Any = SimpleNamespace(
        folders=SimpleNamespace(files=folder),
        clock=FakeClock(),
        entropy=CountingEntropy(),
        meter=SilentMeter(),
        keys=keys,
        accounts=Accounts(),
    )
    return Batching(ground, MemorySaved(), Rig().lane)


def test_batches_ask_endpoints_that_answer_here(tmp_path: Path) -> None:
    """A row of the lane is enough to be one of them."""
    endpoints = batching_in(tmp_path).manage.endpoints
    assert set(endpoints) <= HOT_PATHS
    assert {"/v1/chat/completions", "/v1/completions", "/v1/embeddings"} <= set(endpoints)


def test_it_sweeps_before_it_works_and_ends_clean(tmp_path: Path) -> None:
    """What a crash left is gone when the first request may come; nothing runs on after the end."""
    (tmp_path / "file-orphan").write_bytes(b"x")
    batching = batching_in(tmp_path)

    async def main() -> None:
        await batching.start()
        assert not (tmp_path / "file-orphan").exists()
        await batching.aclose()
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


def test_keys_are_asked_as_they_are_now(tmp_path: Path) -> None:
    """A key that is taken away is taken away from batches too."""
    batching = batching_in(tmp_path, key := Key("laptop", "k", ("m",)))
    assert batching.asking.keys() == (key,)
    ground: Any = batching._ground
    ground.keys = ()
    assert batching.asking.keys() == ()


def test_batches_are_charged_to_the_key_that_made_them(tmp_path: Path) -> None:
    """Its account, as far as it has one; nobody waits for them, so that limits of a minute are not asked."""
    batching = batching_in(tmp_path)
    account = batching._ground.accounts.open(Key("laptop", "k", rpm=1))
    tab = batching.asking.tab_of("laptop")
    assert tab is not None
    assert (tab.account, tab.hurried) == (account, False)
    assert batching.asking.tab_of("gone") is None


def test_one_shelf_for_all(tmp_path: Path) -> None:
    """Batches find the files that were sent."""
    batching = batching_in(tmp_path)
    assert batching.manage.shelf is batching.shelf
    with pytest.raises(NotFound, match="file-x"):
        batching.shelf.find("file-x", "")
