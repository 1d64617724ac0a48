"""The prompt's text before what was made of it."""

import json
from typing import Any

import pytest

from blazar.domain.errors import Malformed
from blazar.domain.wire.echo import Echo, EchoFilter, wants_echo
from blazar.domain.wire.sse import DONE, data_event


def event(index: int, text: Any, **more: Any) -> bytes:
    return data_event(json.dumps({"id": "a", "choices": [{"index": index, "text": text}], **more}).encode())


def choices_in(out: bytes) -> list[tuple[int, str]]:
    events = [json.loads(part[6:]) for part in out.split(b"\n\n") if part.startswith(b"data: {")]
    return [(choice["index"], choice["text"]) for event in events for choice in event["choices"]]


@pytest.mark.parametrize(("echo", "wanted"), [(None, False), (False, False), (True, True)])
def test_it_is_asked_for_by_a_boolean(echo: Any, wanted: bool) -> None:
    """Null is absent."""
    assert wants_echo(echo, None) is wants_echo(echo, False) is wanted


@pytest.mark.parametrize(
    ("echo", "logprobs", "field"), [(0, None, "echo"), (1, None, "echo"), ("yes", None, "echo"), (True, 0, "logprobs")]
)
def test_what_it_cannot_be_is_named(echo: Any, logprobs: Any, field: str) -> None:
    """Log probabilities of the prompt too: no engine tells them."""
    with pytest.raises(Malformed) as refused:
        wants_echo(echo, logprobs)
    assert refused.value.field == field


def test_each_answer_has_its_own_prompt() -> None:
    """With several to a prompt, and prompts of tokens, which are told."""
    echo = Echo({"prompt": ["a", [1, 2]], "n": 2})
    assert echo.tokens() == [(1, [1, 2])]
    assert echo.before(2) == ""
    echo.tell(1, "b")
    assert [echo.before(at) for at in (0, 1, 2, 3, 4)] == ["a", "a", "b", "b", ""]
    assert [Echo({"prompt": [1, 2]}).tokens(), Echo({"prompt": "a"}).tokens()] == [[(0, [1, 2])], []]
    answer: dict[str, Any] = {"choices": [{"index": 0, "text": "x"}, {"index": 2, "text": None}], "usage": {}}
    echo.write(answer)
    assert ([choice["text"] for choice in answer["choices"]], answer["usage"]) == (["ax", "b"], {})
    with pytest.raises(Malformed):
        Echo({"prompt": [1, "a"]})


def test_a_stream_has_it_in_the_first_event_of_each_choice() -> None:
    """Whatever else comes passes as it is: comments, counts, the end, errors."""
    written = EchoFilter(Echo({"prompt": ["a", "b"]}))
    assert choices_in(written.through(event(0, "x") + event(0, "y"))) == [(0, "ax"), (0, "y")]
    rest = event(0, "z")
    assert written.through(rest) == rest
    assert choices_in(written.through(b": \n\n" + event(1, "") + event(1, "w"))) == [(1, "b"), (1, "w")]
    for other in (
        b": \n\n",
        data_event(b'{"choices":[],"usage":{}}'),
        data_event(b'{"error":{"message":"x"}}'),
        DONE,
        b"",
    ):
        assert EchoFilter(Echo({"prompt": "a"})).through(other) == other


def test_odd_a_prompt_alone_is_nothing_else() -> None:
    """llama.cpp writes one token where none may be written: it is left out and not counted, whole and streamed."""
    echo = Echo({"prompt": "a", "max_tokens": 0})
    usage = {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}
    wanted = {"prompt_tokens": 3, "completion_tokens": 0, "total_tokens": 3}
    answer: dict[str, Any] = {"choices": [{"index": 0, "text": "x"}], "usage": dict(usage)}
    echo.write(answer)
    assert (answer["choices"][0]["text"], answer["usage"]) == ("a", wanted)
    out = EchoFilter(echo).through(
        event(0, "x") + event(0, "y") + data_event(json.dumps({"choices": [], "usage": usage}).encode())
    )
    assert choices_in(out) == [(0, "a"), (0, "")]
    assert json.loads(out.split(b"\n\n")[2][6:])["usage"] == wanted
