"""Which models get a request's tools in words, by the configuration as it is now. Decides nothing but where the answer is looked up."""

from typing import TYPE_CHECKING

from blazar.application.models.find import get_model
from blazar.domain.errors import BlazarError
from blazar.domain.wire.raw_tools import RawLane

if TYPE_CHECKING:
    from blazar.application.config.live import LiveConfig
    from blazar.application.config.model import Config
    from blazar.application.ports.catalog import ModelCatalog
    from blazar.application.supervise.launch_plan import LaunchPlanner


def raw_lane(live: "LiveConfig", catalog: "ModelCatalog", planner: "LaunchPlanner", name: str) -> RawLane | None:
    """How tools are handled for the model that `name` means; None for models whose templates have a place for them.

    Asked by every request that brings tools, so that nothing is looked up where no model is marked.
    """
    config = live.config
    if not any(override.ollama_compat for override in config.model_overrides.values()):
        return None
    try:
        model = get_model(catalog, name)
    except BlazarError:
        return None  # what is wrong with the name, its place in line tells
    return handling(config, model.name) if planner.words_tools(model) else None


def handling(config: "Config", model: str) -> RawLane:
    """What the keys say; a model's own bound wins over the one for all."""
    cap: int = config.settings_for(model)["raw_lane_max_tokens"]
    return RawLane(config.decode_policy == "strict", cap)
