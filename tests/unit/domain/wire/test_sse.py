"""Events out of bytes and into bytes."""

from blazar.domain.wire.sse import EventSplitter, data_event, data_of, named_event


def split(data: bytes, limit: int = 1000) -> list[bytes]:
    splitter = EventSplitter(limit)
    return splitter.feed(data) + splitter.flush()


def test_only_data_is_data() -> None:
    """Comments, names, ids and retry times carry nothing (B13)."""
    assert split(b": ping\n\n:\n\nevent: x\nid: 1\nretry: 2\ndata: a\n\nevent: y\n\ndatax: no\n\n") == [b"a"]


def test_lines_of_one_event_are_joined() -> None:
    """Several data lines are one payload; one leading space belongs to the syntax."""
    assert split(b"data: a\ndata:b\ndata\ndata:  c\n\n") == [b"a\nb\n\n c"]


def test_an_empty_data_line_is_an_event() -> None:
    """`data:` alone is an event with an empty payload."""
    assert split(b"data:\n\n") == [b""]


def test_odd_a_last_event_without_its_blank_line_counts() -> None:
    """Engines that end in `[DONE]` and nothing more are understood."""
    assert split(b"data: a\n\ndata: [DONE]") == [b"a", b"[DONE]"]
    assert split(b"data: a\n\ndata: [DONE]\n") == [b"a", b"[DONE]"]


def test_a_byte_order_mark_is_skipped_once() -> None:
    """Only at the very beginning."""
    assert split(b"\xef\xbb\xbfdata: a\n\n\xef\xbb\xbfdata: b\n\n") == [b"a"]


def test_an_event_of_many_lines_is_bounded() -> None:
    """What is held counts, not how it was written."""
    splitter = EventSplitter(limit=20)
    for _ in range(5):
        splitter.feed(b"data: 12345678\n")
    assert splitter.overflowed
    assert splitter.flush() == []


def test_a_long_line_overflows_after_the_events_before_it() -> None:
    """What was complete is still delivered."""
    splitter = EventSplitter(limit=20)
    assert splitter.feed(b"data: a\n\ndata: " + b"x" * 30) == [b"a"]
    assert splitter.overflowed


def test_encoders() -> None:
    """Both kinds of event."""
    assert data_event(b"{}") == b"data: {}\n\n"
    assert named_event(b"ping", b"{}") == b"event: ping\ndata: {}\n\n"


def test_the_data_of_an_events_lines() -> None:
    """Only data counts, with or without a space, joined over lines; an event without any has none."""
    assert data_of([b"event: x", b"data: {", b": ping", b"data:}"]) == b"{\n}"
    assert data_of([b"data: "]) == data_of([b"data:"]) == b""
    assert data_of([b": ping"]) is data_of([b"id: 1"]) is data_of([b""]) is None
