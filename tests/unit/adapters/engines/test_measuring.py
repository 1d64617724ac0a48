"""What a child uses, of a process that is there."""

import asyncio
import os
import threading
from collections.abc import Collection
from pathlib import Path

import pytest

from blazar.adapters.engines import measuring
from blazar.adapters.engines.llamacpp.memory_lines import MemoryLines
from blazar.adapters.engines.measuring import ChildMemory
from blazar.adapters.engines.runfiles import RunFiles
from blazar.application.ports.children import Buffer
from tests.fakes.hardware import FakeDeviceUse

MIB = 2**20
WEIGHTS = "0.00.1 I load_tensors:        CUDA0 model buffer size =    10.00 MiB\n"
CACHE = "0.00.1 I llama_kv_cache:      CUDA0 KV buffer size =     2.00 MiB\n"
ON_HOST = "0.00.2 I load_tensors:   CPU_Mapped model buffer size =     3.00 MiB\n"


@pytest.fixture
def files(tmp_path: Path) -> RunFiles:
    files = RunFiles(tmp_path, "m")
    files.log.write_text("")
    return files


def say(files: RunFiles, *lines: str) -> None:
    with files.log.open("a") as log:
        log.write("".join(lines))


def test_what_the_engine_allocates_is_heard_in_its_log(files: RunFiles) -> None:
    """Devices and purposes apart, as soon as a line is there, each line once."""
    memory = ChildMemory(os.getpid(), files, MemoryLines(), None)
    assert memory.now().devices == ()
    say(files, WEIGHTS, CACHE[:30])
    assert memory.now().devices == (("CUDA0", 10 * MIB),)
    say(files, CACHE[30:], ON_HOST)
    first, again = memory.now(), memory.now()
    assert first.devices == again.devices == (("CUDA0", 12 * MIB),)
    assert Buffer("host", "mapped", 3 * MIB) in again.buffers
    assert again.total == again.resident + 12 * MIB
    assert 0 < again.mapped < again.resident


def test_an_engine_that_says_nothing_is_measured_all_the_same(files: RunFiles) -> None:
    """By the operating system alone."""
    say(files, WEIGHTS)
    used = ChildMemory(os.getpid(), files, None, None).now()
    assert (used.devices, used.buffers) == ((), ())
    assert used.resident > 0


def test_a_log_is_heard_at_its_beginning_only(files: RunFiles, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine talks about every request for months; all that costs is what is read."""
    monkeypatch.setattr(measuring, "HEARD_BYTES", len(WEIGHTS))
    say(files, WEIGHTS, CACHE)
    memory = ChildMemory(os.getpid(), files, MemoryLines(), None)
    assert memory.now().devices == memory.now().devices == (("CUDA0", 10 * MIB),)


def test_drivers_are_asked_in_a_thread(files: RunFiles) -> None:
    """Of a device the larger figure counts: the engine says nothing of contexts and libraries."""
    threads = []

    class Driver(FakeDeviceUse):
        def by_process(self, pids: Collection[int]) -> dict[int, dict[str, int]]:
            threads.append(threading.current_thread())
            return super().by_process(pids)

    driver = Driver({os.getpid(): {"CUDA0": 11 * MIB, "CUDA1": MIB}})
    say(files, WEIGHTS)

    async def scenario() -> None:
        memory = ChildMemory(os.getpid(), files, MemoryLines(), driver)
        assert dict(memory.now().devices) == {"CUDA0": 10 * MIB}
        memory.ask_drivers()
        memory.ask_drivers()  # one question at a time
        await memory.aclose()
        assert dict(memory.now().devices) == {"CUDA0": 11 * MIB, "CUDA1": MIB}
        assert len(threads) == 1
        assert threads[0] is not threading.main_thread()
        driver.held.clear()
        memory.ask_drivers()
        await memory.aclose()
        assert dict(memory.now().devices) == {"CUDA0": 10 * MIB}

    asyncio.run(scenario())
