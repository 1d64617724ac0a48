"""The series behind /metrics: right numbers, bounded labels, clean exposition."""

import asyncio
import random
import re
from pathlib import Path

from blazar.adapters.telemetry.metrics import MODELS_CAP, Histogram, PrometheusMeter
from blazar.application.supervise.views import InstanceView
from tests.fakes.clock import FakeClock
from tests.fakes.telemetry import a_served
from tests.support.exposition import lint, lint_progress


def a_view(key: str = "tiny", state: str = "serving", **changes) -> InstanceView:
    view = InstanceView(
        key=key, model=key, state=state, engine="b1", provenance="archive", pid=7, port=1, ctx=512, slots=2, in_flight=1,
        waiting=3, size=9, rss=4096, expires_at=0.0, load_seconds=0.0, argv=(), notes=(), last_error="",
    )  # fmt: skip
    return view._replace(**changes)


def a_meter() -> PrometheusMeter:
    return PrometheusMeter(FakeClock(), "0.1.0")


def test_an_empty_meter_is_clean():
    """Before anything happened the exposition is complete and well-formed."""
    scrape = lint(a_meter().exposition())
    assert scrape.value("blazar_build_info", version="0.1.0") == 1
    assert scrape.value("blazar_uptime_seconds") == 0
    assert {"blazar_requests_total", "blazar_request_seconds", "blazar_evictions_total"} <= set(scrape.types)


def test_a_request_is_counted():
    """Count, times and tokens stand under the model; the count under dialect and status too."""
    meter = a_meter()
    meter.on_served(a_served())
    meter.on_served(
        a_served(
            status=502, dialect="ollama", seconds=3.0, first_byte_seconds=0.0, prompt_tokens=0, completion_tokens=0
        )
    )
    scrape = lint(meter.exposition())
    assert scrape.value("blazar_requests_total", dialect="openai", model="tiny", status="200") == 1
    assert scrape.value("blazar_requests_total", dialect="ollama", model="tiny", status="502") == 1
    assert scrape.value("blazar_request_seconds_sum", model="tiny") == 3.25
    assert scrape.value("blazar_request_seconds_bucket", model="tiny", le="0.25") == 1
    assert scrape.value("blazar_request_seconds_bucket", model="tiny", le="5") == 2
    assert scrape.value("blazar_queue_wait_seconds_count", model="tiny") == 2
    assert scrape.value("blazar_first_byte_seconds_count", model="tiny", stream="true") == 1
    assert scrape.value("blazar_first_byte_seconds_count", model="tiny", stream="false") == 0
    assert scrape.value("blazar_prompt_tokens_total", model="tiny") == 12
    assert scrape.value("blazar_completion_tokens_total", model="tiny") == 34


def test_the_time_between_tokens_is_measured_where_there_is_any():
    """Of streams with two tokens or more: what is buffered comes at once."""
    meter = a_meter()
    meter.on_served(a_served(instance="tiny", seconds=1.05, first_byte_seconds=0.05, completion_tokens=11))
    for changes in ({"stream": False}, {"completion_tokens": 1}, {"first_byte_seconds": 0.0}):
        meter.on_served(a_served(instance="tiny", **changes))
    scrape = lint(meter.exposition())
    assert scrape.value("blazar_time_per_token_seconds_count", model="tiny") == 1
    assert scrape.value("blazar_time_per_token_seconds_sum", model="tiny") == 0.1


def test_the_first_byte_of_a_buffered_answer_is_no_first_token():
    """It is the end of the answer: each kind has its own series."""
    meter = a_meter()
    meter.on_served(a_served(first_byte_seconds=0.1))
    meter.on_served(a_served(stream=False, first_byte_seconds=20.0))
    scrape = lint(meter.exposition())
    assert scrape.value("blazar_first_byte_seconds_sum", model="tiny", stream="true") == 0.1
    assert scrape.value("blazar_first_byte_seconds_sum", model="tiny", stream="false") == 20.0


