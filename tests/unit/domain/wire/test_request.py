"""Checks that every dialect shares."""

from typing import Any

import pytest

from blazar.domain.errors import Malformed
from blazar.domain.wire.request import (
    ChildRequest,
    ignored,
    numbers,
    opt_object,
    shown,
    want_bool,
    want_list,
    want_object,
    want_text,
    with_stream,
)
from blazar.domain.wire.turn import Shape


def test_null_is_absent() -> None:
    """For every optional field (A13)."""
    body = {"a": None}
    assert want_list(body, "a") == want_list(body, "b") == []
    assert want_text(body, "a") == want_text(body, "b") == ""
    assert want_bool(body, "a", default=True) is want_bool(body, "b", default=True) is True


@pytest.mark.parametrize(
    "read",
    [
        lambda body: want_list(body, "a"),
        lambda body: want_text(body, "a"),
        lambda body: want_bool(body, "a", default=True),
        lambda body: want_object(body["a"], "a"),
    ],
)
def test_another_type_is_refused_by_name(read: Any) -> None:
    """With the field in the sentence and in the record."""
    with pytest.raises(Malformed, match="'a' must be") as refused:
        read({"a": 7})
    assert refused.value.field == "a"


def test_a_fields_name_cannot_end_a_header() -> None:
    """Warnings go into a header, and names are the caller's text."""
    assert shown("options.x\r\nset-cookie: a=b") == "options.x??set-cookie??a?b"
    assert len(shown("x" * 500)) == 60
    assert ignored("é") == "ignored; '?' has no effect here"


def test_a_stream_asks_for_its_counts() -> None:
    """A buffered request does not."""
    assert with_stream({}, stream=True) == {"stream": True, "stream_options": {"include_usage": True}}
    assert with_stream({}, stream=False) == {"stream": False}


def test_defaults() -> None:
    """A plain chat turn."""
    request = ChildRequest("/x", {}, stream=False)
    assert (request.shape, request.load_only, request.thinking, request.keep_alive) == (Shape.CHAT, False, True, None)


def test_an_object_may_be_absent_and_nothing_else_is_empty() -> None:
    """PHP writes `[]` for `{}`; `false` and `""` are mistakes."""
    for absent in ({}, {"a": None}, {"a": {}}, {"a": []}):
        assert opt_object(absent, "a") == {}
    assert opt_object({"a": {"b": 1}}, "a") == {"b": 1}
    for wrong in (False, 0, "", [1]):
        with pytest.raises(Malformed) as caught:
            opt_object({"a": wrong}, "a", "x.a")
        assert caught.value.field == "x.a"


def test_numbers_are_no_switches() -> None:
    """An engine reads `true` as 1; null is absent, zero is a number."""
    assert dict(numbers({"a": 0, "b": None, "c": 0.5}, ("a", "b", "c", "d"))) == {"a": 0, "c": 0.5}
    for wrong in (True, False, "1", [1]):
        with pytest.raises(Malformed) as caught:
            list(numbers({"a": wrong}, ("a",)))
        assert caught.value.field == "a"
