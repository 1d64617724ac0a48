"""Chains of targets under one name: `[[failover]]`. What fits together is judged in `table_rules.py`."""

from typing import Annotated

from pydantic import Field, Strict

from blazar.application.config.knob import Keys, ModelName


class FailoverTarget(Keys):
    """A model, here or at a remote."""

    model: ModelName
    """Name of the model, here or at the remote."""
    remote: Annotated[str, Field(min_length=1)] | None = None
    """Name of the `[[remotes]]` entry that serves it; unset: this machine."""


class FailoverChain(Keys):
    """Targets that are tried in their order, under one name."""

    name: Annotated[str, Field(min_length=1)]
    """What the chain is called in listings."""
    alias: ModelName
    """Model name under which the chain is published."""
    min_residence_secs: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 30.0
    """Seconds for which a target that failed is not asked again."""
    targets: Annotated[tuple[FailoverTarget, ...], Strict(strict=False), Field(min_length=1)]
    """The targets, best first, one `[[failover.targets]]` table each."""
