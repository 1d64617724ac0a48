"""The stand-in that plays recordings says what the engine would have said had it not been asked to stream."""

import json
import runpy
from typing import Any

import pytest

from tests.contract.wire.chunks import RECORDED
from tests.contract.wire.test_recorded import FAILING, REPLIES, STREAMS
from tests.support.engine import STUB

PLAYER = runpy.run_path(str(STUB.with_name("player.py")), run_name="player")


def added_up(name: str) -> Any:
    return PLAYER["add_up"](PLAYER["chunks_of"](PLAYER["recording"](name, ".sse")))


@pytest.mark.parametrize("name", REPLIES)
def test_a_stream_adds_up_to_the_engines_whole_answer(name: str) -> None:
    """Message or text, and the reason, are those that the engine sent whole; ids of calls are each time others."""
    whole = json.loads((RECORDED / f"{name}.json").read_text())
    mine = added_up(name)
    assert mine["object"] == whole["object"]
    assert mine["usage"]["completion_tokens"] == whole["usage"]["completion_tokens"]
    for choice in (*mine["choices"], *whole["choices"]):
        choice.pop("logprobs", None)
        for call in choice.get("message", {}).get("tool_calls", ()):
            assert len(call.pop("id")) == 32
    assert mine["choices"] == whole["choices"]


@pytest.mark.parametrize("name", sorted(set(STREAMS) - FAILING))
def test_every_recording_can_be_played_whole(name: str) -> None:
    """Each of its answers has a reason."""
    choices = added_up(name)["choices"]
    assert [choice["index"] for choice in choices] == list(range(len(choices)))
    assert all(choice["finish_reason"] for choice in choices)


def test_a_recorded_failure_is_played_as_one() -> None:
    """An error in the stream is the error of the whole answer."""
    assert {added_up(name)["error"]["code"] for name in FAILING} == {500}


@pytest.mark.parametrize(
    ("messages", "wish"),
    [
        ([{"role": "user", "content": "please play think_tool slowly"}], ("think_tool", True)),
        (
            [{"role": "user", "content": [{"type": "text", "text": "play refused/too_long"}]}],
            ("refused/too_long", False),
        ),
        ([{"role": "user", "content": "hi"}], ("text", False)),
        ([{"role": "user", "content": "play tool"}, {"role": "tool", "content": "play tool"}], ("text", False)),
    ],
)
def test_the_last_user_message_chooses(messages: list[dict[str, Any]], wish: tuple[str, bool]) -> None:
    """By its words; behind a tool's result the loop ends."""
    assert PLAYER["wish"]({"messages": messages}) == wish
