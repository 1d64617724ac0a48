"""Keys of who answers a request: which engine, one child a model or one for all, and who stands in."""

from typing import Annotated, ClassVar

from pydantic import Strict

from blazar.application.config.failover import FailoverChain
from blazar.application.config.knob import Keys, Whole
from blazar.application.config.switchboard import EngineRouting


class RoutingKeys(Keys):
    """Which engine and which child answer, and who stands in for them."""

    title: ClassVar[str] = "Routing"
    group: ClassVar[str] = "routing"
    daemon: ClassVar[bool] = True

    router: bool = False
    """Serve all models of llama.cpp from one child that loads and unloads them itself, instead of one child a model."""
    router_max_models: Whole = 0
    """Most models that such a child keeps loaded; 0: as many as llama.cpp thinks right, which is 4."""
    engine_routing: EngineRouting = EngineRouting()
    """How the engine of a model is chosen."""
    failover: Annotated[tuple[FailoverChain, ...], Strict(strict=False)] = ()
    """Chains of targets under one name, one `[[failover]]` table each."""
