"""The hand-over to a writing thread: order, bounds, no blocking."""

import threading

from blazar.adapters.telemetry.flusher import BATCH, Flusher

WATCHDOG = 60.0


def test_everything_arrives_in_order():
    """What was put before the start, while running and just before the stop is written once, in order."""
    written: list[int] = []
    flusher: Flusher[int] = Flusher("t", written.extend)
    flusher.put(0)
    flusher.start()
    for number in range(1, 3 * BATCH):
        flusher.put(number)
    flusher.stop(WATCHDOG)
    assert written == list(range(3 * BATCH))
    assert flusher.dropped == 0


def test_batches_are_bounded():
    """No write is larger than a batch."""
    sizes: list[int] = []
    flusher: Flusher[int] = Flusher("t", lambda batch: sizes.append(len(batch)))
    for number in range(2 * BATCH + 1):
        flusher.put(number)
    flusher.start()
    flusher.stop(WATCHDOG)
    assert sizes == [BATCH, BATCH, 1]


def test_a_stuck_writer_blocks_nobody():
    """While the disk hangs, items wait up to the bound; the rest is dropped and counted."""
    entered, go = threading.Event(), threading.Event()
    written: list[int] = []

    def write(batch):
        entered.set()
        assert go.wait(WATCHDOG)
        written.extend(batch)

    flusher: Flusher[int] = Flusher("t", write, bound=10)
    flusher.start()
    flusher.put(0)
    assert entered.wait(WATCHDOG)
    for number in range(1, 16):
        flusher.put(number)
    assert flusher.dropped == 5
    flusher.stop(within=0.0)
    go.set()
    flusher.stop(WATCHDOG)
    assert written == list(range(11))


def test_a_failing_disk_costs_lines_only():
    """An OSError drops its batch, counted, and the next one is tried."""
    written: list[int] = []

    def write(batch):
        if 0 in batch:
            raise OSError(28, "No space left on device")
        written.extend(batch)

    flusher: Flusher[int] = Flusher("t", write)
    for number in range(BATCH + 3):
        flusher.put(number)
    flusher.start()
    flusher.stop(WATCHDOG)
    assert flusher.dropped == BATCH
    assert written == [BATCH, BATCH + 1, BATCH + 2]


def test_stopping_what_never_started():
    """A part that failed to start can be stopped."""
    Flusher("t", lambda batch: None).stop()
