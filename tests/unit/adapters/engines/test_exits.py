"""Noticing that a process has ended."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from blazar.adapters.engines.exits import when_ended

WATCHDOG = 60.0


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def start(code: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-S", "-c", code], stdin=subprocess.PIPE)


@pytest.mark.parametrize("pidfds", [True, False], ids=["pidfd", "thread"])
@pytest.mark.parametrize(("code", "status"), [("", 0), ("raise SystemExit(3)", 3), ("import os; os.abort()", -6)])
def test_the_end_is_told_once_with_its_status(
    monkeypatch: pytest.MonkeyPatch, pidfds: bool, code: str, status: int
) -> None:
    """Negative for a signal, and no zombie stays: the process was waited for (D31)."""
    if not pidfds:
        monkeypatch.delattr(os, "pidfd_open")

    async def main() -> None:
        told: asyncio.Queue[int] = asyncio.Queue()
        process = start(f"input()\n{code}")
        when_ended(process, told.put_nowait)
        await asyncio.sleep(0)
        assert told.empty()
        process.communicate(b"\n")
        assert await asyncio.wait_for(told.get(), WATCHDOG) == status
        assert told.empty()
        assert process.returncode == status

    asyncio.run(main())


def test_no_descriptor_stays_open() -> None:
    """One per child while it lives, none after."""

    async def main() -> None:
        before = descriptors()
        for _ in range(5):
            told: asyncio.Queue[int] = asyncio.Queue()
            process = start("")
            when_ended(process, told.put_nowait)
            await asyncio.wait_for(told.get(), WATCHDOG)
            process.communicate()
        assert descriptors() == before

    asyncio.run(main())


def test_a_loop_that_is_gone_is_told_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread outlives a loop that was closed meanwhile, and ends quietly."""
    monkeypatch.delattr(os, "pidfd_open")
    process = start("input()")

    async def main() -> None:
        when_ended(process, lambda _: None)

    asyncio.run(main())
    process.communicate(b"\n")
    assert process.wait(WATCHDOG) == 0
