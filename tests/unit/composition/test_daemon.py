"""What composition itself decides: which numbers the supervisor gets."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from blazar.adapters.files.folders import Folders
from blazar.application.config.layers import load_config
from blazar.application.config.live import LiveConfig, Refused
from blazar.application.ops.diagnose import Installation
from blazar.application.ports.upstream import ChildCall
from blazar.composition.answering import lane_limits
from blazar.composition.daemon import (
    Daemon,
    apply_to,
    connect,
    diagnose_now,
    places_in,
    reload_guarded,
    routing_rules,
    supervision_limits,
)
from blazar.composition.telling import hint_task
from blazar.domain.routing import Rules
from tests.fakes.clock import FakeClock


def test_the_supervisors_numbers_come_from_the_configuration() -> None:
    """The model cap, the idle time, the guard, and the models that policy never evicts."""
    text = "max_loaded_models = 3\nidle_timeout_secs = 7\nspawn_mem_guard = false\n[model_overrides.kept]\npin = true\n"
    limits = supervision_limits(load_config(text, "config.toml", {}, {}).config)
    assert (limits.max_loaded_models, limits.idle_timeout_secs, limits.spawn_mem_guard) == (3, 7, False)
    assert limits.pinned == {"kept"}


def test_routing_asks_the_configuration_as_it_is_now() -> None:
    """A reload of the table holds for whoever asks after it."""
    live = LiveConfig(load_config("", "config.toml", {}, {}))
    assert routing_rules(live) == Rules("auto", "quality")
    text = "[engine_routing]\nmode = 'manual'\npolicy = 'latency'\n"
    live.replace(load_config(text, "config.toml", {}, {}))
    assert routing_rules(live) == Rules("manual", "latency")


@dataclass
class Told:
    """Any part, and what it was told."""

    said: list[Any] = field(default_factory=list)
    limits: Any = None
    remembering: Any = None

    def forget(self) -> None:
        self.said.append("forget")

    async def reconfigure(self, limits: Any) -> None:
        self.said.append(limits)


def test_a_reload_reaches_every_part_that_keeps_something() -> None:
    """New answers get the lane's times; builds are asked anew only in another environment."""
    old, new = (load_config(text, "c", {}, {}).config for text in ("", "max_loaded_models = 2\nsse_ping_interval = 7"))
    env = load_config('[engine_env]\nA = "1"', "c", {}, {}).config
    supervisor, lane, probe, lister = Told(), Told(), Told(), Told()
    apply = apply_to(supervisor, lane, probe, lister)  # type: ignore[arg-type]
    asyncio.run(apply(old, new))
    assert supervisor.said == [supervision_limits(new)]
    assert lane.limits == lane_limits(new)
    assert lane.limits.heartbeat == 7
    assert (probe.said, lister.said) == ([], [])
    asyncio.run(apply(new, env))
    assert (probe.said, lister.said) == (["forget"], ["forget"])


def test_the_doctor_reports_on_the_configuration_as_it_is_now(tmp_path: Path) -> None:
    """Not on the one that the daemon began with."""

    @dataclass
    class Report:
        installation: Installation

        async def __call__(self) -> Installation:
            return self.installation

    live = LiveConfig(load_config("", "c", {}, {}))
    foundation: Any = SimpleNamespace(
        live=live,
        config=live.config,
        folders=Folders(tmp_path / "c", tmp_path),
        url="u",
        tls=None,
        clock=FakeClock(),
    )
    report: Any = Report(Installation("1", "", ""))
    quiet: Any = asyncio.run(diagnose_now(report, foundation))
    assert (quiet.problems, quiet.refused_since, quiet.restart_needed) == ((), "", ())
    live.pending, live.refused = ("port",), Refused(0.0, ("wrong",))
    found: Any = asyncio.run(diagnose_now(report, foundation))
    assert (found.problems, found.restart_needed) == (("wrong",), ("port",))
    assert found.refused_since == "1970-01-01T00:00:00Z"


def test_a_door_leads_to_a_port_or_to_a_file(tmp_path: Path) -> None:
    """As the child was told to listen; a port's door is what it was before there were files (contract)."""

    async def scenario() -> None:
        call = ChildCall(b"GET", b"/health")
        port, file = connect(4711, "secret", "m"), connect(str(tmp_path / "m.sock"), "", "m")
        assert b"\r\nHost: 127.0.0.1:4711\r\nAuthorization: Bearer secret\r\n" in port.wire(call)
        assert b"\r\nHost: localhost\r\nConnection: keep-alive\r\n" in file.wire(call)
        await port.aclose()
        await file.aclose()

    asyncio.run(scenario())


def test_sockets_lie_in_the_run_folder(tmp_path: Path) -> None:
    """Beside pidfiles, in a folder that is the owner's alone."""
    folders = Folders(tmp_path / "config.toml", tmp_path / "data")
    assert places_in(folders).socket == str(folders.run)


def test_a_reload_that_goes_wrong_is_not_the_last_one(caplog: pytest.LogCaptureFixture) -> None:
    """It is a bug, and the log's; the file is watched on."""
    asked_for: list[bool] = []

    async def broken(*, asked: bool = False) -> None:
        asked_for.append(asked)
        raise ZeroDivisionError

    for asked in (True, False):
        asyncio.run(reload_guarded(broken, asked=asked))  # type: ignore[arg-type]
    assert asked_for == [True, False]
    assert caplog.messages == ["configuration failed"] * 2


def test_children_are_asked_for_hints_by_every_daemon() -> None:
    """It is one of the parts that live as long as it does: without it nothing is known of any cache (contract)."""
    assert hint_task in [getattr(part, "cls", None) for part in Daemon.parts.args]