def test_who_neither_had_a_place_nor_waited_was_in_no_line():
    """A wrong key, broken JSON: zeros of theirs would make the line look short. Who waited in vain counts."""
    meter = a_meter()
    meter.on_served(a_served(status=400, placed=False, queue_seconds=0.0))
    meter.on_served(a_served(status=503, placed=False, queue_seconds=2.0))
    meter.on_served(a_served(queue_seconds=0.0))
    scrape = lint(meter.exposition())
    assert scrape.value("blazar_queue_wait_seconds_count", model="tiny") == 2
    assert scrape.value("blazar_queue_wait_seconds_sum", model="tiny") == 2.0


def test_what_is_accepted_counts_when_it_is_done():
    """Under its model once, with what it cost."""
    meter = a_meter()
    meter.on_served(a_served(accepted=True, placed=False, queue_seconds=0.0, prompt_tokens=0, completion_tokens=0))
    meter.on_served(a_served())
    scrape = lint(meter.exposition())
    assert scrape.value("blazar_requests_total", dialect="openai", model="", status="200") == 1
    assert scrape.value("blazar_requests_total", dialect="openai", model="tiny", status="200") == 1
    assert scrape.value("blazar_queue_wait_seconds_count", model="tiny") == 1


def test_a_model_has_one_series_whatever_child_serves_it():
    """Replicas and children with a projector are the same model; one of the catalog that is not loaded has its own."""
    meter = a_meter()
    for key in ("tiny", "tiny#2", "tiny@vision"):
        meter.on_spawn(key, 1.0)
    meter.on_served(a_served(model="asleep", status=503))
    meter.on_served(a_served(model="nobody", status=404, known=False))
    scrape = lint(meter.exposition())
    assert scrape.value("blazar_spawns_total", model="tiny") == 3
    assert scrape.value("blazar_requests_total", dialect="openai", model="asleep", status="503") == 1
    assert scrape.value("blazar_requests_total", dialect="openai", model="other", status="404") == 1


def test_what_was_noted_is_counted_by_its_name():
    """Limits of keys, observations, hits of the cache; other notes are only told. Their labels are bounded."""
    meter = a_meter()
    meter.on_served(a_served(status=429, notes=[(0.0, "over_quota", {"limit": "rpm"})]))
    meter.on_served(a_served(notes=[(0.1, "sentinel", {"code": "truncation"}), (0.1, "cache", {"outcome": "hit"})]))
    meter.on_served(a_served(notes=[(0.1, "retried", {})], cached_tokens=5))
    for number in range(3 * MODELS_CAP):
        meter.on_served(a_served(notes=[(0.1, "sentinel", {"code": f"made-up-{number}"})]))
    scrape = lint(meter.exposition())
    assert scrape.value("blazar_quota_refusals_total", limit="rpm") == 1
    assert scrape.value("blazar_sentinel_observations_total", code="truncation") == 1
    assert scrape.value("blazar_semantic_cache_total", outcome="hit") == 1
    assert scrape.value("blazar_prompt_cached_tokens_total", model="tiny") == 5
    assert len([key for key in scrape.values if key[0] == "blazar_sentinel_observations_total"]) <= MODELS_CAP + 1


def test_residency_and_hints_are_read_at_scrape_time():
    """What lies where, what sleeps, and how often caches and guesses hit; what nobody knows has no series."""
    meter = a_meter()
    views = [
        a_view(devices=(("CUDA0", 7),), cache_hint=0.25, spec_accept=0.5, sleeping=True),
        a_view("big", "loading"),
    ]
    meter.watch_children(lambda: views)
    scrape = lint(meter.exposition())
    assert scrape.value("blazar_models_loaded") == 1
    assert scrape.value("blazar_child_device_bytes", instance="tiny", device="CUDA0") == 7
    assert scrape.value("blazar_child_cache_hit_ratio", instance="tiny") == 0.25
    assert scrape.value("blazar_child_accepted_ratio", instance="tiny") == 0.5
    assert scrape.value("blazar_child_cache_hit_ratio", instance="big") is None
    assert (scrape.value("blazar_sleeping", instance="tiny"), scrape.value("blazar_sleeping", instance="big")) == (1, 0)


