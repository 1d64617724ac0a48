"""OpenAI endpoints: what passes untouched, and what does not (D15)."""

import json
from typing import Any

import pytest

from blazar.adapters.http.lane.job import Occasion
from blazar.adapters.http.lane.openai_jobs import chat, completion, usage_in
from blazar.domain.errors import EngineSaid, Malformed
from blazar.domain.wire.delta import Usage
from tests.support.lane_rig import DONE, SSE, Rig, chunk, run, usage_chunk, whole_chat

USER = [{"role": "user", "content": "hi"}]
CHAT = "/v1/chat/completions"
HERE = Occasion("tiny", "plm-1-1", 0.0, 0.0, lambda: 0.0)


def raw_body(**more: Any) -> bytes:
    """A request with odd spacing, to see whether bytes survive."""
    return json.dumps({"model": "tiny", "messages": USER, **more}, indent=1).encode()


@pytest.mark.parametrize(
    "more", [{}, {"temperature": 0.5}, {"stream": False}, {"tools": [{"type": "function", "function": {"name": "f"}}]}]
)
def test_bytes_pass_when_no_trigger_applies(more: dict[str, Any]) -> None:
    """The child gets the very bytes, to the last space."""
    raw = raw_body(**more)
    assert chat(raw).call("tiny").body is raw


def test_a_stream_that_asked_for_usage_passes_both_ways() -> None:
    """Request and answer are the same bytes."""
    raw = raw_body(stream=True, stream_options={"include_usage": True})
    answer = chunk("a") + chunk(finish="stop") + usage_chunk() + DONE

    async def test(rig: Rig) -> None:
        reply = await rig.post(CHAT, raw)
        assert rig.exchange.call.body == raw
        rig.exchange.head(200, SSE)
        rig.exchange.body(answer)
        rig.exchange.end()
        assert reply.body == answer
        await rig.clock.settle()
        assert (rig.records[0].prompt_tokens, rig.records[0].completion_tokens) == (11, 7)

    run(test)


@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_usage_that_was_not_asked_for_is_dropped(size: int) -> None:
    """The child is asked for it, and exactly the trailing chunk stays out, however reads are cut (case A7)."""
    answer = chunk("a") + chunk("b") + chunk(finish="stop") + usage_chunk() + DONE

    async def test(rig: Rig) -> None:
        reply = await rig.post(CHAT, raw_body(stream=True))
        assert rig.asked["stream_options"] == {"include_usage": True}
        rig.exchange.head(200, SSE)
        for at in range(0, len(answer), size):
            rig.exchange.body(answer[at : at + size])
        rig.exchange.end()
        assert reply.body == chunk("a") + chunk("b") + chunk(finish="stop") + DONE
        await rig.clock.settle()
        assert rig.records[0].prompt_tokens == 11

    run(test)


def test_nulls_are_absent() -> None:
    """Every optional null is dropped before the child sees it (case A13)."""
    names = ("seed", "stop", "temperature", "tools", "response_format", "stream_options", "max_tokens", "stream")
    body = json.loads(chat(raw_body(**dict.fromkeys(names))).call("tiny").body)
    assert body == {"model": "tiny", "messages": USER}


def test_the_childs_name_goes_in_and_the_callers_comes_out() -> None:
    """A name by which only we know the model never reaches the child; a path of the child's never reaches the caller (A22)."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(CHAT, {"model": "tiny:latest", "stream": True, "messages": USER})
        assert rig.asked["model"] == "tiny"
        rig.exchange.head(200, SSE)
        rig.exchange.body(chunk("a", model="/home/u/x.gguf") + chunk(finish="stop", model="tiny") + DONE)
        rig.exchange.end()
        assert b"gguf" not in reply.body
        assert reply.body.count(b'"model":"tiny:latest"') == 2

    run(test)


def test_keep_alive_is_stripped_even_when_null() -> None:
    """No engine knows the field."""
    job = chat(raw_body(keep_alive=None))
    assert job.keep_alive is None
    assert b"keep_alive" not in job.call("tiny").body
    assert chat(raw_body(keep_alive="1h")).keep_alive == 3600


def test_a_body_without_messages_or_prompt_is_refused() -> None:
    """Before any model is loaded for it."""
    with pytest.raises(Malformed):
        chat(b'{"model":"tiny"}')
    assert completion(b'{"model":"tiny","prompt":"x"}').call("tiny").path == b"/v1/completions"


def test_a_success_without_choices_is_a_failure() -> None:
    """mistral.rs answers 200 with an error object: that is a 502 with its words."""
    job = chat(raw_body())
    with pytest.raises(EngineSaid, match="step failed"):
        job.whole(HERE, b'{"choices":[],"error":{"message":"step failed"}}')
    with pytest.raises(EngineSaid):
        job.whole(HERE, b"not json")


def test_a_reply_that_needs_no_change_is_the_same_object() -> None:
    """No copy of an answer is made."""
    raw = whole_chat()
    assert chat(raw_body()).whole(HERE, raw).body is raw


def test_usage_is_scanned_not_parsed() -> None:
    """From the end of an answer or the beginning of an embedding; text that looks like it is not."""
    assert usage_in(whole_chat()) == Usage(11, 7)
    assert usage_in(
        b'{"model":"e","usage":{"prompt_tokens":3,"total_tokens":3},"data":[' + b"1," * 9000 + b"1]}"
    ) == Usage(3, 0)
    assert usage_in(whole_chat('"prompt_tokens":99,"completion_tokens":98')) == Usage(11, 7)
    assert usage_in(b"{}") is None
