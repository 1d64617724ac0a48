"""POST /api/blobs/{digest}: bytes to disk as they come, checked by their digest. Stands before Quart, which would take all that arrives."""

import asyncio
from functools import partial
from typing import Final

from blazar.adapters.http.asgi import App, Receive, Scope, Send, answer, headers_of
from blazar.adapters.http.errors import refuse
from blazar.adapters.http.receiving import PIECE, announced, before_reading, in_front, read_on
from blazar.application.ports.blobs import Blobs
from blazar.application.ports.kept_files import Intake
from blazar.domain import teaching
from blazar.domain.errors import BlazarError, Malformed

ROW: Final = "library.blob"


def blob_uploads(app: App, blobs: Blobs) -> App:
    """`app`, with blobs in front of it."""

    async def door(scope: Scope, receive: Receive, send: Send) -> None:
        digest, headers = scope["path"].strip("/").rpartition("/")[2], headers_of(scope)
        try:
            begun = partial(_begin, blobs, digest, announced(headers))
            if (intake := await before_reading(begun, headers, receive)) is None:
                await read_on(receive)
                await answer(send, 200, [], b"")
            elif await _taken(receive, intake, digest):
                await answer(send, 201, [], b"")
        except BlazarError as error:
            await refuse(scope, send, error)

    return in_front(app, ROW, door)


def _begin(blobs: Blobs, digest: str, size: int) -> Intake | None:
    """Where the bytes go; None where they are there already."""
    return None if blobs.has(digest) else blobs.begin(digest, size)


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
