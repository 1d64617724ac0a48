"""OpenAI endpoints: what passes untouched, and what does not (D15)."""

import json
from typing import Any

import pytest

from blazar.adapters.http.lane.job import Occasion
from blazar.adapters.http.lane.openai_jobs import chat, completion, usage_in
from blazar.domain import teaching
from blazar.domain.errors import EngineSaid, Malformed
from blazar.domain.wire.delta import Usage
from blazar.domain.wire.sampling import NUMBERS
from tests.support.lane_rig import DONE, SSE, Rig, chunk, run, usage_chunk, whole_chat

USER = [{"role": "user", "content": "hi"}]
CHAT = "/v1/chat/completions"
LAST = json.dumps(
    {
        "content": "",
        "stop": True,
        "stop_type": "eos",
        "tokens_predicted": 3,
        "tokens_evaluated": 28,
        "timings": {"prompt_n": 1, "cache_n": 27},
    }
).encode()
INFILLED = LAST.replace(b'"content": ""', b'"content": "return 42"').replace(b"eos", b"limit")
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
    """Before any model is loaded for it, and each endpoint asks for what it needs."""
    for made, raw, field in (
        (chat, b'{"model":"tiny"}', "messages"),
        (chat, b'{"model":"tiny","messages":null}', "messages"),
        (completion, b'{"model":"tiny"}', "prompt"),
        (completion, b'{"model":"tiny","prompt":null}', "prompt"),
    ):
        with pytest.raises(Malformed) as caught:
            made(raw)
        assert caught.value.field == field
    assert completion(b'{"model":"tiny","prompt":"x"}').call("tiny").path == b"/v1/completions"


def test_a_success_without_choices_is_a_failure() -> None:
    """mistral.rs answers 200 with an error object: that is a 502 with its words."""
    job = chat(raw_body())
    with pytest.raises(EngineSaid, match="step failed"):
        job.whole(HERE, b'{"choices":[],"error":{"message":"step failed"}}')
    for raw in (b"not json", b'{"choices":null}', b'{"choices" : "x"}', b'{"choices": [1]}', b'{"choices":[ ]}', b"{}"):
        with pytest.raises(EngineSaid):
            job.whole(HERE, raw)
    spaced = b'{"choices" : [ {"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}'
    assert job.whole(HERE, spaced).body == spaced


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


def test_what_the_engine_had_in_its_cache_counts() -> None:
    """In the usage's details, or in the engine's own timings, whichever says more."""
    counts = b'"usage":{"completion_tokens":4,"prompt_tokens":23,"prompt_tokens_details":{"cached_tokens":22}}'
    assert usage_in(b"{" + counts + b"}") == Usage(23, 4, 22)
    assert usage_in(b'{"usage":{"completion_tokens":4,"prompt_tokens":23},"timings":{"cache_n":9}}') == Usage(23, 4, 9)
    assert usage_in(b"{" + counts + b',"timings":{"cache_n":0}}') == Usage(23, 4, 22)


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"echo": True, "logprobs": 0}, "logprobs"),
        ({"echo": True, "prompt": [1, "a"]}, "echo"),
        ({"echo": "yes"}, "echo"),
        ({"echo": 0}, "echo"),
        ({"best_of": 3}, "best_of"),
        ({"best_of": True}, "best_of"),
        ({"suffix": "b", "echo": True}, "echo"),
        ({"suffix": "b", "best_of": 2}, "best_of"),
        ({"suffix": "b", "logprobs": 2}, "logprobs"),
        ({"suffix": "b", "prompt": ["a"]}, "prompt"),
        ({"suffix": "b", "prompt": None}, "prompt"),
        ({"suffix": 5}, "suffix"),
    ],
)
def test_what_the_engine_would_pass_over_is_refused_by_name(more: dict[str, Any], field: str) -> None:
    """Never an answer that is not the one asked for."""
    with pytest.raises(Malformed) as refused:
        completion(json.dumps({"model": "tiny", "prompt": "a", **more}).encode())
    assert refused.value.field == field


def test_best_of_is_refused_on_chat_too() -> None:
    """The passthrough lane makes one answer."""
    with pytest.raises(Malformed, match="best_of"):
        chat(raw_body(best_of=2))
    with pytest.raises(Malformed, match="echo"):
        chat(raw_body(echo=True))