def test_what_is_handed_on_stands_still():
    """A copy of a histogram is not counted on with."""
    histogram = Histogram((1.0,))
    histogram.observe(0.5)
    still = histogram.copy()
    histogram.observe(0.5)
    assert (still.counts, still.total) == ([1, 0], 0.5)


def test_children_are_counted():
    """Spawns, crashes and evictions by cause; a load's seconds in their own histogram."""
    meter = a_meter()
    meter.on_spawn("tiny", 0.4)
    meter.on_spawn("tiny", 700.0)
    meter.on_crashed("tiny")
    meter.on_evicted("tiny", "idle")
    meter.on_evicted("other", "idle")
    meter.on_evicted("tiny", "asked")
    scrape = lint(meter.exposition())
    assert scrape.value("blazar_spawns_total", model="tiny") == 2
    assert scrape.value("blazar_spawn_seconds_bucket", le="0.5") == 1
    assert scrape.value("blazar_spawn_seconds_bucket", le="600") == 1
    assert scrape.value("blazar_spawn_seconds_count") == 2
    assert scrape.value("blazar_crashes_total", model="tiny") == 1
    assert scrape.value("blazar_evictions_total", cause="idle") == 2


def test_live_children_are_read_at_scrape_time():
    """Gauges show now; a state that emptied is 0, not gone."""
    meter, views = a_meter(), [a_view()._replace(planned=5000, measured=6000), a_view("big", "loading")]
    meter.watch_children(lambda: views)
    scrape = lint(meter.exposition())
    assert scrape.value("blazar_children", state="serving") == 1
    assert scrape.value("blazar_children", state="draining") == 0
    assert scrape.value("blazar_child_resident_bytes", instance="tiny") == 4096
    assert scrape.value("blazar_child_planned_bytes", instance="tiny") == 5000
    assert scrape.value("blazar_child_measured_bytes", instance="tiny") == 6000
    assert scrape.value("blazar_child_waiting", instance="big") == 3
    views[1] = views[1]._replace(queued=(("high", "tool", 1), ("normal", "interactive", 2)))
    scrape = lint(meter.exposition())
    assert scrape.value("blazar_child_queued", instance="big", priority="high", work="tool") == 1
    assert scrape.value("blazar_child_queued", instance="big", priority="normal", work="interactive") == 2
    assert scrape.value("blazar_child_queued", instance="big", priority="low", work="raw_long") == 0
    views.clear()
    scrape = lint(meter.exposition())
    assert scrape.value("blazar_children", state="serving") == 0
    assert scrape.value("blazar_child_resident_bytes", instance="tiny") is None


def test_others_counters_are_shown():
    """What the audit log drops is kept by the audit log and read here."""
    meter = a_meter()
    meter.watch_total("blazar_audit_dropped_total", "Audit lines that could not be kept.", lambda: 5)
    assert lint(meter.exposition()).value("blazar_audit_dropped_total") == 5


def test_uptime_runs():
    """Uptime is the monotonic difference."""
    clock = FakeClock()
    meter = PrometheusMeter(clock, "1")
    asyncio.run(clock.advance(12.5))
    assert lint(meter.exposition()).value("blazar_uptime_seconds") == 12.5


def test_names_that_clients_make_up_count_as_other():
    """A million wrong names are one series, and take no model's place."""
    meter = a_meter()
    for number in range(3 * MODELS_CAP):
        meter.on_served(a_served(model=f"wrong-{number}", status=404, known=False))
    meter.on_served(a_served(model="real"))
    scrape = lint(meter.exposition())
    assert scrape.value("blazar_requests_total", dialect="openai", model="other", status="404") == 3 * MODELS_CAP
    assert scrape.value("blazar_requests_total", dialect="openai", model="real", status="200") == 1
    assert len([key for key in scrape.values if key[0] == "blazar_requests_total"]) == 2


