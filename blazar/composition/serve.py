"""`blazar serve`, in the order of D2: bind, lock, answer /health 503, reap, build, ready; stopping runs it backwards.

The socket listens before anything slow is imported, so a client that is early waits a moment instead of being refused.
"""

import argparse
import asyncio
import gc
import importlib
import json
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from blazar.adapters.files.configfile import write_new_keys
from blazar.adapters.files.daemonfiles import DaemonNote, DataDirLock
from blazar.adapters.files.folders import Folders, folders_from
from blazar.adapters.telemetry.clock import MonotonicClock
from blazar.adapters.telemetry.logs import DaemonLog
from blazar.application.config.log_filter import parse_filter
from blazar.composition.lifespan import running
from blazar.composition.listener import BACKLOG, bind, reaches_others, url_of
from blazar.composition.reloading import Source, configured
from blazar.composition.securing import certificates_of, trouble
from blazar.domain import teaching
from blazar.domain.errors import BindConflict, StoreTrouble

if TYPE_CHECKING:
    from hypercorn.typing import ASGIFramework

    from blazar.adapters.http.asgi import App
    from blazar.adapters.http.server.certificates import Certificates
    from blazar.adapters.http.server.connections import ServerConfig
    from blazar.application.config.layers import Loaded
    from blazar.application.ops.watch_config import WatchConfig
    from blazar.composition.daemon import Daemon
    from blazar.composition.foundation import Foundation

logger = logging.getLogger("blazar.serve")

# Hypercorn closes a connection after 5 s idle and 1 000 requests by default: keep-alive clients would dial again and again.
IDLE_SECONDS = 75
LARGEST_HEAD = 64 * 1024
# Our own drain has ended every answer before the server is told to stop; what is left are idle connections.
LAST_MOMENT_SECONDS = 1


class Ground(NamedTuple):
    """What the daemon stands on before it is built."""

    loaded: "Loaded"
    source: Source
    folders: Folders
    log: DaemonLog
    env: Mapping[str, str]
    listener: socket.socket
    as_json: bool = False
    tls: "Certificates | None" = None

    @property
    def url(self) -> str:
        """How it is reached from this machine."""
        return url_of(self.listener, secure=self.tls is not None)


def main(args: argparse.Namespace) -> int:
    """Serve until SIGTERM or SIGINT; 0 after an orderly stop. Raises `BindConflict` and `DataDirLocked` (exit 3)."""
    folders = folders_from(os.environ, args.config).ensure()
    folders.check_config()
    source = Source(folders, dict(os.environ), {"host": args.bind_host, "port": args.bind_port})
    loaded = source.first()
    config = loaded.rooted()
    tls = source.serve_with(certificates_of(config))
    lock = DataDirLock(folders.run)
    with hangups_ignored(), bound(config.host, config.port, folders.run) as listener:
        lock.acquire()
        log = DaemonLog(folders.run / "daemon.log", parse_filter(config.log_level or ""), MonotonicClock()).open()
        keep_new_keys(folders.config_file, os.environ)
        for warning in loaded.warnings:
            logger.warning("%s", warning)
        if tls is not None and (told := trouble(str(tls.cert), tls.validity, time.time())):
            logger.warning("%s", told)
        for line in configured(loaded) if logger.isEnabledFor(logging.DEBUG) else ():
            logger.debug("%s", line)
        # What start-up makes stays for good: collecting meanwhile finds nothing and takes a sixth of the time that importing does.
        gc.disable()
        try:
            return run_loop(Ground(loaded, source, folders, log, dict(os.environ), listener, args.json, tls))
        finally:
            gc.enable()
            log.close()
            lock.release()


def bound(host: str, port: int, run_dir: Path) -> socket.socket:
    """`bind`, which says so where it is this folder's own daemon that has the port."""
    try:
        return bind(host, port)
    except BindConflict as taken:
        url = DaemonNote(run_dir).url()
        if url.endswith(f":{port}") and DataDirLock(run_dir).is_held():
            raise BindConflict(teaching.already_serving(url)) from taken
        raise


def keep_new_keys(config_file: Path, env: Mapping[str, str]) -> None:
    """Write what BLAZAR_KEYS brings into the file (D26); where that cannot be done, it holds for this run."""
    try:
        if names := write_new_keys(config_file, env):
            logger.info("%s", teaching.keys_written(str(config_file), names))
    except StoreTrouble as trouble:
        logger.warning("%s", trouble)