@pytest.mark.parametrize("more", [{"echo": False}, {"best_of": 1}, {"suffix": ""}, {"suffix": None}, {"echo": None}])
def test_what_asks_for_nothing_is_taken_out(more: dict[str, Any]) -> None:
    """Clients send the defaults along; some builds refuse the names alone."""
    call = completion(json.dumps({"model": "tiny", "prompt": "a", "n": 1, **more}).encode()).call("tiny")
    assert call.path == b"/v1/completions"
    assert json.loads(call.body) == {"model": "tiny", "prompt": "a", "n": 1}


def test_a_suffix_goes_to_infill_and_comes_back_as_a_completion() -> None:
    """In one piece, with counts."""
    body = {"model": "tiny:latest", "prompt": "def f():", "suffix": "\n", "max_tokens": 9, "n": 1, "keep_alive": "1h"}

    async def test(rig: Rig) -> None:
        reply = await rig.post("/v1/completions", body)
        assert rig.exchange.call.path == b"/infill"
        asked = {
            "model": "tiny",
            "input_prefix": "def f():",
            "input_suffix": "\n",
            "max_tokens": 9,
            "n": 1,
            "stream": False,
        }
        assert rig.asked == asked
        await rig.answer(INFILLED)
        got = reply.json()
        assert (got["object"], got["model"]) == ("text_completion", "tiny:latest")
        assert got["choices"] == [{"index": 0, "text": "return 42", "logprobs": None, "finish_reason": "length"}]
        assert (got["usage"]["prompt_tokens"], got["usage"]["completion_tokens"]) == (28, 3)
        assert rig.records[0].prompt_tokens == 28
        assert rig.lease.released == [(3600.0, False)]

    run(test)


@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("size", [1, 9, 100_000])
def test_a_suffix_streams(size: int, counted: bool) -> None:
    """Events of a completion; the child's own stream has no end mark, ours has one."""
    body: dict[str, Any] = {"model": "tiny", "prompt": "a", "suffix": "b", "stream": True}
    if counted:
        body["stream_options"] = {"include_usage": True}
    pieces = [{"content": "return", "stop": False}, {"content": " 42", "stop": False}]
    raw = b"".join(b"data: " + json.dumps(piece).encode() + b"\n\n" for piece in pieces) + b"data: " + LAST + b"\n\n"

    async def test(rig: Rig) -> None:
        reply = await rig.post("/v1/completions", body)
        rig.exchange.head(200, SSE)
        for at in range(0, len(raw), size):
            rig.exchange.body(raw[at : at + size])
        rig.exchange.end()
        await rig.clock.settle()
        *events, last = reply.body.removesuffix(b"\n\n").split(b"\n\n")
        assert last == b"data: [DONE]"
        said = [json.loads(event.removeprefix(b"data: ")) for event in events]
        usage = said.pop() if counted else None
        assert "".join(event["choices"][0]["text"] for event in said) == "return 42"
        assert [event["choices"][0]["finish_reason"] for event in said] == [None, None, "stop"]
        assert usage is None or usage["usage"]["total_tokens"] == 31
        assert rig.records[0].completion_tokens == 3

    run(test)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", ["/v1/completions", "/api/generate"])
def test_a_model_without_infill_tokens_says_so(path: str, stream: bool) -> None:
    """A 400 that names the field, and nothing is held against the child."""

    async def test(rig: Rig) -> None:
        reply = await rig.post(path, {"model": "tiny", "prompt": "a", "suffix": "b", "stream": stream})
        await rig.answer(b'{"error":{"code":501,"message":"Infill is not supported by this model"}}', 501)
        assert reply.status == 400
        assert teaching.field_unsupported("suffix", teaching.infill_unsupported()) in reply.body.decode()
        if path == "/v1/completions":
            assert reply.json()["error"]["param"] == "suffix"
        assert rig.lease.released == [(None, False)]

    run(test)


def test_a_broken_infill_stream_ends_in_an_error() -> None:
    """Never an answer that looks whole (D9, D35)."""

    async def test(rig: Rig) -> None:
        reply = await rig.post("/v1/completions", {"model": "tiny", "prompt": "a", "suffix": "b", "stream": True})
        rig.exchange.head(200, SSE)
        rig.exchange.body(b'data: {"content":"return","stop":false}\n\n')
        rig.exchange.end()
        await rig.clock.settle()
        assert b'"error"' in reply.body
        assert b"[DONE]" not in reply.body

    run(test)


