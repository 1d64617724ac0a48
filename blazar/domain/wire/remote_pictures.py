"""Pictures that a request names by their address, in the four dialects' places for them; and what a fetched one is, by its first bytes.

Pure: says where they stand and writes what was fetched in their place. Whoever reads the request afterwards refuses what is left (J10).
"""

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from blazar.domain.wire.pictures import form_of

_GIFS: Final = (b"GIF87a", b"GIF89a")
_BMP: Final = b"BM"
_NAMED: Final = re.compile(rb'"(?:image_)?url"\s*:\s*"[hH]')
_DEEPEST: Final = 4
"""A message, its parts, a tool's result, the parts of that."""


class Remote(NamedTuple):
    """One address; `field` is its place for sentences, `put` writes what was fetched (a media type and base64) there instead."""

    url: str
    field: str
    put: Callable[[str, str], None]


def may_name_addresses(raw: bytes) -> bool:
    """Whether a body is worth a look. What is spelled in a stranger way is no address to us, and refused later.

    A scan, and nothing in a text looks like it: quotes stand escaped there.
    """
    if b'"http' not in raw and b'"HTTP' not in raw:
        return False
    return _NAMED.search(raw) is not None or b'"images"' in raw


def mime_of(data: bytes) -> str:
    """Empty: no picture that engines read."""
    if form := form_of(data):
        return f"image/{form}"
    if data.startswith(_GIFS):
        return "image/gif"
    return "image/bmp" if data.startswith(_BMP) else ""


def is_picture(text: str) -> bool:
    """Of base64, alone or as a data: URL. An engine would fail at anything else, as if the fault were its own."""
    head, comma, data = text.partition(",")
    data = data if comma and head[:5].lower() == "data:" and head.endswith(";base64") else text
    try:
        return bool(mime_of(binascii.a2b_base64(data + "=" * (-len(data) % 4), strict_mode=True)))
    except ValueError:  # also of a text that is not ASCII
        return False


def base64_of(data: bytes) -> str:
    """As requests carry it."""
    return base64.b64encode(data).decode()


def remote_pictures(body: Any) -> list[Remote]:
    """All of a decoded request, in their order."""
    if not isinstance(body, dict):
        return []
    found = [*_of_texts(body.get("images"), "images")]
    for field in ("messages", "input"):
        for at, message in _objects(body.get(field)):
            where = f"{field}[{at}]"
            found += _of_texts(message.get("images"), f"{where}.images")
            found += _of_parts(message.get("content"), f"{where}.content", 0)
            found += _of_parts(message.get("output"), f"{where}.output", 0)
    return found


def _of_texts(images: Any, where: str) -> Iterator[Remote]:
    """Ollama's: bare base64, so that is what is written."""
    for at, image in enumerate(images if isinstance(images, list) else ()):
        if _is_address(image):
            yield Remote(image, f"{where}[{at}]", _item(images, at))


def _of_parts(parts: Any, where: str, depth: int) -> Iterator[Remote]:
    for at, part in _objects(parts):
        place, held, source = f"{where}[{at}]", part.get("image_url"), part.get("source")
        if isinstance(held, dict) and _is_address(held.get("url")):
            yield Remote(held["url"], f"{place}.image_url", _member(held, "url"))
        elif _is_address(held):
            yield Remote(str(held), f"{place}.image_url", _member(part, "image_url"))
        elif part.get("type") == "image" and isinstance(source, dict) and _is_address(source.get("url")):
            yield Remote(source["url"], f"{place}.source.url", _source(part))
        elif depth < _DEEPEST:
            yield from _of_parts(part.get("content"), f"{place}.content", depth + 1)


def _objects(value: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    for at, one in enumerate(value if isinstance(value, list) else ()):
        if isinstance(one, dict):
            yield at, one


def _is_address(value: Any) -> bool:
    return isinstance(value, str) and value[:8].lower().startswith(("http://", "https://"))


def _member(holder: dict[str, Any], key: str) -> Callable[[str, str], None]:
    def put(mime: str, data: str) -> None:
        holder[key] = f"data:{mime};base64,{data}"

    return put


def _item(images: list[Any], at: int) -> Callable[[str, str], None]:
    def put(mime: str, data: str) -> None:
        del mime
        images[at] = data

    return put


def _source(part: dict[str, Any]) -> Callable[[str, str], None]:
    def put(mime: str, data: str) -> None:
        part["source"] = {"type": "base64", "media_type": mime, "data": data}

    return put
