"""POST /api/blobs/{digest}: bytes to disk as they come, checked by their digest. Stands before Quart, which would take all that arrives."""

import asyncio
from collections.abc import Awaitable
from typing import Final

from blazar.adapters.http.asgi import App, Receive, Scope, Send, answer, headers_of
from blazar.adapters.http.errors import refuse
from blazar.adapters.http.routes import upload_at
from blazar.application.ports.blobs import Blobs
from blazar.application.ports.kept_files import Intake
from blazar.domain import teaching
from blazar.domain.errors import BlazarError, Malformed

ROW: Final = "library.blob"
PIECE: Final = 2**20
"""Bytes gathered for one write: handing over to a thread costs as much as writing a hundred kilobytes."""


class BlobUploads:
    """`app`, with blobs in front of it."""

    def __init__(self, app: App, blobs: Blobs) -> None:
        self._app, self._blobs = app, blobs

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Hand on without a frame of our own."""
        if scope["type"] == "http" and scope["method"] == "POST":
            row = upload_at("POST", scope["path"])
            if row is not None and row.key == ROW:
                return self._serve(scope, receive, send)
        return self._app(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        digest = scope["path"].strip("/").rpartition("/")[2]
        headers = headers_of(scope)
        announced = headers.get(b"content-length", b"")
        try:
            try:
                there = await asyncio.to_thread(self._blobs.has, digest)
                size = int(announced) if announced.isdigit() else 0
                intake = None if there else await asyncio.to_thread(self._blobs.begin, digest, size)
            except BlazarError:
                if b"expect" not in headers:  # whoever waits for "100 Continue" has not begun to send
                    await _drained(receive)
                raise
            if intake is None:
                await _drained(receive)
                await answer(send, 200, [], b"")
            elif await _taken(receive, intake, digest):
                await answer(send, 201, [], b"")
        except BlazarError as error:
            await refuse(scope, send, error)


async def _drained(receive: Receive) -> None:
    """Read to the end, for nothing: a client that is still sending sees a reset instead of our answer."""
    more = True
    while more:
        message = await receive()
        more = message["type"] == "http.request" and message.get("more_body", False)


async def _taken(receive: Receive, intake: Intake, digest: str) -> bool:
    """Whether the whole blob is there now; False when its client left. Nothing of it stays then, nor when it is another."""
    piece = bytearray()
    wrong: BlazarError | None = None
    try:
        more = True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                return False
            more = message.get("more_body", False)
            if wrong is None:
                piece += message.get("body", b"")
                if piece and (len(piece) >= PIECE or not more):
                    try:
                        await asyncio.to_thread(intake.write, bytes(piece))
                    except BlazarError as error:  # told when all has been read, else the client hears a reset
                        wrong = error
                    piece.clear()
        if wrong is not None:
            raise wrong
        if not intake.size:
            raise Malformed(teaching.blob_stream_cut())
        await asyncio.to_thread(intake.keep, digest)
    finally:
        await asyncio.shield(asyncio.to_thread(intake.discard))
    return True
