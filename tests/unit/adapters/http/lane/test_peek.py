"""The partial decode."""

import msgspec
import pytest

from blazar.adapters.http.lane.peek import peek, stream_of
from blazar.domain import teaching
from blazar.domain.errors import Malformed


def test_the_members_that_decide_are_seen() -> None:
    """Model, stream, options and keep_alive, wherever they stand; the rest is skipped."""
    seen = peek(
        b'{"messages":[{"model":"no"}],"stream":true,"keep_alive":0,"model":"m","stream_options":{"include_usage":true}}'
    )
    assert (seen.model, seen.stream, seen.keep_alive) == ("m", True, 0)
    assert seen.stream_options == {"include_usage": True}


def test_null_is_absent() -> None:
    """`"stream":null` is no wish (case A13); a present keep_alive is present even as null."""
    seen = peek(b'{"model":"m","stream":null,"keep_alive":null}')
    assert seen.stream is False
    assert seen.keep_alive is None
    assert peek(b'{"model":"m"}').keep_alive is msgspec.UNSET


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        (b'{"stream":true}', "model"),
        (b'{"model":1}', "model"),
        (b'{"model":""}', "model"),
        (b'{"model":"m","stream":"yes"}', "stream"),
    ],
)
def test_a_wrong_member_is_named(raw: bytes, field: str) -> None:
    """The refusal says which field."""
    with pytest.raises(Malformed) as caught:
        peek(raw)
    assert caught.value.field == field


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b'{"model":"m","a":"\xff"}',
        b'{"model":"m"}x',
        b'{"model":"m","a":NaN}',
        b'{"model":"m","a":' + b"[" * 100_000,
        b'{"model":"m","a":1e400,"keep_alive":1e400}',
    ],
)
def test_what_is_not_json_is_refused(raw: bytes) -> None:
    """Also where the fault lies in a part that is skipped (case A21)."""
    with pytest.raises(Malformed, match="not valid JSON"):
        peek(raw)


@pytest.mark.parametrize("raw", [b"[]", b'"x"', b"null", b"1"])
def test_what_is_no_object_is_refused(raw: bytes) -> None:
    """JSON, but not a request."""
    with pytest.raises(Malformed) as caught:
        peek(raw)
    assert str(caught.value) == teaching.body_not_object()


def test_the_default_of_stream_is_the_dialects() -> None:
    """Ollama streams unless told not to."""
    assert stream_of(None, default=True) is True
    assert stream_of(False, default=True) is False


@pytest.mark.parametrize(
    ("members", "offers"),
    [
        (b"", False),
        (b',"tools":null', False),
        (b',"tools":[ \n]', False),
        (b',"tools":[{}]', True),
        (b',"tools":[{}],"tool_choice":"none"', False),
        (b',"tools":[{}],"tool_choice":{"type":"function"}', True),
        (b',"tools":"odd"', True),
    ],
)
def test_tools_are_seen_without_being_read(members: bytes, offers: bool) -> None:
    """What nobody may call is no offer."""
    assert peek(b'{"model":"m"%b}' % members).offers_tools is offers
