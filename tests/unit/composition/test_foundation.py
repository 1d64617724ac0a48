"""What stands before the first request."""

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
from tests.fakes.telemetry import a_served

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
    config = load_config(TEXT.format(more=more), "config.toml", {}, {}).config
    return Foundation(config, folders, log, "http://127.0.0.1:1")


def test_the_doors_know_what_the_configuration_says(folders: Folders, log: DaemonLog) -> None:
    """Keys with their scopes, origins and hosts."""
    doors = founded(folders, log).doors()
    assert [(key.name, key.key, key.models) for key in doors.keys] == [("guest", "plm_x", ("a",))]
    assert (doors.allowed_hosts, doors.cors_origins) == (("box.lan",), ("https://app.example",))


@pytest.mark.parametrize("audit", [True, False])
def test_a_served_request_is_counted_and_logged(folders: Folders, log: DaemonLog, audit: bool) -> None:
    """Counters, the access log, and the audit file only where it is wanted."""
    foundation = founded(folders, log, f"audit_log = {str(audit).lower()}")
    assert len(foundation.parts()) == int(audit)
    foundation.meter.on_served(a_served())
    text = foundation.meter.exposition().decode()
    assert "blazar_requests_total{" in text
    assert "blazar_log_dropped_total 0" in text
    assert ("blazar_audit_dropped_total 0" in text) is audit
    log.close()
    assert "/v1/chat/completions" in (folders.run / "daemon.log").read_text()


def test_the_note_can_be_written(folders: Folders, log: DaemonLog) -> None:
    """The daemon knows when it began (D3)."""
    assert founded(folders, log).processes.start_time(os.getpid())
