"""Who listens on a port of this machine, where the system tells (Linux). Asks nobody on the network and changes nothing."""

from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")
_LISTENS = "0A"
"""TCP_LISTEN in the tables of the kernel (include/net/tcp_states.h)."""


def listens_alone(pid: int, port: int) -> bool | None:
    """Whether this process listens there and nobody else does; None where that cannot be known."""
    there = _listening(port)
    if there is None:
        return None
    own: set[str] = set()
    try:
        for entry in (PROC / str(pid) / "fd").iterdir():
            with suppress(FileNotFoundError):  # closed since it was listed
                own.add(str(entry.readlink()))
    except OSError:
        return None
    return bool(there) and {f"socket:[{inode}]" for inode in there} <= own


def _listening(port: int) -> set[str] | None:
    """Inodes of the sockets that listen on a port, whatever address; None without such tables."""
    found: set[str] = set()
    read = False
    for name in ("tcp", "tcp6"):
        try:
            rows = (PROC / "net" / name).read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        read = True
        for row in map(str.split, rows):
            # sl, local address, remote address, state, …; the inode is the tenth.
            if len(row) > 9 and row[3] == _LISTENS and int(row[1].rpartition(":")[2], 16) == port:
                found.add(row[9])
    return found if read else None
