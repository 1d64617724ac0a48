"""The two kinds of stream: how they end, and what they say in silence."""

from hypothesis import given
from hypothesis import strategies as st

from blazar.adapters.http.lane.codec import decode_chunk
from blazar.adapters.http.lane.job import Occasion
from blazar.adapters.http.lane.streams import COMMENT, EVENT_STREAM, NDJSON, Passthrough, Translated
from blazar.domain.wire.child import ChildReader
from blazar.domain.wire.delta import Failed
from blazar.domain.wire.ollama_stream import NdjsonWriter
from blazar.domain.wire.turn import Shape, Turn
from tests.support.lane_rig import DONE, chunk, usage_chunk

HERE = Occasion("tiny", "plm-1-1", 0.0, 0.0, lambda: 0.0)
BROKEN = b'data: {"error":{"message":"boom","code":500}}\n\n'


def ndjson() -> Translated:
    """An ollama stream."""
    return Translated(
        ChildReader(decode_chunk, "tiny"), NdjsonWriter(Shape.CHAT, Turn("tiny"), lambda: 0.0), NDJSON, bytes
    )


def passthrough() -> Passthrough:
    """An OpenAI stream."""
    return Passthrough("tiny", HERE, drop_usage=True)


def test_kind_and_silence() -> None:
    """Events may be interleaved with comments, lines may not."""
    assert (passthrough().content_type, passthrough().beat()) == (EVENT_STREAM, COMMENT)
    assert (ndjson().content_type, ndjson().beat()) == (NDJSON, b"")


def test_usage_is_known_at_the_end() -> None:
    """Whether or not the caller sees it."""
    for stream in (passthrough(), ndjson()):
        stream.feed(chunk("a") + chunk(finish="stop") + usage_chunk(3, 2) + DONE)
        stream.flush()
        assert stream.usage is not None
        assert (stream.usage.prompt, stream.usage.completion) == (3, 2)
        assert stream.failed is None


def test_whether_a_failed_stream_spoke() -> None:
    """Decides between a real status and an error inside the stream (case C12)."""
    for make in (passthrough, ndjson):
        silent, spoken = make(), make()
        assert not silent.spoke(silent.feed(BROKEN))
        assert silent.failed == Failed(500, "boom")
        assert spoken.spoke(spoken.feed(chunk("a") + BROKEN))


def test_words_of_an_error_are_not_taken_for_events() -> None:
    """An engine may quote a stream in its message; a comment before it says nothing either."""
    silent = passthrough()
    assert not silent.spoke(silent.feed(b": ping\n\n" + BROKEN.replace(b"boom", b"expected data: not \\ndata: this")))


def test_nothing_follows_the_end() -> None:
    """A connection that breaks after `[DONE]` does not turn a whole answer into a broken one."""
    for stream in (passthrough(), ndjson()):
        stream.feed(chunk("a") + chunk(finish="stop") + DONE)
        assert stream.fail(Failed(502, "late")) == b""


PIECES = [
    chunk(""),
    chunk(" "),
    chunk("word"),
    chunk(reasoning_content="hm"),
    chunk('"content":"fake'),
    chunk(tool_calls=[{"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a":'}}]),
    chunk(tool_calls=[{"index": 0, "function": {"arguments": '"\\"finish_reason\\":\\"length\\""}'}}]),
]


@given(
    st.lists(st.sampled_from(PIECES), max_size=6),
    st.sampled_from(["stop", "length", "tool_calls"]),
    st.lists(st.integers(0, 4000), max_size=6),
)
def test_what_is_seen_of_a_stream_is_the_same_however_it_is_read_and_cut(
    pieces: list[bytes], finish: str, cuts: list[int]
) -> None:
    """The bytes that nobody decodes tell what the reader's deltas tell: words, thinking, calls, the end."""
    raw = b"".join([*pieces, chunk(finish=finish), usage_chunk(), DONE])
    seen = []
    for stream in (passthrough(), ndjson()):
        before = 0
        for cut in (*sorted(cut for cut in cuts if cut < len(raw)), len(raw)):
            stream.feed(raw[before:cut])
            assert stream.failed is not None or len(stream.seen()) <= 1
            before = cut
        stream.flush()
        seen.append(stream.seen())
    one, other = (
        # Where there are calls nobody asks for words, and where there are words nobody asks for thoughts.
        [
            (it.words or bool(it.calls), it.thought and not it.words, it.finish == "length", it.tokens, it.calls)
            for it in them
        ]
        for them in seen
    )
    if other and other[0][4]:
        one, other = [it[2:] for it in one], [it[2:] for it in other]
    assert one == other


def test_nothing_is_seen_of_what_breaks_or_goes_on() -> None:
    """Nothing is known of an answer that is not whole."""
    for make in (passthrough, ndjson):
        going, broken = make(), make()
        going.feed(chunk("a"))
        assert going.seen() == ()
        broken.feed(chunk("a") + BROKEN)
        broken.flush()
        assert broken.seen() == ()
