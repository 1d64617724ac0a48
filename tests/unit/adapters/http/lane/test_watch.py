"""What is observed of one answer while it passes."""

import json
from typing import Any

import pytest

from blazar.adapters.http.lane.watch import Watch, spent, switch
from blazar.adapters.http.record import RequestRecord
from blazar.domain.errors import Malformed
from blazar.domain.wire.answer import Answer
from blazar.domain.wire.delta import Finish, Usage
from blazar.domain.wire.seen import Seen
from blazar.domain.wire.structured import Asked
from tests.support.lane_rig import whole_chat


def whole(content: str | None = "hello", finish: str = "stop", **message: Any) -> bytes:
    said = json.loads(whole_chat())
    said["choices"] = [
        {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": content, **message}}
    ]
    return json.dumps(said).encode()


def text(content: str, finish: str = "stop") -> bytes:
    said = json.loads(whole_chat())
    said["choices"] = [{"index": 0, "finish_reason": finish, "text": content}]
    return json.dumps(said).encode()


@pytest.mark.parametrize(
    ("raw", "suspicious"),
    [
        (whole_chat(), False),
        (text("hi"), False),
        (whole(""), True),
        (whole(" hi"), True),
        (whole("hi", "length"), True),
        (whole("hi", tool_calls=[]), True),
        (b'{"__verbose":{"content":"hm"},"choices":[{"message":{"content":""}}]}', True),
        (b"", True),
    ],
)
def test_only_what_is_suspicious_is_decoded(raw: bytes, suspicious: bool) -> None:
    """Nearly every answer is a text that begins with a letter: a search of its bytes is all that it costs."""
    assert Watch(None, "").suspects([raw]) is suspicious
    assert Watch(None, "").suspects([whole_chat(), raw]) is suspicious
    assert Watch(None, "json_object").suspects([raw])
    assert Watch(Asked("f", {}, of_call=True), "").suspects([raw]) is suspicious


def test_a_switch_is_on_off_or_not_there() -> None:
    """Anything else is nobody's guess."""
    assert switch({}, b"a") is None
    with pytest.raises(Malformed) as refused:
        switch({b"a": b""}, b"a")
    assert refused.value.field == "a"


def test_a_silence_is_told_of_a_few_times() -> None:
    """A stream may live for days."""
    watch = Watch(None, "")
    for _ in range(100):
        watch.told = True
        for _ in range(6):
            watch.look(0.0, 20.0)
    assert len(watch.found) == 16


def test_what_nobody_calls_is_not_read() -> None:
    """The body of a request is only looked into where calls have to be judged."""
    watch = Watch(None, "")

    def unread() -> dict[str, Any]:
        raise AssertionError

    watch.close(0.0, [Seen(words=True, thought=False, finish="stop")], unread)
    assert watch.found == []


def test_what_refused_answers_cost() -> None:
    """All of them."""
    one = Answer("", "", (), Finish("stop"), Usage(1, 2, 1))
    assert spent([one, one]) == Usage(2, 4, 2)
    assert spent([]) is None


def test_what_was_found_is_noted_once() -> None:
    """A request that is asked again is one story; a watch that only looks for others tells nothing."""
    for tells in (True, False):
        record, watch = RequestRecord("plm-1-1", 0.0), Watch(None, "", tells=tells)
        watch.close(1.0, [Seen(words=False, thought=False, finish="stop")], dict)
        watch.note(record)
        watch.note(record)
        assert watch.odd
        detail = {"code": "empty_response", "detail": "the answer is empty"}
        assert record.notes == ([(1.0, "sentinel", detail)] if tells else [])
