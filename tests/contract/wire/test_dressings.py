"""Recorded streams as other servers and proxies would have framed them: every dialect says the same, however they are dressed and sliced."""

import random
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blazar.adapters.http.lane import codec
from blazar.domain.wire.child import ChildReader
from blazar.domain.wire.completions import TextFilter
from blazar.domain.wire.delta import Delta
from tests.contract.wire.chunks import RECORDED, WRITERS, bytewise, filtered, payloads, reading, written
from tests.contract.wire.test_recorded import FAILING, STREAMS, recorded

BOM = b"\xef\xbb\xbf"
DATA = re.compile(rb"^data: ?", re.MULTILINE)


def between(stream: bytes, what: bytes) -> bytes:
    """`what` before every event and behind the last."""
    events = stream.split(b"\n\n")
    return b"".join(what + event + b"\n\n" for event in events if event) + what


def fields(stream: bytes) -> bytes:
    """Each event with the fields that servers add, before and behind its data."""
    events = [event for event in stream.split(b"\n\n") if event]
    return b"".join(
        b"event: message\nid: %d\nretry: 3000\n%b\nid: {not json}\n\n" % (at, event) for at, event in enumerate(events)
    )


def in_lines(stream: bytes) -> bytes:
    """Each event's JSON over several data lines, as a server that writes it indented does."""
    return stream.replace(b'"choices":', b'\ndata: "choices":\ndata: ').replace(
        b'{\ndata: "choices"', b'{\ndata:"choices"'
    )


DRESSINGS: dict[str, Callable[[bytes], bytes]] = {
    "as it came": lambda stream: stream,
    "CRLF": lambda stream: stream.replace(b"\n", b"\r\n"),
    "CR": lambda stream: stream.replace(b"\n", b"\r"),
    "mixed ends": lambda stream: stream.replace(b"\n\n", b"\r\n\n"),
    "comments": lambda stream: between(stream, b":\n\n: keep alive\n\n"),
    "comments inside events": lambda stream: DATA.sub(b": ping\ndata:", stream),
    "blank lines": lambda stream: between(stream, b"\n\n\n"),
    "BOM": lambda stream: BOM + stream,
    "BOM, CRLF and comments": lambda stream: BOM + between(stream, b": hi\n\n").replace(b"\n", b"\r\n"),
    "fields": fields,
    "no space": lambda stream: DATA.sub(b"data:", stream),
    "several data lines": in_lines,
    "no last blank line": lambda stream: stream.rstrip(b"\n") + b"\n",
    "no last line end": lambda stream: stream.rstrip(b"\n"),
}


def split_at_random(stream: bytes, seed: int) -> list[bytes]:
    """Slices of a few bytes and of many, some of them empty; the same for a seed."""
    dice = random.Random(seed)
    cuts = sorted(dice.randrange(len(stream) + 1) for _ in range(dice.choice((1, 3, 20, 200))))
    return [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]


def lane_reading(slices: list[bytes]) -> list[Delta]:
    """As `reading`, by the decoder that the daemon uses."""
    reader = ChildReader(codec.decode_chunk, "m")
    return [delta for data in slices for delta in reader.feed(data)] + reader.flush()


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("dressing", DRESSINGS)
def test_the_reader_sees_through_every_dressing(name: str, dressing: str) -> None:
    """Whole, byte by byte and in random slices, by both decoders: the deltas of the stream as the engine sent it."""
    plain = reading(recorded(name))
    dressed = DRESSINGS[dressing](recorded(name))
    assert reading(dressed) == plain
    assert reading(bytewise(dressed)) == plain
    for seed in range(2):
        assert lane_reading(split_at_random(dressed, seed)) == plain


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("dialect", WRITERS)
def test_every_writer_says_the_same_of_every_dressing(name: str, dialect: str) -> None:
    """The client's bytes are those of the plain stream, in random slices."""
    plain = written([recorded(name)], WRITERS[dialect]())
    for seed, dress in enumerate(DRESSINGS.values()):
        dressed = dress(recorded(name))
        assert written(split_at_random(dressed, seed), WRITERS[dialect]()) == plain


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("dressing", DRESSINGS)
def test_openai_clients_read_the_same_of_every_dressing(name: str, dressing: str) -> None:
    """What the filter forwards may be dressed as it came, but says the same, under the caller's name, and never half an event."""
    dressed = DRESSINGS[dressing](recorded(name))
    for drop in (True, False):
        plain = payloads(filtered([recorded(name)], "mine", drop=drop, child="scripted"))
        whole = filtered([dressed], "mine", drop=drop, child="scripted")
        assert payloads(whole) == plain
        assert filtered(bytewise(dressed), "mine", drop=drop, child="scripted") == whole
        for seed in range(2):
            assert filtered(split_at_random(dressed, seed), "mine", drop=drop, child="scripted") == whole


