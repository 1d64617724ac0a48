"""OpenAI's chats, read and written for a model without tools of its own."""

import json

import pytest

from blazar.adapters.http.lane.job import Occasion
from blazar.adapters.http.lane.raw_chat_jobs import RawChatJob
from blazar.domain.errors import Malformed
from blazar.domain.wire.raw_tools import RawLane

TOOLS = [{"type": "function", "function": {"name": "w"}}]
BODY = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "tools": TOOLS, "keep_alive": "5m", "echo": None}
OCCASION = Occasion("m", "plm-1", 7.0, 0.0, lambda: 0.0)


def job(**more: object) -> RawChatJob:
    """One, with its tools in words."""
    made = RawChatJob(json.dumps({**BODY, **more}).encode())
    made.compat(RawLane())
    return made


def test_it_is_read_as_any_chat() -> None:
    """Nulls are absent, ours is taken out, the lane knows it as a raw generation with tools."""
    made = job(user=None)
    assert (made.model, made.stream, made.keep_alive, made.tools, made.raw) == ("m", False, 300.0, True, True)
    assert not {"keep_alive", "echo", "user"} & json.loads(made.call("m").body).keys()


@pytest.mark.parametrize("messages", [None, "x", [{}]])
def test_what_is_no_chat_is_refused(messages: object) -> None:
    """With the same sentences."""
    with pytest.raises(Malformed):
        job(messages=messages)


def test_its_streams_are_openais() -> None:
    """With the counts where they were asked for."""
    for asked, told in (({"include_usage": True}, True), (None, False)):
        stream = job(stream=True, stream_options=asked).open_stream(OCCASION)
        out = stream.feed(b'data: {"choices":[{"text":"hi","finish_reason":"stop"}],"usage":{"prompt_tokens":1}}\n\n')
        out += stream.feed(b"data: [DONE]\n\n") + stream.flush()
        assert b'"content":"hi"' in out
        assert (b'"usage"' in out) is told
        assert stream.beat() == b": \n\n"


def test_it_is_never_only_a_load() -> None:
    """OpenAI has no such request."""
    with pytest.raises(AssertionError):
        job().loaded(OCCASION, "load")
