"""The PyPI package `openai`, synchronous: chats that are text. Its other routes are in the modules beside this one."""

from typing import Any

from tests.matrix.raising import raised
from tests.matrix.registry import Client, Target
from tests.support.scripted_gguf import CONCLUSION, HELLO, HELLO_TOKENS, THOUGHT

OPENAI = Client("openai (PyPI)", needs=("module:openai",))
CHAT = "/v1/chat/completions"
HI: Any = [{"role": "user", "content": "hi"}]
LONG: Any = [{"role": "user", "content": "long"}]
SAY: Any = [{"role": "user", "content": "Say hello."}]


def connect(target: Target) -> Any:
    """A client without retries of its own: the first answer counts."""
    import openai

    return openai.OpenAI(base_url=target.v1, api_key=target.key, max_retries=0, timeout=120)


def refused(kind: str, ask: Any, **fields: Any) -> Any:
    """The error of the class `kind` that the client raises."""
    import openai

    error = raised(openai.OpenAIError, lambda: ask(**fields))
    assert type(error).__name__ == kind, f"{type(error).__name__}: {error}"
    return error


def soothe(client: Any, target: Target) -> None:
    """An answer of the engine that plays recordings: one that errs three times in a row is taken for sick and stopped."""
    assert client.chat.completions.create(model=target.model("played"), messages=HI).choices[0].message.content


def counts(usage: Any) -> tuple[int, int, int]:
    """The three counts of a chat or a completion."""
    return usage.prompt_tokens, usage.completion_tokens, usage.total_tokens


@OPENAI.check(CHAT)
def a_chat_answers_with_text_and_usage(target: Target) -> None:
    with connect(target) as client:
        got = client.chat.completions.create(model=target.model("chat"), messages=SAY, max_tokens=12)
    assert got.choices[0].message.content
    assert got.usage.total_tokens == got.usage.prompt_tokens + got.usage.completion_tokens > 0


@OPENAI.check(CHAT)
def a_chat_says_exactly_what_the_model_says(target: Target) -> None:
    with connect(target) as client:
        got = client.chat.completions.create(model=target.model("scripted"), messages=HI)
    assert (got.object, got.model, got.id.startswith("chatcmpl-")) == (
        "chat.completion",
        target.model("scripted"),
        True,
    )
    (choice,) = got.choices
    assert (choice.index, choice.finish_reason, choice.message.role) == (0, "stop", "assistant")
    assert choice.message.content == HELLO
    assert not choice.message.tool_calls
    assert got.usage.completion_tokens == HELLO_TOKENS


