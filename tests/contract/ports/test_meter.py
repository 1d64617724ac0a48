"""What every meter keeps to."""

import pytest

from blazar.adapters.telemetry.fanout import FanoutMeter
from blazar.adapters.telemetry.metrics import PrometheusMeter
from tests.fakes.clock import FakeClock
from tests.fakes.telemetry import MemoryMeter, a_served
from tests.support.exposition import lint, lint_progress


def prometheus() -> PrometheusMeter:
    return PrometheusMeter(FakeClock(), "1.0")


@pytest.fixture(params=[MemoryMeter, prometheus, lambda: FanoutMeter(FakeClock(), prometheus())])
def meter(request):
    return request.param()


def test_reports_are_counted_in_clean_text(meter):
    """Whatever is told, the exposition is well-formed and only grows."""
    before = lint(meter.exposition())
    meter.on_served(a_served())
    meter.on_served(a_served(model="", status=404, dialect=""))
    meter.on_spawn("tiny", 0.5)
    meter.on_evicted("tiny", "idle")
    meter.on_crashed("tiny")
    after = lint(meter.exposition())
    lint_progress(before, after)
    assert sum(value for (name, _), value in after.values.items() if name == "blazar_requests_total") == 2
    assert sum(value for (name, _), value in after.values.items() if name == "blazar_crashes_total") == 1


def test_what_has_ended_is_in_what_is_read(meter):
    """However long a meter puts it off."""
    meter.on_ended(a_served)
    after = lint(meter.exposition())
    assert sum(value for (name, _), value in after.values.items() if name == "blazar_requests_total") == 1


def test_reading_changes_nothing(meter):
    """Two scrapes without a report in between agree."""
    meter.on_served(a_served())
    assert meter.exposition() == meter.exposition()