def test_a_failing_known_model_keeps_its_label():
    """Only unknown names are lumped together."""
    meter = a_meter()
    meter.on_spawn("tiny", 1.0)
    meter.on_served(a_served(status=502))
    assert lint(meter.exposition()).value("blazar_requests_total", dialect="openai", model="tiny", status="502") == 1


def test_models_beyond_the_cap_are_other():
    """The exposition stays bounded however many models are served."""
    meter = a_meter()
    for number in range(MODELS_CAP + 20):
        meter.on_served(a_served(model=f"m{number:03}"))
    scrape = lint(meter.exposition())
    assert scrape.value("blazar_requests_total", dialect="openai", model="other", status="200") == 20
    assert scrape.value("blazar_requests_total", dialect="openai", model="m000", status="200") == 1


def test_strange_names_are_escaped():
    """Quotes, backslashes, newlines and lone surrogates in a label do not break the format."""
    meter = a_meter()
    for name in ('a"b', "a\\b", "a\nb", "\udc80"):
        meter.on_served(a_served(model=name))
    assert len([key for key in lint(meter.exposition()).values if key[0] == "blazar_prompt_tokens_total"]) == 4


def test_counters_only_grow():
    """Over a random life no counter goes back and no series vanishes (case O11)."""
    rng, meter = random.Random(11), a_meter()
    before = lint(meter.exposition())
    for _ in range(300):
        model = rng.choice(["a", "b", "c", ""])
        rng.choice(
            [
                lambda model=model: meter.on_served(
                    a_served(
                        model=model,
                        status=rng.choice([200, 404, 502]),
                        seconds=rng.random() * 400,
                        first_byte_seconds=rng.random(),
                    )
                ),
                lambda model=model: meter.on_spawn(model, rng.random() * 700),
                lambda model=model: meter.on_crashed(model),
                lambda model=model: meter.on_evicted(model, rng.choice(["idle", "asked", "room"])),
            ]
        )()
        if rng.random() < 0.1:
            after = lint(meter.exposition())
            lint_progress(before, after)
            before = after


def test_a_bound_is_inclusive():
    """A value that equals a bound belongs below it, as `le` says."""
    histogram = Histogram((1.0, 2.0))
    for value in (0.0, 1.0, 1.5, 2.0, 3.0):
        histogram.observe(value)
    assert [sample.value for sample in histogram.samples(()) if sample.suffix == "_bucket"] == [2, 4, 5]


def test_every_series_is_on_the_page():
    """By its whole name, and none that is not there."""
    page = (Path(__file__).resolve().parents[4] / "docs" / "record.md").read_text()
    told = set(re.findall(r"`(blazar_\w+)`", page))
    elsewhere = {
        "blazar_log_dropped_total",
        "blazar_audit_dropped_total",
        "blazar_otlp_dropped_total",
        "blazar_otlp_failures_total",
    }
    assert {family.name for family in a_meter().families()} == told - elsewhere
    assert elsewhere <= told


def test_a_scrape_of_some_models_names_no_other():
    """Neither their requests nor their engines, nor what was counted under `other`; the server's own series stay."""
    meter = a_meter()
    for model in ("tiny", "secret"):
        meter.on_served(a_served(model=model))
        meter.on_spawn(model, 1.0)
        meter.on_crashed(model)
    meter.on_served(a_served(model="made-up", known=False))
    meter.on_served(a_served(model=""))
    meter.watch_children(lambda: (a_view(), a_view("secret#2"), a_view("tiny#2", devices=(("cuda:0", 7),))))
    text = meter.exposition({"tiny"})
    scrape = lint(text)
    assert b"secret" not in text
    assert b'"other"' not in text
    assert scrape.value("blazar_requests_total", dialect="openai", model="tiny", status="200") == 1
    assert scrape.value("blazar_requests_total", dialect="openai", model="", status="200") == 1
    assert scrape.value("blazar_child_device_bytes", instance="tiny#2", device="cuda:0") == 7
    assert scrape.value("blazar_spawn_seconds_count") == 2
    assert b"secret" in meter.exposition()
    assert b"tiny" not in meter.exposition(())