@OPENAI.check(CHAT, stream=True)
def a_stream_brings_the_same_text_and_ends_once(target: Target) -> None:
    with connect(target) as client:
        chunks = list(client.chat.completions.create(model=target.model("scripted"), messages=HI, stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == HELLO
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices[0].finish_reason] == ["stop"]
    assert chunks[-1].choices[0].finish_reason == "stop"
    assert [chunk.choices[0].delta.role for chunk in chunks if chunk.choices[0].delta.role] == ["assistant"]
    assert {(chunk.id, chunk.created, chunk.object, chunk.model) for chunk in chunks} == {
        (chunks[0].id, chunks[0].created, "chat.completion.chunk", target.model("scripted"))
    }
    assert all(chunk.usage is None for chunk in chunks)


@OPENAI.check(CHAT, stream=True)
def usage_is_the_same_streamed(target: Target) -> None:
    ask = {"model": target.model("scripted"), "messages": HI}
    with connect(target) as client:
        whole = client.chat.completions.create(**ask)
        chunks = list(client.chat.completions.create(**ask, stream=True, stream_options={"include_usage": True}))
    assert [chunk.usage is not None for chunk in chunks].count(True) == 1
    assert (chunks[-1].choices, counts(chunks[-1].usage)) == ([], counts(whole.usage))


@OPENAI.check(CHAT, stream=True)
def the_stream_helper_tells_deltas_and_the_whole(target: Target) -> None:
    with (
        connect(target) as client,
        client.chat.completions.stream(model=target.model("scripted"), messages=HI) as stream,
    ):
        events = list(stream)
        final = stream.get_final_completion()
    deltas = [event for event in events if event.type == "content.delta"]
    assert len(deltas) > 1
    assert "".join(event.delta for event in deltas) == deltas[-1].snapshot == HELLO
    (done,) = [event for event in events if event.type == "content.done"]
    assert done.content == final.choices[0].message.content == HELLO
    assert final.choices[0].finish_reason == "stop"


@OPENAI.check(CHAT)
def a_limit_ends_an_answer_with_length(target: Target) -> None:
    with connect(target) as client:
        old = client.chat.completions.create(model=target.model("scripted"), messages=LONG, max_tokens=5)
        new = client.chat.completions.create(model=target.model("scripted"), messages=LONG, max_completion_tokens=5)
    for got in (old, new):
        assert (got.choices[0].finish_reason, got.usage.completion_tokens) == ("length", 5)
        assert got.choices[0].message.content.startswith("tick tock")


@OPENAI.check(CHAT)
def a_stop_sequence_ends_an_answer_and_is_not_in_it(target: Target) -> None:
    with connect(target) as client:
        got = client.chat.completions.create(model=target.model("scripted"), messages=LONG, stop="tock", max_tokens=20)
        list_ = client.chat.completions.create(model=target.model("scripted"), messages=HI, stop=["x", " model"])
    assert (got.choices[0].message.content.strip(), got.choices[0].finish_reason) == ("tick", "stop")
    assert (list_.choices[0].message.content, list_.choices[0].finish_reason) == ("Hello from the scripted", "stop")


@OPENAI.check(CHAT, stream=True)
def a_stop_sequence_is_not_in_a_stream(target: Target) -> None:
    with connect(target) as client:
        chunks = list(
            client.chat.completions.create(
                model=target.model("scripted"), messages=LONG, stop=["tock"], max_tokens=20, stream=True
            )
        )
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks).strip() == "tick"


@OPENAI.check(CHAT)
def several_choices_are_numbered(target: Target) -> None:
    ask = {"model": target.model("scripted"), "messages": HI}
    with connect(target) as client:
        one = client.chat.completions.create(**ask)
        got = client.chat.completions.create(**ask, n=3)
    assert [(choice.index, choice.message.content) for choice in got.choices] == [(n, HELLO) for n in range(3)]
    assert (got.usage.prompt_tokens, got.usage.completion_tokens) == (one.usage.prompt_tokens, 3 * HELLO_TOKENS)


@OPENAI.check(CHAT, stream=True)
def several_choices_go_through_the_accumulator(target: Target) -> None:
    with (
        connect(target) as client,
        client.chat.completions.stream(
            model=target.model("scripted"), messages=HI, n=2, stream_options={"include_usage": True}
        ) as stream,
    ):
        final = stream.get_final_completion()
    assert [(choice.index, choice.message.content) for choice in final.choices] == [(0, HELLO), (1, HELLO)]
    assert final.usage.completion_tokens == 2 * HELLO_TOKENS


@OPENAI.check(CHAT)
def log_probabilities_stand_by_each_token(target: Target) -> None:
    with connect(target) as client:
        got = client.chat.completions.create(
            model=target.model("scripted"), messages=HI, logprobs=True, top_logprobs=3, temperature=0
        )
    told = [one for one in got.choices[0].logprobs.content if one.token]  # engines tell the end of the text as one more
    assert "".join(one.token for one in told) == HELLO
    assert all(one.logprob <= 0 and len(one.top_logprobs) == 3 for one in told)
    assert all(one.top_logprobs[0].token == one.token for one in told)
    assert bytes(byte for one in told for byte in one.bytes).decode() == HELLO


@OPENAI.check(CHAT, stream=True)
def log_probabilities_are_streamed(target: Target) -> None:
    with (
        connect(target) as client,
        client.chat.completions.stream(model=target.model("scripted"), messages=HI, logprobs=True) as stream,
    ):
        events = list(stream)
    (done,) = [event for event in events if event.type == "logprobs.content.done"]
    assert "".join(one.token for one in done.content) == HELLO


