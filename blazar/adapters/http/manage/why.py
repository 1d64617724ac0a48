"""GET /api/why: the stories of requests that have ended. A scoped key hears of its own only, as `TellWhy` sees to."""

import re
from typing import Any, Final, Protocol

from quart import Blueprint, Response, request

from blazar.adapters.http.bodies import reply
from blazar.adapters.http.layers.authenticate import KEY_MODELS
from blazar.adapters.http.mount import blueprint
from blazar.adapters.http.openai.owner import owner_of
from blazar.application.ops.tell_why import MOST, NEWEST
from blazar.domain import teaching
from blazar.domain.errors import Malformed

_STATUS: Final = re.compile(r"[1-5](\d\d|xx)|answered|refused|left|broken", re.ASCII)


class Tells(Protocol):
    """`TellWhy`."""

    def __call__(
        self, trace: str = "", model: str = "", limit: int = NEWEST, key: str | None = None, **only: str
    ) -> dict[str, list[dict[str, Any]]]: ...


def why_blueprint(tell: Tells) -> Blueprint:
    """The one route."""

    async def stories() -> Response:
        scope: Any = request.scope  # Quart's type knows no keys but the specification's
        key = owner_of(scope) if KEY_MODELS in scope else None
        asked = request.args
        only = {"named": asked.get("key", ""), "status": _status(asked.get("status", ""))}
        only = {name: text for name, text in only.items() if text}
        return reply(tell(asked.get("trace", ""), asked.get("model", ""), _limit(asked.get("limit", "")), key, **only))

    return blueprint("why", {"stories": stories})


def _status(text: str) -> str:
    if text and _STATUS.fullmatch(text) is None:
        raise Malformed(teaching.why_status_must(), "status")
    return text


def _limit(text: str) -> int:
    if not text:
        return NEWEST
    if not (text.isascii() and text.isdigit()) or len(text) > 9 or not 1 <= int(text) <= MOST:
        raise Malformed(teaching.field_from_one_to("limit", MOST), "limit")
    return int(text)
