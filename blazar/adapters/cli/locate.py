"""Which daemon a verb talks to (D3), and with which key. Reads files and the environment it is given, opens no connection.

`--host` and BLAZAR_HOST win over `run/daemon.json`, which tells where the daemon of this data folder listens.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from blazar.domain import teaching
from blazar.domain.errors import Malformed

DEFAULT_PORT = 11435
_LOOPBACK = ("localhost", "::1")


class Note(NamedTuple):
    """What `run/daemon.json` says; `start_time` is field 22 of /proc/PID/stat (0: unknown)."""

    url: str
    pid: int
    start_time: int


class Target(NamedTuple):
    """A daemon to talk to. `explicit`: the user named it, so no other may be started in its place."""

    url: str
    explicit: bool
    note: Note | None = None


def start_time(pid: int) -> int | None:
    """When a live process was started, in clock ticks after boot; None: no such process, or a zombie (D31).

    0 where there is no /proc to ask and the process exists.
    """
    if not Path("/proc/self/stat").exists():
        return 0 if _exists(pid) else None
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="latin-1").rpartition(")")[2].split()
        return None if fields[0] in "ZX" else int(fields[19])  # 22 from the first; the name before may hold blanks
    except (OSError, IndexError, ValueError):
        return None


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except OSError:
        return False
    return True


def read_note(run_dir: Path) -> Note | None:
    """The note of a daemon that lives. A stale one (its process is gone, or the pid is another's by now) is none."""
    try:
        said = json.loads((run_dir / "daemon.json").read_text(encoding="utf-8"))
        note = Note(str(said["url"]), int(said["pid"]), int(said.get("start_time") or 0))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    if note.pid <= 0:
        return None
    started = start_time(note.pid)
    if started is None or (started and note.start_time and started != note.start_time):
        return None
    return note


def find_target(option: str | None, env: Mapping[str, str], run_dir: Path) -> Target:
    """`--host`, BLAZAR_HOST, the note, the default address; the first that is there."""
    named = option or env.get("BLAZAR_HOST")
    if named:
        return Target(normal_url(named), explicit=True)
    note = read_note(run_dir)
    if note is not None:
        return Target(note.url, explicit=False, note=note)
    return Target(f"http://127.0.0.1:{DEFAULT_PORT}", explicit=False)


def normal_url(text: str) -> str:
    """`HOST`, `HOST:PORT`, `:PORT` or a URL as `scheme://host:port`; an any-address means this machine."""
    from urllib.parse import urlsplit

    bare = text.strip().rstrip("/")
    if bare.count(":") > 1 and not bare.startswith("[") and "://" not in bare:
        bare = f"[{bare}]"  # a naked IPv6 address
    try:
        parts = urlsplit(bare if "://" in bare else f"//{bare}", scheme="http")
        host, port = parts.hostname or "127.0.0.1", parts.port
    except ValueError as wrong:
        raise Malformed(teaching.host_unusable(text), "host") from wrong
    odd = parts.scheme not in ("http", "https") or parts.path or parts.query or any(c.isspace() for c in bare)
    if odd or not bare or port == 0:
        raise Malformed(teaching.host_unusable(text), "host")
    if port is None:
        port = DEFAULT_PORT if "://" not in text else {"http": 80, "https": 443}[parts.scheme]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - compared with, never bound to
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}:{port}"


def api_key(env: Mapping[str, str], config_file: Path, url: str) -> str | None:
    """BLAZAR_API_KEY, else the first key of the configuration file, preferably one without a scope.

    A key of the file goes to this machine only: `--host` of a stranger must not learn it.
    """
    if env.get("BLAZAR_API_KEY"):
        return env["BLAZAR_API_KEY"]
    from urllib.parse import urlsplit

    host = urlsplit(url).hostname or ""
    if not (host in _LOOPBACK or host.startswith("127.")) or not config_file.is_file():
        return None
    keys = _keys_in(config_file)
    keys.sort(key=lambda row: bool(row.get("models")))
    return next((str(row["key"]) for row in keys if row.get("key")), None)


def _keys_in(config_file: Path) -> list[dict[str, Any]]:
    """The `[[keys]]` of the file. One that cannot be read has none: the daemon is the judge of its contents."""
    try:
        raw = config_file.read_bytes()
        if b"keys" not in raw:  # spares the parser's import, a tenth of what a thin verb costs
            return []
        import tomllib

        rows = tomllib.loads(raw.decode("utf-8")).get("keys", [])
    except (OSError, ValueError):
        return []
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
