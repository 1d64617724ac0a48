"""HTTP as plainly as it can be spoken: the bytes of a call go out as they are, whatever a library would say to them."""

import asyncio
from contextlib import suppress
from typing import NamedTuple, Self

from tests.fuzz.mutations import Call

LARGEST = 2**22
"""Bytes of one line or piece of an answer."""


class Reply(NamedTuple):
    """An answer, whole; without its body where the client left."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def kind(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip()


class Line:
    """One connection, kept as long as the server keeps it."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.reader: asyncio.StreamReader | None = None
        self.writer: asyncio.StreamWriter | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.hang_up()

    async def hang_up(self) -> None:
        """Close, if anything is open."""
        if self.writer is not None:
            self.writer.close()
            with suppress(OSError):
                await self.writer.wait_closed()
        self.reader = self.writer = None

    async def ask(self, call: Call, *, leave: bool = False) -> Reply:
        """Send and read. A kept connection that the server has closed meanwhile is opened anew, once."""
        fresh = self.writer is None
        try:
            return await self._ask(call, leave)
        except (ConnectionError, asyncio.IncompleteReadError) as error:
            await self.hang_up()
            if fresh or (isinstance(error, asyncio.IncompleteReadError) and error.partial):
                raise
        return await self._ask(call, leave)

    async def _ask(self, call: Call, leave: bool) -> Reply:
        if self.reader is None or self.writer is None:
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port, limit=LARGEST)
        lines = [f"{call.method} {call.target} HTTP/1.1", f"host: 127.0.0.1:{self.port}"]
        lines += [f"{name}: {value}" for name, value in call.headers]
        lines.append(f"content-length: {len(call.body)}")
        self.writer.write("\r\n".join([*lines, "", ""]).encode() + call.body)
        await self.writer.drain()
        first, *rest = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in rest if line)
        headers = {name.lower(): value.strip() for name, _, value in pairs}
        status = int(first.split(" ", 2)[1])
        if leave:
            await self.hang_up()
            return Reply(status, headers, b"")
        body = b"" if call.method == "HEAD" or status in (204, 304) else await self._body(headers)
        if "close" in headers.get("connection", ""):
            await self.hang_up()
        return Reply(status, headers, body)

    async def _body(self, headers: dict[str, str]) -> bytes:
        assert self.reader is not None
        if headers.get("transfer-encoding") == "chunked":
            found = bytearray()
            while size := int((await self.reader.readuntil(b"\r\n")).split(b";")[0], 16):
                found += await self.reader.readexactly(size)
                await self.reader.readexactly(2)
            await self.reader.readuntil(b"\r\n")
            return bytes(found)
        if "content-length" in headers:
            return await self.reader.readexactly(int(headers["content-length"]))
        return await self.reader.read()
