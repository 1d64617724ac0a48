"""What the lane is told by the configuration: its times and switches, and what the semantic cache remembers. Decides nothing."""

from typing import TYPE_CHECKING

from blazar.adapters.http.lane.relay import Limits
from blazar.adapters.http.lane.remembering import Remembering
from blazar.domain.semcache import SemanticCache, Settings

if TYPE_CHECKING:
    from blazar.adapters.http.lane.core import Lane
    from blazar.application.config.model import Config
    from blazar.application.ports.clock import Clock
    from blazar.application.supervise.supervisor import Supervisor


def lane_limits(config: "Config") -> Limits:
    """The times that the lane watches. Our keep-alive comments follow the engine's switch (case D5)."""
    limits = Limits(
        header_timeout=config.child_header_timeout_secs,
        picture_timeout=config.sdcpp_child_header_timeout_secs,
        fetches=config.image_fetch == "public",
        late_tokens=config.late_chunking_max_tokens,
        preflight=config.prompt_preflight,
        singleflight=config.singleflight,
        observes=config.sentinel,
        enforces=config.sentinel_enforce,
        stall=config.sentinel_stall_secs,
    )
    pings = config.sse_ping_interval
    return limits if pings is None else limits._replace(heartbeat=float(max(0, pings)))


def cache_settings(config: "Config") -> Settings:
    """`[semantic_cache]`."""
    table = config.semantic_cache
    return Settings(table.enabled, float(table.ttl_secs), table.threshold, table.max_entries)


def remembering(supervisor: "Supervisor", clock: "Clock", config: "Config") -> Remembering:
    """The semantic cache, which is there also where nobody enabled it: a request may ask for it."""
    return Remembering(supervisor, supervisor, clock, SemanticCache(cache_settings(config)))


def reconfigure(lane: "Lane", config: "Config") -> None:
    """A reload: what is answered from now on is answered by it, and nothing that was remembered before."""
    lane.limits = lane_limits(config)
    if lane.remembering is not None:
        lane.remembering.cache.exchange(cache_settings(config))
