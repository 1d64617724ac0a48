"""What one child uses: by the operating system, by its own log, by the drivers. Asks the last ones in a thread and never waits."""

import asyncio

from blazar.adapters.engines.runfiles import RunFiles
from blazar.adapters.engines.spec import MemoryLog
from blazar.adapters.engines.usage import occupied
from blazar.application.ports.children import HOST, Buffer, Measured
from blazar.application.ports.hardware import DeviceUse

HEARD_BYTES = 4 * 2**20
"""Of a log, from its beginning on, in which memory is looked for: it is announced while loading and in a few lines after."""


class ChildMemory:
    """The memory of the process `pid`, which writes to the log of `files`."""

    def __init__(self, pid: int, files: RunFiles, log: MemoryLog | None, use: DeviceUse | None) -> None:
        self._pid, self._files, self._log, self._use = pid, files, log, use
        self._heard = 0
        self._held: dict[str, int] = {}
        self._asking: asyncio.Task[None] | None = None

    def now(self) -> Measured:
        """Cheap: /proc, and what the log has grown by."""
        used, buffers = occupied(self._pid), self._announced()
        devices: dict[str, int] = {}
        for buffer in buffers:
            if buffer.device != HOST:
                devices[buffer.device] = devices.get(buffer.device, 0) + buffer.bytes
        for device, size in self._held.items():  # with contexts and libraries, of which the engine says nothing
            devices[device] = max(size, devices.get(device, 0))
        return Measured(used.resident, used.mapped, tuple(devices.items()), buffers)

    def ask_drivers(self) -> None:
        """Find out what it holds on accelerators; a driver may hang, and whoever lists children must not."""
        if self._use is not None and (self._asking is None or self._asking.done()):
            self._asking = asyncio.get_running_loop().create_task(self._hear(self._use))

    async def aclose(self) -> None:
        """Wait for an answer that is still to come."""
        if self._asking is not None:
            await self._asking

    async def _hear(self, use: DeviceUse) -> None:
        held = await asyncio.to_thread(use.by_process, [self._pid])
        self._held = held.get(self._pid, {})

    def _announced(self) -> tuple[Buffer, ...]:
        if self._log is None:
            return ()
        if left := HEARD_BYTES - self._heard:
            text = self._files.head(self._heard, left)
            self._heard += len(text)
            self._log.feed(text)
        return self._log.buffers
