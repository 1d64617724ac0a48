"""API keys: list, add, change, rotate, remove, and what they used. A secret is told once, to who made it; nobody may store that answer."""

from typing import Final

from quart import Blueprint, Response, request

from blazar.adapters.http.bodies import read_object, reply
from blazar.adapters.http.mount import blueprint
from blazar.adapters.http.openai.owner import owner_of
from blazar.application.access.manage_keys import ManageKeys
from blazar.application.access.record_usage import MOST_DAYS
from blazar.application.access.rows import key_row, told_once, usage_row
from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.keys import Key

USUAL_DAYS: Final = 30


def keys_blueprint(manage: ManageKeys) -> Blueprint:
    """The seven routes. Gates and `ManageKeys` both ask for a key without a models list: the doors may have been exchanged meanwhile."""

    async def listing() -> Response:
        return reply({"keys": [key_row(key) for key in manage.listed(_caller())]})

    async def one(name: str) -> Response:
        return reply(key_row(manage.show(_caller(), name)))

    async def add() -> Response:
        manage.check(_caller())
        said = await read_object()
        name = said.pop("name", None)
        if not isinstance(name, str):
            raise Malformed(teaching.field_must("name", "string") if name else teaching.field_missing("name"), "name")
        return _told_once(await manage.add(_caller(), name, said), 201)

    async def update(name: str) -> Response:
        manage.check(_caller())
        return reply(key_row(await manage.update(_caller(), name, await read_object())))

    async def rotate(name: str) -> Response:
        return _told_once(await manage.rotate(_caller(), name), 200)

    async def delete(name: str) -> Response:
        return reply({"deleted": (await manage.remove(_caller(), name)).name})

    async def usage(name: str) -> Response:
        manage.check(_caller())
        days = await manage.usage(_caller(), name, _days_asked())
        return reply({"name": name, "days": [usage_row(day) for day in days]})

    return blueprint(
        "keys",
        {
            "listing": listing,
            "one": one,
            "add": add,
            "update": update,
            "rotate": rotate,
            "delete": delete,
            "usage": usage,
        },
    )


def _caller() -> str:
    return owner_of(request.scope)


def _told_once(key: Key, status: int) -> Response:
    answer = reply(told_once(key), status)
    answer.headers["cache-control"] = "no-store"
    return answer


def _days_asked() -> int:
    text = request.args.get("days", str(USUAL_DAYS))
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:6]) <= MOST_DAYS:
        raise Malformed(teaching.field_from_one_to("days", MOST_DAYS), "days")
    return int(text)
