"""Before the gateway is there, and after it is gone (D2)."""

import asyncio

import pytest

from blazar.adapters.http.asgi import Message
from blazar.adapters.http.entrance import Entrance
from blazar.adapters.http.layers.order import wrap
from blazar.domain import teaching
from tests.unit.adapters.http.asgi_calls import KEY, call, doors, fine


@pytest.mark.parametrize("path", ["/health", "/healthz"])
def test_health_says_starting(path: str) -> None:
    """503 until ready, without a key."""
    answer = call(wrap(Entrance(), doors(keys=(KEY,))), "GET", path)
    assert (answer.status, answer.json(), answer.header("retry-after")) == (503, {"status": "starting"}, "1")


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/", "/nowhere", "/api/load"])
def test_everything_else_is_told_to_come_back(path: str) -> None:
    """The sentence in the dialect, with retry-after; a key is needed to hear even that."""
    answer = call(wrap(Entrance(), doors()), "POST", path)
    assert (answer.status, answer.header("retry-after")) == (503, "1")
    assert answer.json()["error"]["message"] == teaching.starting()
    assert call(wrap(Entrance(), doors(keys=(KEY,))), "POST", path).status == 401


def test_open_then_close() -> None:
    """The gateway between them, and a request under way keeps the app it began with."""
    entrance = Entrance()
    app = wrap(entrance, doors())
    entrance.open(fine)
    assert call(app, "GET", "/api/tags").body == b"/api/tags 0"
    entrance.close()
    answer = call(app, "GET", "/api/tags")
    assert (answer.status, answer.json()) == (503, {"error": teaching.shutting_down()})
    assert call(app, "GET", "/health").json() == {"status": "stopping"}


def test_lifespan_is_answered_at_once() -> None:
    """The server starts and stops without waiting for our parts."""
    sent: list[Message] = []

    async def main() -> None:
        asked = iter(["lifespan.startup", "lifespan.shutdown"])

        async def receive() -> Message:
            return {"type": next(asked)}

        async def send(message: Message) -> None:
            sent.append(message)

        await wrap(Entrance(), doors())({"type": "lifespan"}, receive, send)

    asyncio.run(main())
    assert [message["type"] for message in sent] == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
