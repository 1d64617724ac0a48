"""The export: bounded, counted, in nobody's way."""

import asyncio
import contextlib
import logging
import socket
import threading
import time
from collections.abc import Sequence
from typing import Self

import pytest

from blazar.adapters.telemetry import otlp
from blazar.adapters.telemetry.metrics import Family, PrometheusMeter
from blazar.adapters.telemetry.otlp import BOUND, EVERY_SECS, WAITING, OtlpExport
from blazar.adapters.telemetry.otlp_encoding import Sender
from tests.fakes.clock import FakeClock
from tests.fakes.telemetry import a_served
from tests.support.collector import Collector

SAMPLED = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def export_to(url: str, clock: FakeClock, families: Sequence[Family] = ()) -> OtlpExport:
    return OtlpExport(url, lambda: Sender("box", "1", 0.0), lambda: families, clock)


def test_what_was_gathered_is_sent_every_ten_seconds():
    """Spans and counters in the protocol's bytes; nothing before its time."""

    async def go() -> None:
        clock, meter = FakeClock(), PrometheusMeter(FakeClock(), "1")
        with Collector() as collector:
            export = export_to(collector.url + "/", clock, meter.families())
            await export.start()
            export.on_served(a_served())
            await clock.settle()
            assert not collector.spans
            await clock.advance(EVERY_SECS)
            assert await asyncio.to_thread(collector.until, lambda: bool(collector.metrics))
            assert [span.name for span in collector.spans] == ["POST"]
            assert collector.types == {"application/x-protobuf"}
            await export.aclose()
            assert (export.dropped, export.failures) == (0, 0)

    asyncio.run(go())


def test_the_last_ones_are_sent_at_the_end():
    """Also with an address that names the path already."""

    async def go() -> None:
        with Collector() as collector:
            export = export_to(collector.url + "/v1/traces", FakeClock())
            await export.start()
            export.on_served(a_served())
            await export.aclose()
            assert len(collector.spans) == 1

    asyncio.run(go())


def test_what_the_collector_does_not_take_is_counted_and_told_once(caplog: pytest.LogCaptureFixture):
    """Not every ten seconds, and again when it is over; no secret of its address is told."""

    async def go() -> OtlpExport:
        clock = FakeClock()
        with Collector() as collector:
            collector.status = 503
            export = export_to(collector.url.replace("//", "//user:hush@"), clock)
            await export.start()
            for sent in (2, 4, 6):
                export.on_served(a_served())
                await clock.advance(EVERY_SECS)
                while export.failures < sent:
                    await asyncio.sleep(0.001)
            collector.status = 200
            await export.aclose()
        return export

    with caplog.at_level(logging.INFO, "blazar.otlp"):
        export = asyncio.run(go())
    assert export.dropped == 3
    said = [record.getMessage() for record in caplog.records if record.name == "blazar.otlp"]
    assert len(said) == 2
    assert "503" in said[0]
    assert "again" in said[1]
    assert not any("hush" in line for line in said)


class Dripping:
    """A collector whose head never ends: a line at a time, each in time."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        with socket.create_connection(self._listener.getsockname()):
            pass
        self._thread.join()
        self._listener.close()

    def _serve(self) -> None:
        while not self._over.is_set():
            with self._listener.accept()[0] as one, contextlib.suppress(OSError):
                one.recv(65536)
                one.sendall(b"HTTP/1.1 200 OK\r\n")
                while not self._over.wait(0.02):
                    one.sendall(b"x-more: 1\r\n")


def told_once(work, caplog: pytest.LogCaptureFixture) -> None:
    """What could not be delivered is dropped and counted, and one line of the log says so."""
    with caplog.at_level(logging.INFO, "blazar.otlp"):
        export = asyncio.run(work)
    assert (export.dropped, export.failures) == (1, 2)
    assert len([record for record in caplog.records if record.name == "blazar.otlp"]) == 1


def test_a_collector_that_drips_is_given_up(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture):
    """Each line of its head is in time, and all of them together are not."""
    monkeypatch.setattr(otlp, "PATIENCE_SECS", 0.2)

    async def go() -> OtlpExport:
        with Dripping() as collector:
            export = export_to(collector.url, FakeClock())
            await export.start()
            export.on_served(a_served())
            await export.aclose()
        return export

    told_once(go(), caplog)


def test_nobody_there_is_no_trouble(caplog: pytest.LogCaptureFixture):
    """The port is closed: counted, said, over."""

    async def go() -> OtlpExport:
        export = export_to("http://127.0.0.1:9", FakeClock())
        await export.start()
        export.on_served(a_served())
        await export.aclose()
        return export

    told_once(go(), caplog)


def test_a_collector_that_hangs_costs_a_bounded_memory():
    """Beyond the bound requests are counted as lost, and telling one never waits."""

    async def go() -> None:
        clock = FakeClock()
        with Collector() as collector:
            collector.held.clear()
            export = export_to(collector.url, clock)
            await export.start()
            export.on_served(a_served(parent=SAMPLED))
            for _ in range(WAITING + 2):
                await clock.advance(EVERY_SECS)
            began = time.monotonic()
            for _ in range(BOUND * 3):
                export.on_served(a_served(parent=SAMPLED))
            assert time.monotonic() - began < 5
            assert export.dropped >= BOUND * 2
            await clock.advance(EVERY_SECS)
            assert export.dropped >= BOUND * 3 - BOUND
            collector.held.set()
            await export.aclose()

    asyncio.run(go())


def test_a_caller_that_does_not_record_is_not_recorded():
    """Its flag says so."""

    async def go() -> None:
        with Collector() as collector:
            export = export_to(collector.url, FakeClock())
            await export.start()
            export.on_served(a_served(parent=SAMPLED[:-2] + b"00"))
            await export.aclose()
            assert collector.spans == []

    asyncio.run(go())


def test_spans_leave_every_ten_seconds() -> None:
    """The figure of the documents (2-architecture: telemetry)."""
    assert EVERY_SECS == 10.0
