"""Noticing that a child has ended, without a thread or a poll per child where the system allows it."""

import asyncio
import contextlib
import os
import subprocess
import threading
from collections.abc import Callable


def when_ended(process: subprocess.Popen[bytes], tell: Callable[[int], None]) -> None:
    """Call `tell(status)` on the running loop once the process has ended, and reap it: no zombie stays (D31)."""
    loop = asyncio.get_running_loop()
    try:
        handle = os.pidfd_open(process.pid)
    except (AttributeError, OSError):  # not Linux, or a sandbox without the call
        _by_thread(process, loop, tell)
        return

    def readable() -> None:
        status = process.poll()
        if status is None:
            return
        loop.remove_reader(handle)
        os.close(handle)
        tell(status)

    loop.add_reader(handle, readable)


def _by_thread(process: subprocess.Popen[bytes], loop: asyncio.AbstractEventLoop, tell: Callable[[int], None]) -> None:
    def watch() -> None:
        status = process.wait()
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody is left to tell
            loop.call_soon_threadsafe(tell, status)

    threading.Thread(target=watch, name=f"wait-{process.pid}", daemon=True).start()
