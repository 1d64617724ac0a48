"""`blazar serve`, in the order of D2: bind, lock, answer /health 503, reap, build, ready; stopping runs it backwards.

The socket listens before anything slow is imported, so a client that is early waits a moment instead of being refused.
"""

import argparse
import asyncio
import importlib
import logging
import os
import signal
import socket
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, cast

from blazar.adapters.engines.processes import start_time
from blazar.adapters.files.configfile import read_config
from blazar.adapters.files.daemonfiles import DaemonNote, DataDirLock
from blazar.adapters.files.folders import Folders, folders_from
from blazar.adapters.telemetry.clock import MonotonicClock
from blazar.adapters.telemetry.logs import DaemonLog
from blazar.application.config.log_filter import parse_filter
from blazar.composition.lifespan import running
from blazar.composition.listener import bind, url_of

if TYPE_CHECKING:
    from hypercorn.config import Config as ServerConfig
    from hypercorn.typing import ASGIFramework

    from blazar.adapters.http.entrance import Entrance
    from blazar.adapters.http.layers.doors import Doors
    from blazar.application.config.model import Config
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

    config: "Config"
    folders: Folders
    log: DaemonLog
    env: Mapping[str, str]
    listener: socket.socket


def main(args: argparse.Namespace) -> int:
    """Serve until SIGTERM or SIGINT; 0 after an orderly stop. Raises `BindConflict` and `DataDirLocked` (exit 3)."""
    folders = folders_from(os.environ, args.config).ensure()
    overrides = {"host": args.bind_host, "port": args.bind_port}
    config = read_config(folders.config_file, os.environ, overrides).config
    lock = DataDirLock(folders.run)
    with bind(config.host, config.port) as listener:
        lock.acquire()
        log = DaemonLog(folders.run / "daemon.log", parse_filter(config.log_level or ""), MonotonicClock()).open()
        try:
            return run_loop(Ground(config, folders, log, dict(os.environ), listener))
        finally:
            log.close()
            lock.release()


def run_loop(ground: Ground) -> int:
    """On uvloop where there is one (D28)."""
    if sys.platform == "win32":
        return asyncio.run(serve(ground))
    import uvloop

    return uvloop.run(serve(ground))


async def serve(ground: Ground) -> int:
    """The daemon's whole life."""
    from blazar.adapters.http.entrance import Entrance
    from blazar.composition.foundation import Foundation

    stop = stop_signal()
    foundation = Foundation(ground.config, ground.folders, ground.log, url_of(ground.listener))
    entrance = Entrance()
    async with running(foundation.parts()):
        closing = asyncio.Event()
        server = asyncio.create_task(listen(ground.listener, entrance, foundation.doors(), closing))
        try:
            await live(ground, await built(foundation, ground.env), entrance, stop)
        finally:
            entrance.close()
            closing.set()
            await server
    return 0


async def built(foundation: "Foundation", env: Mapping[str, str]) -> "Daemon":
    """The parts. Importing them takes half a second: in a thread, so that /health is answered meanwhile."""
    module = await asyncio.to_thread(importlib.import_module, "blazar.composition.daemon")
    daemon: Daemon = module.Daemon(foundation=foundation, env=env)
    daemon.check_dependencies()
    return daemon


async def live(ground: Ground, daemon: "Daemon", entrance: "Entrance", stop: asyncio.Event) -> None:
    """From the first part's start to the last part's end."""
    note = DaemonNote(ground.folders.run)
    url = url_of(ground.listener)
    async with running(daemon.parts()):
        entrance.open(daemon.app())
        note.write(url, os.getpid(), int(float(start_time(os.getpid()) or 0)))
        logger.info("ready at %s", url)
        try:
            await stop.wait()
        finally:
            note.remove()
            entrance.close()
    logger.info("stopped")


async def listen(listener: socket.socket, entrance: "Entrance", doors: "Doors", closing: asyncio.Event) -> None:
    """Hypercorn on our socket, behind the layers."""
    from hypercorn.asyncio import serve as hypercorn_serve

    from blazar.adapters.http.layers.order import wrap

    # The layers speak ASGI in plain mappings, the server's own types name every event apart; the bytes are the same.
    app = cast("ASGIFramework", wrap(entrance, doors))
    await hypercorn_serve(app, server_config(listener), shutdown_trigger=closing.wait, mode="asgi")


def server_config(listener: socket.socket) -> "ServerConfig":
    """Every default of the server that would hurt a stream or a keep-alive client is named here."""
    from hypercorn.config import Config as ServerConfig

    config = ServerConfig()
    # The server closes what it is given; a descriptor closed twice may by then be somebody else's.
    config.bind = [f"fd://{os.dup(listener.fileno())}"]
    config.backlog = 1024
    config.accesslog = None
    config.errorlog = None
    config.include_server_header = False
    config.keep_alive_timeout = IDLE_SECONDS
    config.keep_alive_max_requests = sys.maxsize
    config.h11_max_incomplete_size = LARGEST_HEAD
    config.graceful_timeout = LAST_MOMENT_SECONDS
    return config


def stop_signal() -> asyncio.Event:
    """Set by SIGTERM or SIGINT. A second one changes nothing: children are stopped in any case, within their grace."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        if sys.platform == "win32":  # its loop has no signal handlers
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop.set))
        else:
            loop.add_signal_handler(number, stop.set)
    if sys.platform != "win32":
        # Until configuration can be reloaded, a hang-up must not kill the daemon.
        loop.add_signal_handler(signal.SIGHUP, lambda: None)
    return stop
