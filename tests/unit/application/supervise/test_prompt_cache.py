"""The engine's prompt cache beside a plan."""

from dataclasses import replace

import pytest

from blazar.application.config.model import Config
from blazar.application.supervise.prompt_cache import PromptCache, prompt_cache, spare
from blazar.domain import teaching
from blazar.domain.fit.machine import Device, Machine
from blazar.domain.fit.planner import plan
from blazar.domain.fit.settings import Settings
from blazar.domain.fit.verdict import Outcome, Share, Verdict
from tests.fakes.weights import heavy_shape

MIB, GIB = 2**20, 2**30
OPEN = Config().cache_ram_mb
NOBODY = ""


def sized(
    *shares: Share, outcome: Outcome = Outcome.FITS, devices: tuple[Device, ...] = (), now: int = 8, evict: str = ""
) -> tuple[Verdict, Machine]:
    """A verdict with these shares, on a machine that has `now` GiB free."""
    shape, asked, machine = heavy_shape(GIB), Settings(ctx=512, parallel=1), Machine(16 * GIB, now * GIB, devices)
    said = {"shares": shares, "outcome": outcome, "evict": (evict,) if evict else ()}
    return replace(plan(shape, machine, asked), **said), machine


def host(free: int = 8 * GIB, **changes: int) -> Share:
    return replace(Share("host", 16 * GIB, free, weights=5 * GIB, margin=512 * MIB), **changes)


def test_the_default_gives_way_to_the_plan():
    """What is left beyond the margin, rounded down; nothing at all where nothing is left."""
    assert spare(*sized(host())) == 2560
    assert prompt_cache(OPEN, NOBODY, *sized(host())) == PromptCache(2560)
    assert prompt_cache(2000, NOBODY, *sized(host())) == PromptCache(2000)
    assert prompt_cache(OPEN, NOBODY, *sized(host(free=5 * GIB))) == PromptCache(0)


def test_a_choice_stays_and_is_commented_on():
    """Who sets it may know better, and is told what the plan leaves; also where it is the default's own value."""
    note = teaching.prompt_cache_beyond("as said", 2560)
    assert prompt_cache(3000, "as said", *sized(host())) == PromptCache(3000, (note,))
    assert prompt_cache(OPEN, "as said", *sized(host())) == PromptCache(OPEN, (note,))
    assert prompt_cache(2560, "as said", *sized(host())) == PromptCache(2560)
    assert prompt_cache(0, "as said", *sized(host(free=5 * GIB))) == PromptCache(0)


def test_weights_that_may_be_dropped_are_no_room():
    """Prompts would drive them out, and every token would read them again."""
    paging = sized(host(free=5 * GIB, mapped=5 * GIB // 2), outcome=Outcome.PAGES)
    assert prompt_cache(OPEN, NOBODY, *paging) == PromptCache(0)


def test_a_load_that_is_too_large_leaves_nothing():
    """It may be tried without the guard."""
    assert prompt_cache(OPEN, NOBODY, *sized(host(free=GIB), outcome=Outcome.NEVER)) == PromptCache(0)


def test_what_others_hold_is_room_once_they_leave():
    """Those named leave before it is started; where it would have to wait for others, they are still there."""
    later = {"outcome": Outcome.AFTER_EVICTION, "now": 6}
    assert spare(*sized(host(), evict="other", **later)) == 2560
    assert spare(*sized(host(), **later)) == 512


def test_a_device_on_the_machine_s_memory_takes_of_it():
    """An integrated GPU's part lies in the same memory; a card's own does not."""
    shares = (host(), Share("Vulkan0", 8 * GIB, 8 * GIB, weights=GIB), Share("CUDA0", 8 * GIB, 8 * GIB, weights=GIB))
    devices = (Device("Vulkan0", "vulkan", 8 * GIB, 8 * GIB, "i", True), Device("CUDA0", "cuda", 8 * GIB, 8 * GIB, "c"))
    assert spare(*sized(*shares, devices=devices)) == 1536


@pytest.mark.parametrize(
    "unknown",
    [(None, None), sized(host(free=0)), sized(host(), now=0), sized(host(), outcome=Outcome.REFUSED), sized()],
)
def test_where_nobody_knows_it_stays_as_configured(unknown):
    """No verdict, none that counted anything, no figure for free memory."""
    assert prompt_cache(OPEN, NOBODY, *unknown) == PromptCache(OPEN)
    assert prompt_cache(9000, "as said", *unknown) == PromptCache(9000)
