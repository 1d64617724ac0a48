"""Which daemon a verb talks to (D3), and with which key. Reads files and the environment it is given, opens no connection.

`--host` and BLAZAR_HOST win over `run/daemon.json`, which tells where the daemon of this data folder listens.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from blazar.application.ports.processes import Processes
from blazar.domain import teaching
from blazar.domain.errors import Malformed

DEFAULT_PORT = 11435
LONGEST_HOST = 253
"""Characters of a name that can be looked up (RFC 1035)."""
_LOOPBACK = ("localhost", "::1")


class Note(NamedTuple):
    """What `run/daemon.json` says; `start` is when the process began, as `Processes.start_time` tells."""

    url: str
    pid: int
    start: str


class Target(NamedTuple):
    """A daemon to talk to. `explicit`: the user named it, so no other may be started in its place."""

    url: str
    explicit: bool
    note: Note | None = None


def read_note(run_dir: Path, processes: Processes) -> Note | None:
    """The note of a daemon that lives. A stale one (its process is gone, or the pid is another's by now) is none."""
    try:
        said = json.loads((run_dir / "daemon.json").read_text(encoding="utf-8"))
        note = Note(str(said["url"]), int(said["pid"]), str(said["start_time"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return note if note.pid > 0 and processes.is_same(note.pid, note.start) else None


def find_target(
    option: str | None, env: Mapping[str, str], run_dir: Path, processes: Processes, config_file: Path | None = None
) -> Target:
    """`--host`, BLAZAR_HOST, the note, the port that is configured, the default address; the first that is there."""
    if option:
        return Target(normal_url(option), explicit=True)
    if named := env.get("BLAZAR_HOST"):
        try:
            return Target(normal_url(named), explicit=True)
        except Malformed as wrong:
            raise Malformed(teaching.host_variable_unusable(named), "BLAZAR_HOST") from wrong
    note = read_note(run_dir, processes)
    if note is not None:
        return Target(note.url, explicit=False, note=note)
    return Target(f"http://127.0.0.1:{_configured_port(config_file)}", explicit=False)


def _configured_port(file: Path | None) -> int:
    """Where a daemon would listen; it stands at the root or in its group."""
    said = {} if file is None else _holding(file, b"port")
    group = said.get("gateway")
    port = said.get("port", group.get("port") if isinstance(group, dict) else None)
    return port if type(port) is int and 0 < port <= 65535 else DEFAULT_PORT


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
    odd = odd or not host.isprintable() or len(host) > LONGEST_HOST
    odd = odd or ("://" in text and "://" not in bare)  # a scheme and nothing else
    if odd or not bare or port == 0:
        raise Malformed(teaching.host_unusable(text), "host")
    if port is None:
        port = DEFAULT_PORT if "://" not in text else {"http": 80, "https": 443}[parts.scheme]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - compared with, never bound to
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}:{port}"


def api_key(env: Mapping[str, str], config_file: Path, url: str) -> str | None:
    """BLAZAR_API_KEY, else the first key of the configuration file or BLAZAR_KEYS, preferably one without a scope.

    Such a key goes to this machine only: `--host` of a stranger must not learn it.
    """
    if env.get("BLAZAR_API_KEY"):
        return env["BLAZAR_API_KEY"]
    if not takes_key_from_file(env, url):
        return None
    keys = _keys_in(config_file)
    if env.get("BLAZAR_KEYS"):
        from blazar.application.config.bootstrap import new_keys

        # Those of the file come first: what the variable says differently about them does not hold.
        keys += [{"key": key.secret} for key in new_keys(env["BLAZAR_KEYS"], keys)]
    keys.sort(key=lambda row: bool(row.get("models")))
    return next((str(row["key"]) for row in keys if row.get("key")), None)


def takes_key_from_file(env: Mapping[str, str], url: str) -> bool:
    """Whether a daemon at `url` is shown a key of the configuration file."""
    from urllib.parse import urlsplit

    host = urlsplit(url).hostname or ""
    return not env.get("BLAZAR_API_KEY") and (host in _LOOPBACK or host.startswith("127."))


def _keys_in(config_file: Path) -> list[dict[str, Any]]:
    """The `[[keys]]` of the file."""
    rows = _holding(config_file, b"keys").get("keys", [])
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _holding(config_file: Path, word: bytes) -> dict[str, Any]:
    """The file, if it holds that word. One that cannot be read holds nothing: the daemon is the judge of its contents."""
    try:
        raw = config_file.read_bytes() if config_file.is_file() else b""  # reading a pipe would never end
        if word not in raw:  # spares the parser's import, a tenth of what a thin verb costs
            return {}
        import tomllib

        return tomllib.loads(raw.decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return {}
