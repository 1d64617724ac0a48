"""What stands before the first request."""

import asyncio
import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from blazar.adapters.files.folders import Folders
from blazar.adapters.telemetry.clock import MonotonicClock
from blazar.adapters.telemetry.logs import DaemonLog
from blazar.application.config.layers import load_config
from blazar.application.config.log_filter import parse_filter
from blazar.composition.foundation import Foundation
from blazar.composition.lifespan import running
from tests.fakes.telemetry import a_served
from tests.support.collector import Collector

TEXT = """
allowed_hosts = ["box.lan"]
cors_origins = ["https://app.example"]
{more}
[[keys]]
name = "guest"
key = "plm_x"
models = ["a"]
"""


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    return Folders(tmp_path / "config.toml", tmp_path / "data").ensure()


@pytest.fixture
def log(folders: Folders) -> Iterator[DaemonLog]:
    open_log = DaemonLog(folders.run / "daemon.log", parse_filter(""), MonotonicClock()).open()
    yield open_log
    open_log.close()


def founded(folders: Folders, log: DaemonLog, more: str = "") -> Foundation:
    loaded = load_config(TEXT.format(more=more), "config.toml", {}, {})
    return Foundation(loaded, folders, log, "http://127.0.0.1:1")


def test_the_doors_know_what_the_configuration_says(folders: Folders, log: DaemonLog) -> None:
    """Keys with their scopes, origins and hosts."""
    doors = founded(folders, log).doors()
    assert [(key.name, key.key, key.models) for key in doors.keys] == [("guest", "plm_x", ("a",))]
    assert (doors.allowed_hosts, doors.cors_origins) == (("box.lan",), ("https://app.example",))


def test_the_speed_limit_is_the_one_of_now(folders: Folders, log: DaemonLog) -> None:
    """Of everything that the process downloads; it holds from the next block on."""
    foundation, waits = founded(folders, log, "download_speed_limit_mb = 1"), list[float]()
    foundation.throttle.take(1_000_000, waits.append)

    def wait(secs: float) -> None:
        waits.append(secs)
        foundation.live.replace(load_config(TEXT.format(more=""), "config.toml", {}, {}))

    foundation.throttle.take(1 << 40, wait)
    assert len(waits) == 1


@pytest.mark.parametrize("audit", [True, False])
def test_a_served_request_is_counted_and_logged(folders: Folders, log: DaemonLog, audit: bool) -> None:
    """Counters, the access log, and the audit file only where it is wanted."""
    foundation = founded(folders, log, f"audit_log = {str(audit).lower()}")

    async def serve() -> str:
        async with running(foundation.parts()):
            foundation.meter.on_served(a_served())
            return foundation.meter.exposition().decode()

    text = asyncio.run(serve())
    assert "blazar_requests_total{" in text
    assert "blazar_log_dropped_total 0" in text
    assert ("blazar_audit_dropped_total 0" in text) is audit
    log.close()
    assert "/v1/chat/completions" in (folders.run / "daemon.log").read_text()
    assert (folders.log / "audit.jsonl").exists() is audit


def test_the_audit_log_can_be_turned_on_and_off(folders: Folders, log: DaemonLog) -> None:
    """What is served while it is off is in no file; the counter of lost lines stays one."""
    foundation = founded(folders, log, "audit_log = false")
    audit = folders.log / "audit.jsonl"

    async def serve() -> None:
        async with running(foundation.parts()):
            for on, trace in ((False, "off"), (True, "one"), (True, "two"), (False, "gone"), (True, "three")):
                await foundation.audit.turn(on=on)
                foundation.meter.on_served(a_served(trace=trace))

    asyncio.run(serve())
    assert [json.loads(line)["trace"] for line in audit.read_text().splitlines()] == ["one", "two", "three"]
    assert foundation.meter.exposition().decode().count("blazar_audit_dropped_total 0") == 1