def run_loop(ground: Ground) -> int:
    """On uvloop where there is one (D28)."""
    if sys.platform == "win32":
        return asyncio.run(serve(ground))
    import uvloop

    return uvloop.run(serve(ground))


async def serve(ground: Ground) -> int:
    """The daemon's whole life."""
    from blazar.application.ops.watch_config import WatchConfig
    from blazar.composition.foundation import Foundation

    foundation = Foundation(ground.loaded, ground.folders, ground.log, ground.url, ground.tls)
    watch = WatchConfig(foundation.clock, ground.source.stamp, ground.source.seen)
    stop = stop_signal(watch.ask)
    async with running(foundation.parts()):
        closing = asyncio.Event()
        server = asyncio.create_task(listen(ground, foundation.doorway, closing))
        try:
            await live(ground, await built(ground, foundation, watch), stop)
        finally:
            foundation.entrance.close()
            closing.set()
            await server
    return 0


async def built(ground: Ground, foundation: "Foundation", watch: "WatchConfig") -> "Daemon":
    """The parts. Importing them takes half a second: in a thread, so that /health is answered meanwhile."""
    module = await asyncio.to_thread(importlib.import_module, "blazar.composition.daemon")
    daemon: Daemon = module.Daemon(foundation=foundation, env=ground.env, source=ground.source, watch=watch)
    daemon.check_dependencies()
    return daemon


async def live(ground: Ground, daemon: "Daemon", stop: asyncio.Event) -> None:
    """From the first part's start to the last part's end."""
    entrance = daemon.foundation().entrance
    note = DaemonNote(ground.folders.run)
    url = ground.url
    async with running(daemon.parts()):
        entrance.open(daemon.app())
        # Frozen, else the first requests wait while all of it is looked through, 50 ms at a time.
        gc.freeze()
        gc.enable()
        note.write(url, os.getpid(), daemon.foundation().processes.start_time(os.getpid()))
        logger.info("ready at %s", url)
        if ground.as_json:
            say_ready(url)
        config = daemon.foundation().config
        if reaches_others(ground.listener) and not config.keys:
            logger.warning("%s", teaching.open_to_others(ground.listener.getsockname()[0]))
        try:
            await stop.wait()
        finally:
            note.remove()
            entrance.close()
    logger.info("stopped")


def say_ready(url: str) -> None:
    """One line for the program that started us with --json; that it no longer reads is no reason to stop serving."""
    with suppress(OSError, ValueError):
        print(json.dumps({"url": url, "pid": os.getpid()}), flush=True)


async def listen(ground: Ground, app: "App", closing: asyncio.Event) -> None:
    """Hypercorn on our socket."""
    tls = None if ground.tls is None else ground.tls.context
    from blazar.adapters.http.server.connections import serve_clients

    # The layers speak ASGI in plain mappings, the server's own types name every event apart; the bytes are the same.
    await serve_clients(cast("ASGIFramework", app), server_config(), ground.listener, closing, tls)


def server_config() -> "ServerConfig":
    """Every default of the server that would hurt a stream or a keep-alive client is named here."""
    from blazar.adapters.http.server.connections import ServerConfig

    config = ServerConfig()
    config.backlog = BACKLOG
    config.accesslog = None
    config.errorlog = None
    config.include_server_header = False
    config.keep_alive_timeout = IDLE_SECONDS
    config.keep_alive_max_requests = sys.maxsize
    config.h11_max_incomplete_size = LARGEST_HEAD
    config.graceful_timeout = LAST_MOMENT_SECONDS
    return config


def stop_signal(on_hangup: Callable[[], None]) -> asyncio.Event:
    """Set by SIGTERM or SIGINT. A second one changes nothing: children are stopped in any case, within their grace."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        if sys.platform == "win32":  # its loop has no signal handlers
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop.set))
        else:
            loop.add_signal_handler(number, stop.set)
    if (hangup := hangup_signal()) is not None:
        loop.add_signal_handler(hangup, on_hangup)
    return stop


def hangup_signal() -> int | None:
    """What asks for the configuration to be read again; None on Windows, where only the file is watched."""
    return getattr(signal, "SIGHUP", None)


@contextmanager
def hangups_ignored() -> Iterator[None]:
    """Until the loop listens to it, a hang-up must not kill the daemon; nothing is started meanwhile that would inherit this."""
    number = hangup_signal()
    before = signal.signal(number, signal.SIG_IGN) if number is not None else None
    try:
        yield
    finally:
        if number is not None:
            signal.signal(number, before or signal.SIG_DFL)
