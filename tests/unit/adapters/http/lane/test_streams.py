"""The two kinds of stream: how they end, and what they say in silence."""

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


def test_nothing_follows_the_end() -> None:
    """A connection that breaks after `[DONE]` does not turn a whole answer into a broken one."""
    for stream in (passthrough(), ndjson()):
        stream.feed(chunk("a") + chunk(finish="stop") + DONE)
        assert stream.fail(Failed(502, "late")) == b""
