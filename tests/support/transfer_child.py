"""A process that downloads one file, to be killed: `python -m tests.support.transfer_child URL PATH SIZE SHA256 CONNECTIONS`."""

import signal
import sys
import time

from blazar.adapters.hardware.disk import SystemDisk
from blazar.adapters.net.downloads import HttpDownloads
from blazar.adapters.net.throttle import Throttle
from blazar.application.ports.downloads import Wanted


def main(url: str, path: str, size: str, sha256: str, connections: str) -> int:
    """130 where it was interrupted, as of a shell."""
    loads = HttpDownloads(SystemDisk(), Throttle(lambda: 0, time.monotonic), lambda: int(connections))
    try:
        loads.fetch(Wanted(url, path, "file", int(size), sha256), lambda _done, _total: None)
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(main(*sys.argv[1:]))