def completed(slices: list[bytes], *, drop: bool) -> bytes:
    """A whole stream of raw completions through their filter."""
    passing = TextFilter(codec.decode_chunk, "mine", drop, "scripted", bare=False)
    return b"".join([passing.feed(data) for data in slices] + [passing.flush()])


@pytest.mark.parametrize("name", ["completion", "completion_logprobs", "unicode"])
@pytest.mark.parametrize("dressing", DRESSINGS)
def test_raw_completions_are_the_same_in_every_dressing(name: str, dressing: str) -> None:
    """Their filter counts offsets and moves usage behind the choices, however the events came."""
    dressed = DRESSINGS[dressing](recorded(name))
    for drop in (True, False):
        plain = payloads(completed([recorded(name)], drop=drop))
        assert payloads(completed([dressed], drop=drop)) == plain
        assert payloads(completed(bytewise(dressed), drop=drop)) == plain
        assert payloads(completed(split_at_random(dressed, 3), drop=drop)) == plain
        assert [bool(item.get("usage")) for item in plain[-2:-1]] == [not drop]


@pytest.mark.parametrize("dressing", DRESSINGS)
def test_nothing_of_a_dressing_looks_like_an_event_to_a_client(dressing: str) -> None:
    """Forwarded lines are data, comments and the standard's fields, with the ends that every client knows."""
    raw = filtered([DRESSINGS[dressing](recorded("tool"))], "mine", child="scripted")
    assert b"\r" not in raw
    known = (b"data:", b":", b"event:", b"id:", b"retry:")
    assert [line for line in raw.split(b"\n") if line and not line.startswith(known)] == []


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_no_way_to_slice_a_stream_changes_it(data: Any) -> None:
    """Any recording, any dressing, any cuts, any writer."""
    name = data.draw(st.sampled_from(STREAMS))
    dressed = DRESSINGS[data.draw(st.sampled_from(sorted(DRESSINGS)))](recorded(name))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(dressed)), max_size=12)))
    slices = [dressed[start:end] for start, end in zip([0, *cuts], [*cuts, len(dressed)], strict=True)]
    make = WRITERS[data.draw(st.sampled_from(sorted(WRITERS)))]
    assert written(slices, make()) == written([recorded(name)], make())
    assert payloads(filtered(slices)) == payloads(filtered([recorded(name)]))


@pytest.mark.parametrize("name", sorted(set(STREAMS) - FAILING))
@pytest.mark.parametrize("dialect", WRITERS)
def test_no_cut_stream_looks_whole(name: str, dialect: str) -> None:
    """A stream that ends between two events, or inside one, before it said why: the end of an error in every dialect (D9)."""
    events = [event + b"\n\n" for event in recorded(name).split(b"\n\n") if event]
    told = next(at for at, event in enumerate(events) if b'"finish_reason":"' in event)
    for kept in {0, 1, told // 2, told}:
        head = b"".join(events[:kept])
        for cut in (head, head + events[kept][: len(events[kept]) // 2]):
            raw = written([cut], WRITERS[dialect]())
            assert raw.count(b"error") >= 1
            for word in (b'"done":true', b"message_stop", b"response.completed", b"response.incomplete"):
                assert word not in raw
            end = payloads(filtered([cut]))
            assert set(end[-1]) == {"error"}
            assert "[DONE]" not in end


def test_recordings_hold_what_dressings_change() -> None:
    """Each dressing really changes the stream, else it proves nothing."""
    for name, dress in DRESSINGS.items():
        assert (dress(recorded("tool")) != recorded("tool")) == (name != "as it came")
    assert len(list(RECORDED.glob("*.sse"))) == len(STREAMS)
