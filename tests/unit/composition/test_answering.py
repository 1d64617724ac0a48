"""What the lane is told by the configuration."""

from types import SimpleNamespace
from typing import Any

from blazar.adapters.http.lane.relay import Limits
from blazar.application.config.layers import load_config
from blazar.application.config.model import Config
from blazar.composition.answering import cache_settings, lane_limits, reconfigure, remembering
from blazar.domain.semcache import Settings
from tests.fakes.clock import FakeClock


def config(text: str = "") -> Config:
    return load_config(text, "config.toml", {}, {}).config


def test_the_defaults_are_the_declared_ones() -> None:
    """Those of a lane that nobody configured, and those of the file."""
    assert lane_limits(config())._replace(fetches=True) == Limits()
    assert cache_settings(config()) == Settings()


def test_what_is_written_holds() -> None:
    """Key by key; without the engine's pings we send none either (D5)."""
    text = "sentinel = false\nsentinel_enforce = true\nsentinel_stall_secs = 7\nsse_ping_interval = -1\n"
    limits = lane_limits(config(text))
    assert (limits.observes, limits.enforces, limits.stall, limits.heartbeat) == (False, True, 7, 0)
    table = "[semantic_cache]\nenabled = true\nttl_secs = 5\nthreshold = 0.5\nmax_entries = 2\n"
    assert cache_settings(config(table)) == Settings(True, 5.0, 0.5, 2)


def test_a_reload_forgets_what_was_remembered() -> None:
    """Answers of other settings may be others; a lane without a cache has nothing to forget."""
    nobody: Any = None
    kept = remembering(nobody, FakeClock(), config())
    lane: Any = SimpleNamespace(limits=None, remembering=kept)
    reconfigure(lane, config("[semantic_cache]\nmax_entries = 2\n"))
    assert lane.limits == lane_limits(config())
    assert kept.cache.settings.capacity == 2
    reconfigure(SimpleNamespace(limits=None, remembering=None), config())  # type: ignore[arg-type]