@OPENAI.check(CHAT)
def a_bias_forbids_a_token(target: Target) -> None:
    ask = {"model": target.model("chat"), "messages": SAY, "max_tokens": 1, "temperature": 0}
    with connect(target) as client:
        first = client.chat.completions.create(**ask).choices[0].message.content
        cut = client.post(f"{target.url}/tokenize", body={"model": ask["model"], "content": first}, cast_to=object)
        got = client.chat.completions.create(**ask, logit_bias={str(cut["tokens"][0]): -100})
    assert got.choices[0].message.content != first


@OPENAI.check(CHAT)
def a_seed_makes_an_answer_again(target: Target) -> None:
    ask = {"model": target.model("chat"), "messages": SAY, "max_tokens": 8, "temperature": 1.5, "top_p": 0.95}
    with connect(target) as client:
        said = [client.chat.completions.create(**ask, seed=seed).choices[0].message.content for seed in (11, 11)]
    assert said[0]
    assert said[0] == said[1]


@OPENAI.check(CHAT)
def sampling_fields_are_taken(target: Target) -> None:
    with connect(target) as client:
        got = client.chat.completions.with_raw_response.create(
            model=target.model("scripted"),
            messages=HI,
            temperature=0.5,
            top_p=0.9,
            frequency_penalty=0.1,
            presence_penalty=-0.1,
            user="somebody",
            metadata={"a": "b"},
            service_tier="auto",
        )
    assert got.parse().choices[0].message.content == HELLO
    assert "x-blazar-warning" not in got.headers


@OPENAI.check(CHAT)
def what_has_no_effect_is_named_in_a_warning(target: Target) -> None:
    with connect(target) as client:
        got = client.chat.completions.with_raw_response.create(
            model=target.model("scripted"), messages=HI, verbosity="low", prediction={"type": "content", "content": "x"}
        )
    assert got.parse().choices[0].message.content == HELLO
    told = ",".join(got.headers.get_list("x-blazar-warning"))
    assert "'verbosity'" in told
    assert "'prediction'" in told


@OPENAI.check(CHAT)
def explicit_nulls_mean_absent(target: Target) -> None:
    nothing = ("seed", "stop", "tools", "response_format", "temperature", "max_tokens", "n", "logprobs", "tool_choice")
    with connect(target) as client:
        got = client.chat.completions.create(
            model=target.model("scripted"), messages=HI, extra_body=dict.fromkeys(nothing)
        )
    assert got.choices[0].message.content == HELLO


