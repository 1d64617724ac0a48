"""The OpenAI stream filter; recordings and nasty forms are under tests/contract/wire."""

from blazar.domain.wire.delta import Failed, Usage
from blazar.domain.wire.openai_stream import StreamFilter
from tests.contract.wire.chunks import DONE, USAGE, call, chunk, decode, event, payloads, tools

FAIL = {"error": {"message": "gone", "type": "blazar_error", "param": None, "code": 502}}


def test_whole_plain_events_pass_as_the_same_bytes() -> None:
    """No copy, no parse: the decoder is never asked."""

    def never(payload: bytes) -> object:
        raise AssertionError(payload)

    passing = StreamFilter(never, "m", drop_usage=True)  # type: ignore[arg-type]
    data = chunk({"content": "a"}) + chunk({"content": "b"}, "stop")
    assert passing.feed(data) is data


def test_an_event_waits_for_its_end() -> None:
    """What passes is whole events: a failure may come between any two pieces."""
    passing = StreamFilter(decode, "m", drop_usage=True)
    data = chunk({"content": "a"})
    assert passing.feed(data[:-1]) == b""
    assert passing.feed(data[-1:]) == data


def test_usage_is_seen_and_dropped() -> None:
    """The caller did not ask, accounting did."""
    passing = StreamFilter(decode, "m", drop_usage=True)
    assert passing.feed(chunk(finish="stop") + USAGE + DONE) == chunk(finish="stop") + DONE
    assert passing.usage == Usage(5, 2, 1)
    assert passing.done
    assert passing.flush() == b""


def test_usage_on_a_chunk_with_choices_is_not_the_trailing_one() -> None:
    """Only exactly that chunk is dropped."""
    last = chunk(finish="stop", usage={"prompt_tokens": 1, "completion_tokens": 1})
    passing = StreamFilter(decode, "m", drop_usage=True)
    assert passing.feed(last + DONE) == last + DONE
    assert passing.usage == Usage(1, 1)


def test_a_broken_connection_ends_in_one_error_event() -> None:
    """No `[DONE]`, half an event is not forwarded, and nothing follows (D35)."""
    passing = StreamFilter(decode, "m", drop_usage=True)
    passing.feed(chunk({"content": "a"}) + chunk({"content": "b"})[:20])
    assert payloads(passing.fail(Failed(502, "gone"))) == [FAIL]
    assert passing.failed == Failed(502, "gone")
    assert passing.feed(DONE) == passing.flush() == passing.fail(Failed(502, "again")) == b""


def test_a_failure_after_the_end_is_none() -> None:
    """The stream was whole."""
    passing = StreamFilter(decode, "m", drop_usage=True)
    passing.feed(chunk(finish="stop") + DONE)
    assert passing.fail(Failed(502, "late")) == b""
    assert passing.failed is None


def test_an_error_frame_becomes_ours_and_the_last() -> None:
    """Status and text are the child's, the shape is everywhere the same (D10, D7)."""
    passing = StreamFilter(decode, "m", drop_usage=True)
    out = passing.feed(
        chunk({"content": "a"}) + event({"error": {"code": 500, "message": "bad"}}) + chunk({"content": "b"}) + DONE
    )
    assert payloads(out)[1:] == [{"error": {"message": "bad", "type": "blazar_error", "param": None, "code": 500}}]


def test_an_endless_event_is_refused() -> None:
    """Bounded memory here too."""
    passing = StreamFilter(decode, "m", drop_usage=True)
    assert passing.feed(b"data: {" + b"x" * (8 * 2**20 - 50)) == b""
    out = passing.feed(b"x" * 100)
    assert "8 MiB" in payloads(out)[0]["error"]["message"]
    assert passing.feed(chunk({"content": "a"})) == b""


def test_a_made_up_id_is_unique_to_the_request() -> None:
    """Two turns of a conversation must not share call ids."""
    passing = StreamFilter(decode, "m", drop_usage=True, id="plm-7")
    (item,) = payloads(passing.feed(tools(call(None, None, "f", "{}"))))
    assert item["choices"][0]["delta"]["tool_calls"] == [
        {"index": 0, "id": "call_plm-7_0", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    ]
    assert item["model"] == "m"


def test_the_childs_name_is_replaced_on_the_fast_way_too() -> None:
    """Known beforehand or not, the caller's name stands in every event (A22)."""
    for child in ("m", "", "unknown"):
        passing = StreamFilter(decode, "mine", drop_usage=True, child=child)
        out = passing.feed(chunk({"content": '"model":"m"'}) * 2)
        assert [item["model"] for item in payloads(out)] == ["mine", "mine"]
        assert [item["choices"][0]["delta"]["content"] for item in payloads(out)] == ['"model":"m"'] * 2


def test_odd_an_end_behind_events_without_a_choice_is_mistral_rs_s_failed_step() -> None:
    """An error before any byte, whatever counts they bring; an end after nothing at all is an empty answer."""
    for before in (event({"choices": []}), USAGE, event({"choices": []}) + USAGE):
        passing = StreamFilter(decode, "m", drop_usage=False)
        out = passing.feed(before) + passing.feed(DONE)
        assert passing.failed is not None
        assert (passing.failed.status, next(iter(payloads(out)))["error"]["code"]) == (502, 502)
        assert out.count(b"data: ") == 1


def test_what_comes_before_the_answer_is_held_back() -> None:
    """An event without a choice says nothing yet; behind the first answer it passes."""
    passing = StreamFilter(decode, "m", drop_usage=False)
    empty = b'data: {"choices":[],"model":"m"}\n\n'
    assert passing.feed(empty) == b""
    assert passing.feed(chunk({"content": "a"})) == chunk({"content": "a"})
    assert passing.feed(empty) == empty


def test_a_byte_order_mark_hides_nothing() -> None:
    """Behind it the first event is an event: it is renamed (A22), and an error in it is one. Clients get none of it."""
    path = event({"choices": [{"index": 0, "delta": {"content": "a"}}], "model": "/srv/x.gguf"})
    for slices in ([b"\xef\xbb\xbf" + path + DONE], [b"\xef", b"\xbb\xbf" + path, DONE]):
        passing = StreamFilter(decode, "m", drop_usage=False)
        out = b"".join(passing.feed(data) for data in slices)
        assert out.startswith(b"data: ")
        assert payloads(out)[0]["model"] == "m"
    passing = StreamFilter(decode, "m", drop_usage=False)
    passing.feed(b"\xef\xbb\xbf" + event({"error": {"code": 503, "message": "busy"}}))
    assert passing.failed == Failed(503, "busy")


def test_alone_leaves_out_every_call_but_the_first() -> None:
    """Its own events go; a finish that came with one stays, and so does everything else to the byte."""
    first, second = tools(call(0, "c", "f", "{}")), tools(call(1, "d", "g", "{}"))
    end = chunk({"tool_calls": [call(1, args=" ")]}, "tool_calls") + DONE
    passing = StreamFilter(decode, "m", drop_usage=True, alone=True)
    assert passing.feed(first) == first
    assert passing.feed(second) == b""
    assert passing.feed(end) == chunk({}, "tool_calls") + DONE
