"""Which models get a request's tools in words."""

from typing import Any

import pytest

from blazar.application.config.layers import load_config
from blazar.application.config.live import LiveConfig
from blazar.composition.raw_lanes import raw_lane
from blazar.domain.records import Model
from blazar.domain.wire.raw_tools import RawLane
from tests.fakes.catalog import MemoryModelCatalog, a_model

MARKED = "[model_overrides.tiny]\nollama_compat = true\n"


class Planner:
    """Says of every model what it was told; counts how often it was asked."""

    def __init__(self, answer: bool = True) -> None:
        self.answer, self.asked = answer, 0

    def words_tools(self, _: Model) -> bool:
        self.asked += 1
        return self.answer


def lane(text: str, name: str = "tiny", planner: Any = None) -> RawLane | None:
    """What a request for `name` gets with this configuration."""
    live = LiveConfig(load_config(text, "c"))
    return raw_lane(live, MemoryModelCatalog([a_model("tiny")]), planner or Planner(), name)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", RawLane(strict=False, cap=2048)),
        ("decode_policy = 'strict'", RawLane(strict=True, cap=2048)),
        ("raw_lane_max_tokens = 0", RawLane(cap=0)),
    ],
)
def test_a_marked_model_is_handled_as_the_keys_say(text: str, wanted: RawLane) -> None:
    """Also under another spelling of its name."""
    for name in ("tiny", "tiny:latest"):
        assert lane(f"{text}\n{MARKED}", name) == wanted


def test_its_own_bound_wins() -> None:
    """Over the one for all."""
    assert lane(f"raw_lane_max_tokens = 9\n{MARKED}raw_lane_max_tokens = 7") == RawLane(cap=7)


def test_nothing_is_looked_up_where_nobody_is_marked() -> None:
    """Every request with tools comes by here."""
    planner = Planner()
    assert lane("[model_overrides.tiny]\nctx = 512", planner=planner) is None
    assert planner.asked == 0


def test_what_is_not_there_or_not_meant_gets_none() -> None:
    """A name that is no model is the supervisor's to tell."""
    assert lane(MARKED, "nobody") is None
    assert lane(MARKED, planner=Planner(answer=False)) is None