@OPENAI.check(CHAT)
def roles_and_parts_are_read(target: Target) -> None:
    messages: Any = [
        {"role": "system", "content": "Be brief."},
        {"role": "developer", "content": [{"type": "text", "text": "Be polite."}]},
        {"role": "user", "name": "ada", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        {"role": "assistant", "content": "c", "refusal": None},
        {"role": "system", "content": "Be late."},
        {"role": "user", "content": '["looks", "like", "JSON"]'},
    ]
    with connect(target) as client:
        got = client.chat.completions.create(model=target.model("scripted"), messages=messages)
        less = client.chat.completions.create(model=target.model("scripted"), messages=messages[-1:])
    assert got.choices[0].message.content == HELLO
    assert got.usage.prompt_tokens > less.usage.prompt_tokens


@OPENAI.check(CHAT)
def reasoning_is_apart_from_the_answer(target: Target) -> None:
    ask = {"model": target.model("scripted"), "messages": [{"role": "user", "content": "think"}]}
    with connect(target) as client:
        message = client.chat.completions.create(**ask).choices[0].message
        silent = client.chat.completions.create(**ask, reasoning_effort="none").choices[0].message
        low = client.chat.completions.create(**ask, reasoning_effort="low").choices[0].message
    assert message.content.strip() == silent.content.strip() == low.content.strip() == CONCLUSION
    assert message.reasoning_content.strip() == THOUGHT.strip()
    assert "<think>" not in message.content + silent.content


@OPENAI.check(CHAT, stream=True)
def reasoning_is_streamed_before_the_answer(target: Target) -> None:
    asked: Any = [{"role": "user", "content": "think"}]
    with connect(target) as client:
        chunks = list(client.chat.completions.create(model=target.model("scripted"), messages=asked, stream=True))
    deltas = [chunk.choices[0].delta for chunk in chunks]
    thought = [at for at, delta in enumerate(deltas) if getattr(delta, "reasoning_content", None)]
    said = [at for at, delta in enumerate(deltas) if (delta.content or "").strip()]
    assert "".join(deltas[at].reasoning_content for at in thought).strip() == THOUGHT.strip()
    assert "".join(delta.content or "" for delta in deltas).strip() == CONCLUSION
    assert max(thought) < min(said)


@OPENAI.check(CHAT, stream=True)
def any_script_survives(target: Target) -> None:
    text = "Grüße, 世界! 👩‍👩‍👧 \u202eلعربية\u0000\ud7ff"
    with connect(target) as client:
        cut = client.post(
            f"{target.url}/tokenize", body={"model": target.model("chat"), "content": text}, cast_to=object
        )
        back = client.post(f"{target.url}/detokenize", body={"model": target.model("chat"), **cut}, cast_to=object)
        grammar = f'root ::= "{text[:-2]}"'
        ask = {"model": target.model("scripted"), "messages": [{"role": "user", "content": text}], "max_tokens": 90}
        form = {"response_format": {"type": "gbnf", "grammar": grammar}}
        chunks = list(client.chat.completions.create(**ask, stream=True, extra_body=form))
    assert back["content"].lstrip() == text
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == text[:-2]


@OPENAI.check(CHAT, stream=True)
def a_stream_that_is_left_frees_its_place(target: Target) -> None:
    ask: Any = {"model": target.model("scripted"), "messages": LONG, "stream": True}
    with connect(target) as client:
        for _ in range(3):
            with client.chat.completions.create(**ask) as stream:
                first = next(iter(stream))
            assert first.choices
        got = client.chat.completions.create(model=target.model("scripted"), messages=HI, timeout=20)
    assert got.choices[0].message.content == HELLO


@OPENAI.check(CHAT, error="APITimeoutError")
def a_client_that_gives_up_frees_its_place(target: Target) -> None:
    with connect(target) as client:
        refused(
            "APITimeoutError",
            client.with_options(timeout=0.4).chat.completions.create,
            model=target.model("scripted"),
            messages=LONG,
        )
        got = client.chat.completions.create(model=target.model("scripted"), messages=HI, timeout=20)
    assert got.choices[0].message.content == HELLO


@OPENAI.check(CHAT)
def a_raw_response_shows_headers(target: Target) -> None:
    with connect(target) as client:
        raw = client.chat.completions.with_raw_response.create(model=target.model("scripted"), messages=HI)
        got = raw.parse()
    assert raw.http_response.status_code == 200
    assert raw.headers["content-type"].startswith("application/json")
    assert got._request_id == raw.request_id == raw.headers["x-request-id"] == raw.headers["x-blazar-trace-id"]
    assert got._request_id.startswith("plm-")


@OPENAI.check(CHAT, stream=True)
def a_streaming_response_is_read_line_by_line(target: Target) -> None:
    with (
        connect(target) as client,
        client.chat.completions.with_streaming_response.create(
            model=target.model("scripted"), messages=HI, stream=True
        ) as response,
    ):
        kind, request = response.headers["content-type"], response.headers["x-request-id"]
        lines = [line for line in response.iter_lines() if line]
    assert kind.startswith("text/event-stream")
    assert request.startswith("plm-")
    assert all(line.startswith("data: ") for line in lines)
    assert lines[-1] == "data: [DONE]"


@OPENAI.check(CHAT)
def a_trace_of_ones_own_comes_back(target: Target) -> None:
    with connect(target) as client:
        got = client.chat.completions.create(
            model=target.model("scripted"), messages=HI, extra_headers={"x-blazar-trace-id": "plm-abcdef-7"}
        )
    assert got._request_id == "plm-abcdef-7"
