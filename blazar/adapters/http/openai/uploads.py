"""POST /v1/files: a form with a file, written to disk as it comes. Stands before Quart, which would take all that arrives.

Decides how a form is read and how much is held of it: one message of the server and one piece on its way to the disk. Names and
purposes are the shelf's.
"""

import asyncio
import json
import re
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from werkzeug.http import parse_options_header

from blazar.adapters.http.asgi import App, Receive, Scope, Send, answer, headers_of
from blazar.adapters.http.errors import JSON, refuse
from blazar.adapters.http.lane.headers import warning_headers
from blazar.adapters.http.multipart import FormReader, Part
from blazar.adapters.http.openai.files import file_object
from blazar.adapters.http.receiving import PIECE, announced, before_reading, in_front
from blazar.adapters.http.record import record_of
from blazar.application.files.shelf import FileNote, FileShelf
from blazar.application.ports.kept_files import Intake
from blazar.domain import teaching
from blazar.domain.errors import BlazarError, Malformed, TooLarge
from blazar.domain.wire.openai_batches import PURPOSES, read_life
from blazar.domain.wire.request import ignored

ROW: Final = "files.upload"
LARGEST: Final = 512 * 2**20
"""Bytes of one file (D12)."""
_LONGEST_FIELD: Final = 64 * 1024
_MOST_PARTS: Final = 64
_LONGEST_NAME: Final = 255
_KNOWN: Final = frozenset({"purpose", "expires_after[anchor]", "expires_after[seconds]"})
_UNNAMEABLE: Final = re.compile(r"[\x00-\x1f\x7f]|^.*[/\\]", re.DOTALL)
"""What a file's name loses: control characters, and everything up to its last slash of either kind (case J6)."""


@dataclass(slots=True)
class Form:
    """What came so far."""

    texts: dict[str, bytearray] = field(default_factory=dict)
    name: str = "upload"
    has_file: bool = False
    parts: int = 0
    size: int = 0
    into: bytearray | None = None
    """Where the part under way goes; None: nowhere, or to the disk."""
    in_file: bool = False
    piece: bytearray = field(default_factory=bytearray)
    over: bool = False


def file_uploads(app: App, shelf: FileShelf) -> App:
    """`app`, with uploads in front of it."""

    async def door(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            taken = await _take(shelf, scope, receive)
        except BlazarError as error:
            await refuse(scope, send, error)
            return
        if taken is not None:
            note, warnings = taken
            body = json.dumps(file_object(note), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
            await answer(send, 200, [JSON, *warning_headers(warnings)], body)

    return in_front(app, ROW, door)


async def _take(shelf: FileShelf, scope: Scope, receive: Receive) -> tuple[FileNote, tuple[str, ...]] | None:
    """The file that came; None when its client left meanwhile. Whatever else happens, nothing of it stays."""
    headers = headers_of(scope)
    begun = partial(_begun, shelf, headers.get(b"content-type", b""), announced(headers))
    reader, intake = await before_reading(begun, headers, receive)
    try:
        form = await _read(reader, receive, intake)
        if form is None:
            return None
        owner = record_of(scope).key
        purpose, lives = _wishes(form)
        note = await asyncio.to_thread(partial(shelf.keep, intake, owner, form.name, purpose, lives))
        return note, tuple(ignored(name) for name in form.texts if name not in _KNOWN)
    finally:
        await asyncio.shield(asyncio.to_thread(intake.discard))


def _begun(shelf: FileShelf, content_type: bytes, size: int) -> tuple[FormReader, Intake]:
    return _reader(content_type), shelf.kept.begin(size)


def _reader(content_type: bytes) -> FormReader:
    kind, options = parse_options_header(content_type.decode("latin-1"))
    boundary = options.get("boundary", "")
    if kind.lower() != "multipart/form-data" or not 0 < len(boundary) <= 200 or not boundary.isascii():
        raise Malformed(teaching.upload_not_a_form(), "file")
    return FormReader(boundary.encode())


async def _read(reader: FormReader, receive: Receive, intake: Intake) -> Form | None:
    """The whole form, its file on disk. What is wrong is told when all has been read, else the client hears a reset."""
    form = Form()
    wrong: BlazarError | None = None
    while not form.over:
        message = await receive()
        if message["type"] != "http.request":
            return None
        last = not message.get("more_body", False)
        if wrong is None:
            try:
                _feed(reader, form, message.get("body", b""), last=last)
                if len(form.piece) >= PIECE or (last and form.piece):
                    piece, form.piece = form.piece, bytearray()
                    await asyncio.to_thread(intake.write, bytes(piece))
            except BlazarError as error:
                wrong = error
        form.over = last
    if wrong is not None:
        raise wrong
    return form


def _feed(reader: FormReader, form: Form, data: bytes, *, last: bool) -> None:
    """One message's bytes."""
    for event in reader.feed(data):
        if isinstance(event, Part):
            _begin(form, event)
        else:
            _more(form, event)
    if last and not reader.done:
        raise Malformed(teaching.upload_broken(), "file")


def _begin(form: Form, part: Part) -> None:
    form.parts += 1
    if form.parts > _MOST_PARTS:
        raise Malformed(teaching.upload_broken(), "file")
    form.in_file = part.filename is not None and part.name == "file" and not form.has_file
    form.into = None
    if form.in_file:
        form.has_file = True
        form.name = _UNNAMEABLE.sub("", part.filename or "")[:_LONGEST_NAME] or form.name
    elif part.filename is None:
        form.into = form.texts.setdefault(part.name, bytearray())
        form.into.clear()


def _more(form: Form, data: bytes) -> None:
    if form.in_file:
        form.size += len(data)
        if form.size > LARGEST:
            raise TooLarge(teaching.upload_too_large(LARGEST))
        form.piece += data
    elif form.into is not None:
        form.into += data
        if len(form.into) > _LONGEST_FIELD:
            raise Malformed(teaching.upload_broken(), "file")


def _wishes(form: Form) -> tuple[str, int]:
    """Purpose and life of the file; a form without one is refused."""
    if not form.has_file:
        raise Malformed(teaching.field_missing("file"), "file")
    texts = {name: bytes(text).decode("utf-8", "replace") for name, text in form.texts.items()}
    if not texts.get("purpose"):
        raise Malformed(teaching.field_missing("purpose"), "purpose")
    if texts["purpose"] not in PURPOSES:
        raise Malformed(teaching.field_must("purpose", "purpose"), "purpose")
    given: dict[str, Any] = {
        key: texts[name] for key in ("anchor", "seconds") if (name := f"expires_after[{key}]") in texts
    }
    seconds = given.get("seconds", "")
    if seconds.isascii() and seconds.isdecimal() and len(seconds) <= 10:
        given["seconds"] = int(seconds)
    return texts["purpose"], read_life(given or None, "expires_after")