def test_a_reload_reaches_what_stands_here(folders: Folders, log: DaemonLog) -> None:
    """Levels, the audit log and the doors; layers that would be the same stay, with what they remember."""
    foundation = founded(folders, log, "audit_log = false")

    async def reload(text: str) -> None:
        old = foundation.live.loaded
        foundation.live.replace(load_config(text, "config.toml", {}, {}))
        await foundation.apply(old.config, foundation.config)

    async def serve() -> None:
        async with running(foundation.parts()):
            before = foundation.doorway._layered
            await reload(TEXT.format(more='audit_log = true\nlog_level = "debug"'))
            assert foundation.doorway._layered is before
            assert logging.getLogger().level == logging.DEBUG
            foundation.meter.on_served(a_served())
            await reload('audit_log = false\nlog_level = "error"\ncors_origins = ["*"]')
            assert foundation.doorway._layered is not before
            assert (foundation.doors().keys, foundation.doors().cors_origins) == ((), ("*",))
            assert logging.getLogger().level == logging.ERROR

    asyncio.run(serve())
    assert (folders.log / "audit.jsonl").read_text().count("\n") == 1


KEYS = {"ann": "plm_ann_0123456789", "bob": "plm_bob_0123456789", "eve": "plm_eve_0123456789"}


def keys_of(*names: str, **more: str) -> str:
    rows = {name: f'[[keys]]\nname = "{name}"\nkey = "{KEYS[name]}"' for name in names}
    return "\n".join([*rows.values(), *(f'[[keys]]\nname = "{name}"\n{text}' for name, text in more.items())])


@pytest.mark.parametrize(
    ("before", "after", "key", "stays"),
    [
        (keys_of("ann"), keys_of("ann", "bob"), "ann", True),
        (keys_of("ann", "bob"), keys_of("ann"), "bob", False),
        (keys_of("ann", "bob"), keys_of("bob", "ann"), "bob", True),
        (keys_of("ann", "bob"), keys_of("bob", ann=f'key = "{KEYS["eve"]}"'), "ann", False),
        (keys_of("ann"), keys_of(ann=f'key = "{KEYS["ann"]}"\nmodels = ["m"]'), "ann", False),
        (keys_of("ann"), keys_of(ann=f'key = "{KEYS["ann"]}"\nrpm = 7'), "ann", True),
        ("", keys_of("ann"), "", False),
        ("", 'cors_origins = ["*"]', "", True),
    ],
)
def test_a_stream_of_events_outlives_a_change_of_other_keys(
    folders: Folders, log: DaemonLog, before: str, after: str, key: str, *, stays: bool
) -> None:
    """It ends where its own key is gone, is another one or opens less, and where it came without one and now needs one."""
    foundation = founded(folders, log, before)

    async def listen() -> list[str] | None:
        heard = foundation.events.listen(key=key)
        old = foundation.live.loaded
        foundation.live.replace(load_config(after, "config.toml", {}, {}))
        await foundation.apply(old.config, foundation.config)
        foundation.events.emit("later")
        told = await heard.next(10)
        heard.close()
        return None if told is None else [one.kind for one in told]

    assert asyncio.run(listen()) == (["later"] if stays else None)


def test_the_note_can_be_written(folders: Folders, log: DaemonLog) -> None:
    """The daemon knows when it began (D3)."""
    assert founded(folders, log).processes.start_time(os.getpid())


def test_traces_are_sent_from_a_reload_on(folders: Folders, log: DaemonLog) -> None:
    """To the address that the configuration then has; and what ends and happens is remembered from the start."""
    foundation = founded(folders, log, "")

    async def serve(url: str) -> None:
        async with running(foundation.parts()):
            old = foundation.live.loaded
            foundation.live.replace(load_config(f"otlp_endpoint = '{url}'", "config.toml", {}, {}))
            await foundation.apply(old.config, foundation.config)
            foundation.meter.on_served(a_served(trace="plm-1-9"))
            foundation.events.emit("loading", model="m")

    with Collector() as collector:
        asyncio.run(serve(collector.url))
        assert len(collector.spans) == 1
    assert [kept.served.trace for kept in foundation.recent.newest_first()] == ["plm-1-9"]
    assert [told.kind for told in foundation.chronicle.between(0, 1e12)] == ["loading"]