@pytest.mark.parametrize(
    ("more", "fields"),
    [
        ({"functions": [{"name": "f"}], "function_call": "auto"}, ["function_call", "functions"]),
        ({"verbosity": "low", "web_search_options": {}}, ["verbosity", "web_search_options"]),
        ({"modalities": ["text", "audio"], "audio": {"voice": "x"}}, ["audio", "modalities"]),
        ({"prediction": {"type": "content"}, "verbosity": "low"}, ["prediction", "verbosity"]),
        ({"store": False, "modalities": ["text"], "functions": None}, []),
        ({"user": "u", "metadata": {}, "service_tier": "auto"}, []),
    ],
)
def test_fields_that_the_engine_passes_over_are_named(more: dict[str, Any], fields: list[str]) -> None:
    """In the answer's header; the body is forwarded as it is (D11)."""
    job = chat(raw_body(**more))
    assert list(job.warnings) == [teaching.warn_ignored(field) for field in fields]


def test_a_format_on_a_raw_completion_is_named() -> None:
    """Engines read it on chat only, and here pass over it: no receipt either."""
    job = completion(b'{"model":"tiny","prompt":"a","response_format":{"type":"json_object"}}')
    assert list(job.warnings) == [teaching.warn_ignored("response_format")]
    assert job.constraint == ""
    assert completion(b'{"model":"tiny","prompt":"a","response_format":{"type":"text"}}').warnings == ()


@pytest.mark.parametrize("field", ["response_format", "json_schema"])
def test_beside_tools_the_tools_win(field: str) -> None:
    """The schema is dropped and named, there is no receipt; with tool_choice none the schema stays (E9)."""
    schema = {"type": "object"}
    given = (
        {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}
        if field == "response_format"
        else schema
    )
    tools = [{"type": "function", "function": {"name": "f"}}]
    job = chat(raw_body(tools=tools, **{field: given}))
    assert field not in json.loads(job.call("tiny").body)
    assert list(job.warnings) == [teaching.warn_ignored(field)]
    assert (job.constraint, job.schema) == ("", None)
    job = chat(raw_body(tools=tools, tool_choice="none", **{field: given}))
    assert field in json.loads(job.call("tiny").body)
    assert job.constraint == "json_schema"
    assert chat(raw_body(tools=tools, response_format={"type": "text"})).warnings == ()


@pytest.mark.parametrize("parameters", ["x", [], 5])
def test_a_tool_whose_schema_is_none_is_refused_by_its_place(parameters: Any) -> None:
    """An object of another standard is the engine's to take or refuse (C14); this is no schema at all."""
    with pytest.raises(Malformed) as refused:
        chat(raw_body(tools=[{"type": "function", "function": {"name": "f", "parameters": parameters}}]))
    assert refused.value.field == "tools[0].function.parameters"


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"stop": 5}, "stop"),
        ({"logit_bias": {"5": "x"}}, "logit_bias"),
        ({"reasoning_effort": 5}, "reasoning_effort"),
        ({"parallel_tool_calls": "no"}, "parallel_tool_calls"),
        ({"tool_choice": False}, "tool_choice"),
        ({"stream_options": False}, "stream_options"),
        *[({name: True}, name) for name in NUMBERS],
    ],
)
def test_what_the_engine_would_take_for_nothing_is_named(more: dict[str, Any], field: str) -> None:
    """Chats and raw completions alike; what it takes passes byte for byte."""
    for understand in (chat, completion):
        with pytest.raises(Malformed) as caught:
            understand(raw_body(prompt="x", **more))
        assert caught.value.field == field
    raw = raw_body(stop=["a", "b", "c", "d", "e"], logit_bias={"5": -100}, reasoning_effort="low")
    assert chat(raw).call("tiny").body is raw


def test_log_probabilities_of_a_raw_completion() -> None:
    """In the shape of a completion, whole and streamed; 0 asks for the chosen tokens' own."""
    told = {"content": [{"id": 1, "token": "a", "logprob": -1.0, "top_logprobs": [{"token": "a", "logprob": -1.0}]}]}
    choice = {"index": 0, "text": "a", "logprobs": told, "finish_reason": "stop"}
    answer = json.dumps({"choices": [choice], "model": "tiny", "usage": {"prompt_tokens": 2}}).encode()

    async def test(rig: Rig) -> None:
        reply = await rig.post("/v1/completions", {"model": "tiny", "prompt": "x", "logprobs": 2})
        await rig.answer(answer)
        assert reply.json()["choices"][0]["logprobs"]["top_logprobs"] == [{"a": -1.0}]
        reply = await rig.post("/v1/completions", {"model": "tiny", "prompt": "x", "logprobs": 0})
        assert rig.asked["logprobs"] == 1
        await rig.answer(answer)
        assert reply.json()["choices"][0]["logprobs"]["top_logprobs"] is None
        reply = await rig.post("/v1/completions", {"model": "tiny", "prompt": "x", "logprobs": 1, "stream": True})
        rig.exchange.head(200, SSE)
        rig.exchange.body(b"data: " + answer + b"\n\n" + DONE)
        rig.exchange.end()
        await rig.clock.settle()
        said = json.loads(reply.body.splitlines()[0][6:])
        assert said["choices"][0]["logprobs"]["tokens"] == ["a"]
        assert "usage" not in said

    run(test)


