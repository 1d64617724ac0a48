"""Keys of what outlives a child: sessions, their checkpoints, and what is loaded before anybody asks. Root-only (D26)."""

from typing import Annotated, ClassVar

from pydantic import Strict

from blazar.application.config.knob import Keys, Knob, ModelReference, Whole

Models = Annotated[tuple[ModelReference, ...], Strict(strict=False)]


class LifecycleKeys(Keys):
    """What is kept between requests, and what is loaded ahead of them."""

    title: ClassVar[str] = "Sessions and starting"

    sessions: bool = True
    """Let conversations be saved to the sessions folder and taken up again."""
    session_bank: Annotated[bool, Knob(daemon=True)] = True
    """Save what a model has computed when it is unloaded, and restore it when it is loaded again; above 512 MiB it is dropped."""
    session_keep_secs: Annotated[Whole, Knob(daemon=True)] = 900
    """Seconds that a conversation stays bound to its child after its last request. 0: not at all."""
    preload: Annotated[Models, Knob(env=("BLAZAR_PRELOAD",), daemon=True)] = ()
    """Models to load at start, one after the other; one that fails is reported and left out."""
    models_autoload: Annotated[Models | None, Knob(daemon=True)] = None
    """More models to load at start, after those of preload."""
    predictive_preload: Annotated[bool, Knob(daemon=True)] = False
    """Load a model shortly before it is usually asked for."""
