"""OpenAI's files beside the upload: list, describe, read, delete. Owns no file and no policy."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import Any, Final

from quart import Blueprint, Response, request

from blazar.adapters.http.bodies import reply
from blazar.adapters.http.mount import blueprint
from blazar.adapters.http.openai.owner import owner_of
from blazar.application.files.shelf import FileNote, FileShelf
from blazar.application.ports.kept_files import Reading
from blazar.domain.wire.paging import page_asked

LARGEST_PAGE: Final = 10_000
"""OpenAI's own bound of `limit`, and its default."""
PIECE: Final = 256 * 1024


def files_blueprint(shelf: FileShelf) -> Blueprint:
    """Everything but the upload."""

    async def listing() -> Response:
        page = page_asked(request.args, LARGEST_PAGE, LARGEST_PAGE)
        found = await asyncio.to_thread(
            partial(shelf.page, owner_of(request.scope), page, request.args.get("purpose", ""))
        )
        rows = [file_object(note) for note in found.files]
        return reply({"object": "list", "data": rows, "has_more": found.more, **_ends(rows)})

    async def one(id: str) -> Response:  # noqa: A002 - the name in the route table
        return reply(file_object(await asyncio.to_thread(partial(shelf.find, id, owner_of(request.scope)))))

    async def content(id: str) -> Response:  # noqa: A002
        note, reading = await asyncio.to_thread(partial(shelf.open, id, owner_of(request.scope)))
        return streamed(reading, "application/octet-stream", note.size)

    async def delete(id: str) -> Response:  # noqa: A002
        await asyncio.to_thread(partial(shelf.remove, id, owner_of(request.scope)))
        return reply({"id": id, "object": "file", "deleted": True})

    return blueprint("files", {"listing": listing, "one": one, "content": content, "delete": delete})


def file_object(note: FileNote) -> dict[str, Any]:
    """A file as OpenAI shows it."""
    return {
        "id": note.id,
        "object": "file",
        "bytes": note.size,
        "created_at": int(note.created_at),
        "expires_at": int(note.expires_at) if note.expires_at else None,
        "filename": note.name,
        "purpose": note.purpose,
        "status": "processed",
        "status_details": None,
    }


def streamed(reading: Reading, content_type: str, size: int | None = None) -> Response:
    """A kept file, piece by piece."""

    async def pieces() -> AsyncIterator[bytes]:
        try:
            while piece := await asyncio.to_thread(reading.read, PIECE):
                yield piece
        finally:
            reading.close()

    made = Response(pieces(), content_type=content_type)
    if size is not None:
        made.headers["content-length"] = str(size)
    return made


def _ends(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {"first_id": rows[0]["id"] if rows else None, "last_id": rows[-1]["id"] if rows else None}