def test_a_grammar_of_a_chat_has_its_receipt() -> None:
    """In the engine's own field."""

    async def test(rig: Rig) -> None:
        form = {"type": "gbnf", "grammar": "root ::= x"}
        reply = await rig.post(CHAT, {"model": "tiny", "messages": USER, "response_format": form})
        assert rig.asked == {"model": "tiny", "messages": USER, "grammar": "root ::= x"}
        await rig.answer(whole_chat())
        assert reply.header(b"x-blazar-structured-output") == [b"gbnf"]

    run(test)


@pytest.mark.parametrize("field", ["n", "logprobs"])
def test_a_suffix_is_for_one_text(field: str) -> None:
    """What has no meaning in a gap is refused by its name."""
    with pytest.raises(Malformed) as caught:
        completion(raw_body(prompt="a", suffix="b", **{field: 2}))
    assert caught.value.field == field
    completion(raw_body(prompt="a", suffix="b", n=1, logprobs=0))


def test_where_calls_may_not_be_parallel_one_comes() -> None:
    """Whole and streamed; an answer of one call, and any where they may be, passes as it came (D15)."""
    call = {"type": "function", "id": "c", "function": {"name": "f", "arguments": "{}"}}
    for calls, parallel, left in ((2, False, 1), (1, False, 1), (2, True, 2), (2, None, 2)):

        async def test(rig: Rig, calls: int = calls, parallel: bool | None = parallel, left: int = left) -> None:
            asked = {"model": "tiny", "messages": [{"role": "user", "content": "a"}], "parallel_tool_calls": parallel}
            told = [{**call, "index": at, "id": f"c{at}"} for at in range(calls)]
            whole = whole_chat().replace(b'"content":"hello"', b'"tool_calls":' + json.dumps(told).encode())
            reply = await rig.post("/v1/chat/completions", asked)
            await rig.answer(whole)
            assert len(reply.json()["choices"][0]["message"]["tool_calls"]) == left
            assert left != calls or reply.body == whole
            reply = await rig.post("/v1/chat/completions", {**asked, "stream": True})
            rig.exchange.head(200, SSE)
            rig.exchange.body(b"".join(chunk(tool_calls=[one]) for one in told) + chunk(finish="tool_calls") + DONE)
            rig.exchange.end()
            await rig.clock.settle()
            assert reply.body.count(b'"id":"c0"') == 1
            assert reply.body.count(b'"tool_calls":') == left

        run(test)


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_completion_tokens": 0}, "max_completion_tokens"),
        ({"top_logprobs": 25}, "top_logprobs"),
        ({"metadata": "x"}, "metadata"),
        ({"reasoning_effort": "bogus"}, "reasoning_effort"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"tool_choice": "required", "tools": []}, "tool_choice"),
    ],
)
def test_what_a_chat_cannot_be_asked_is_named(more: dict[str, Any], field: str) -> None:
    """Without a parse of the body: the members are seen anyway."""
    with pytest.raises(Malformed) as caught:
        chat(raw_body(**more))
    assert caught.value.field == field


@pytest.mark.parametrize(
    "field", ["max_tokens", "max_completion_tokens", "n_predict", "top_k", "n_probs", "repeat_last_n"]
)
def test_a_number_that_would_wrap_is_as_many_as_there_are(field: str) -> None:
    """4294967301 tokens are 5 to an engine. Others pass in their own bytes."""
    job = chat(raw_body(**{field: 4294967301}))
    assert json.loads(job.call("tiny").body)[field] == 2**31 - 1
    raw = raw_body(**{field: 2**31 - 1})
    assert chat(raw).call("tiny").body is raw
    assert json.loads(completion(raw_body(prompt="x", max_tokens=0)).call("tiny").body)["max_tokens"] == 0
