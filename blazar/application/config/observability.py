"""Keys of what is sent to an OpenTelemetry collector."""

from typing import Annotated, ClassVar

from pydantic import Field

from blazar.application.config.engines import Url
from blazar.application.config.knob import Keys


class ObservabilityKeys(Keys):
    """Traces and metrics for a collector."""

    title: ClassVar[str] = "Observability"
    group: ClassVar[str] = "observability"
    daemon: ClassVar[bool] = True

    otlp_endpoint: Url = ""
    """Address of a collector that takes OTLP over HTTP; unset: nothing is sent."""
    otlp_service: Annotated[str, Field(min_length=1)] = "blazar"
    """Name that this gateway has there."""
