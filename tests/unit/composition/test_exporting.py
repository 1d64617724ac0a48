"""The export follows the configuration; what may be shown does, too."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from blazar.adapters.telemetry.fanout import FanoutMeter
from blazar.adapters.telemetry.metrics import PrometheusMeter
from blazar.composition.exporting import OtlpSwitch, scrubbing
from tests.fakes.clock import FakeClock
from tests.fakes.telemetry import a_served
from tests.support.collector import Collector
from tests.support.exposition import lint


def ground(endpoint: str = "") -> Any:
    """As much of a foundation as is looked at."""
    clock = FakeClock()
    series = PrometheusMeter(clock, "1")
    config = SimpleNamespace(otlp_endpoint=endpoint, otlp_service="box")
    return SimpleNamespace(clock=clock, series=series, meter=FanoutMeter(clock, series), config=config)


def test_nothing_is_sent_and_nothing_loaded_without_an_address():
    """Nor is there a counter of it."""

    async def go() -> None:
        about = ground()
        switch = OtlpSwitch(about)
        await switch.start()
        about.meter.on_served(a_served())
        await switch.aclose()
        assert b"otlp" not in about.series.exposition()

    asyncio.run(go())


def test_another_address_takes_over():
    """What was gathered for the first one goes there; what it missed stays counted, in one series."""

    async def go() -> None:
        about = ground("http://127.0.0.1:9")
        switch = OtlpSwitch(about)
        await switch.start()
        about.meter.on_served(a_served())
        with Collector() as collector:
            about.config.otlp_endpoint = collector.url
            await switch.turn(about.config)
            about.meter.on_served(a_served())
            about.config.otlp_endpoint = ""
            await switch.turn(about.config)
            about.meter.on_served(a_served())
            assert len(collector.spans) == 1
            assert {metric.name for metric in collector.metrics} >= {
                "blazar_requests_total",
                "blazar_otlp_dropped_total",
            }
        scrape = lint(about.series.exposition())
        assert scrape.value("blazar_otlp_dropped_total") == 1
        assert scrape.value("blazar_otlp_failures_total") == 2

    asyncio.run(go())


def test_texts_are_scrubbed_as_configured(tmp_path: Path):
    """The key is asked each time."""
    live: Any = SimpleNamespace(config=SimpleNamespace(pii_scrub=True))
    assert "joe@mail.example" not in scrubbing(live)("joe@mail.example")
    live.config.pii_scrub = False
    assert scrubbing(live)("joe@mail.example") == "joe@mail.example"
