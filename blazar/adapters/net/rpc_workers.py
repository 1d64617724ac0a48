"""Workers of ggml's RPC, greeted over TCP. Sends nothing but the greeting, and decides nothing.

The greeting is b11434's (ggml/src/ggml-rpc/ggml-rpc.cpp): one byte of command, eight of length, 24 of what a connection could do
beside TCP; the answer is eight bytes of length and then the version. Releases before that greet with nothing to say, and hang up on
one that says something.
"""

import asyncio
import os
import socket
import struct
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from blazar.application.ports.workers import State, Worker, Workers
from blazar.domain import teaching

CONNECT_SECS: Final = 3.0
"""Also for the name of the machine."""
ANSWER_SECS: Final = 2.0
"""A worker that serves nobody answers at once."""
HELLO: Final = 14
GREETINGS: Final = tuple(bytes([HELLO]) + size.to_bytes(8, "little") + bytes(size) for size in (24, 0))
"""Today's, and that of older releases. Zeros: this connection stays plain TCP."""
ANSWERS: Final = range(3, 65)
"""Bytes of an answer: its first three are the version."""


class RpcWorkers(Workers):
    """The bounds are parameters for tests."""

    def __init__(self, connect_secs: float = CONNECT_SECS, answer_secs: float = ANSWER_SECS) -> None:
        self._connect_secs, self._answer_secs = connect_secs, answer_secs

    async def ask(self, endpoints: Sequence[str]) -> tuple[Worker, ...]:
        return tuple(await asyncio.gather(*map(self._ask, endpoints)))

    def serving(self, endpoints: str) -> str:
        """Those of a list, with commas between them, that serve now. Blocking: not on the loop."""
        found = asyncio.run(self.ask(tuple(dict.fromkeys(endpoints.split(",")))))
        return ",".join(one.endpoint for one in found if one.state is State.SERVES)

    async def _ask(self, endpoint: str) -> Worker:
        found = Worker(endpoint, State.STRANGE)
        for greeting in GREETINGS:
            found = await self._greet(endpoint, greeting)
            if found.state is not State.STRANGE:
                break
        return found

    async def _greet(self, endpoint: str, greeting: bytes) -> Worker:
        host, _, port = endpoint.rpartition(":")
        try:
            async with asyncio.timeout(self._connect_secs):
                # The engine looks for addresses of IPv4 alone.
                reader, writer = await asyncio.open_connection(host, int(port), family=socket.AF_INET)
        except TimeoutError:
            # Its queue holds very few: who comes while it serves another may not even be connected.
            return Worker(endpoint, State.SILENT)
        except (OSError, ValueError, OverflowError) as error:
            return Worker(endpoint, State.ABSENT, _why(error))
        _at_end(writer, reset=True)
        try:
            writer.write(greeting)
            async with asyncio.timeout(self._answer_secs):
                found = await _heard(endpoint, reader)
            _at_end(writer, reset=False)
        except TimeoutError:
            return Worker(endpoint, State.SILENT)
        except (OSError, asyncio.IncompleteReadError):
            return Worker(endpoint, State.STRANGE)
        else:
            return found
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()


def _at_end(writer: asyncio.StreamWriter, *, reset: bool) -> None:
    """ODD: a greeting that nobody waits for any more is taken back by a reset: a busy worker reads it later, and answers.

    Where the connection was ended in good order, that answer kills the worker: it does not ignore SIGPIPE (transport.cpp).
    """
    form = "hh" if sys.platform == "win32" else "ii"
    linger = struct.pack(form, reset, 0)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)


async def _heard(endpoint: str, reader: asyncio.StreamReader) -> Worker:
    size = int.from_bytes(await reader.readexactly(8), "little")
    if size not in ANSWERS:
        return Worker(endpoint, State.STRANGE)
    major, minor, patch, *_ = await reader.readexactly(size)
    return Worker(endpoint, State.SERVES, version=f"{major}.{minor}.{patch}")


def _why(error: Exception) -> str:
    if isinstance(error, OSError):
        # asyncio's own words name the address once more; a name that nobody knows has a negative number.
        number = error.errno or 0
        return os.strerror(number) if number > 0 else error.strerror or str(error)
    # Extra words are not looked at by configuration's rules.
    return teaching.worker_unspelled()
