"""The PyPI package `ollama`: chats and prompts, whole and streamed. Its tools, models, vectors and the rest are in the modules beside it."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from tests.matrix.raising import raised
from tests.matrix.registry import Client, Target
from tests.support.scripted_gguf import CONCLUSION, HELLO, HELLO_TOKENS, THOUGHT, TICK, TOCK

OLLAMA = Client("ollama (PyPI)", needs=("module:ollama",))
FEW = {"num_predict": 8, "temperature": 0, "seed": 1}


def connect(target: Target, warned: list[str] | None = None) -> Any:
    """A client; `warned` collects what `x-blazar-warning` says, which the package itself keeps to itself."""
    import ollama

    def note(response: Any) -> None:
        if warned is not None and "x-blazar-warning" in response.headers:
            warned.append(response.headers["x-blazar-warning"])

    headers = {"authorization": f"Bearer {target.key}"}
    return ollama.Client(host=target.url, headers=headers, timeout=120, event_hooks={"response": [note]})


def with_async(target: Target, work: Callable[[Any], Awaitable[None]]) -> None:
    """Do `work` with an asynchronous client, which is closed afterwards."""
    import ollama

    async def run() -> None:
        async with ollama.AsyncClient(
            host=target.url, headers={"authorization": f"Bearer {target.key}"}, timeout=120
        ) as client:
            await work(client)

    asyncio.run(run())


def said(text: str, **more: Any) -> list[dict[str, Any]]:
    """A conversation of one turn."""
    return [{"role": "user", "content": text, **more}]


@OLLAMA.check("/api/chat")
def a_chat_has_text_counts_and_times(target: Target) -> None:
    with connect(target) as client:
        got = client.chat(target.model("scripted"), said("Hi"))
    assert (got.message.role, got.message.content) == ("assistant", HELLO)
    assert (got.done, got.done_reason, got.eval_count) == (True, "stop", HELLO_TOKENS)
    assert got.prompt_eval_count > 0
    assert got.total_duration >= got.eval_duration > 0
    assert got.created_at.startswith("20")


@OLLAMA.check("/api/chat", stream=True)
def a_chat_streams_as_it_answers_whole(target: Target) -> None:
    with connect(target) as client:
        whole = client.chat(target.model("scripted"), said("Hi"))
        lines = list(client.chat(target.model("scripted"), said("Hi"), stream=True))
    assert "".join(line.message.content or "" for line in lines) == HELLO
    assert [line.done for line in lines] == [False] * (len(lines) - 1) + [True]
    assert len(lines) > 3
    last = lines[-1]
    assert (last.done_reason, last.eval_count) == ("stop", HELLO_TOKENS)
    assert last.prompt_eval_count == whole.prompt_eval_count


@OLLAMA.check("/api/chat")
def num_predict_ends_the_answer(target: Target) -> None:
    with connect(target) as client:
        got = client.chat(target.model("scripted"), said("long"), options={"num_predict": 4})
    assert got.message.content.strip() == (2 * (TICK + TOCK)).strip()
    assert (got.done_reason, got.eval_count) == ("length", 4)


@OLLAMA.check("/api/chat")
def a_stop_word_ends_the_answer(target: Target) -> None:
    with connect(target) as client:
        got = client.chat(target.model("scripted"), said("long"), options={"stop": ["tock"], "num_predict": 20})
    assert (got.message.content.strip(), got.done_reason) == ("tick", "stop")


@OLLAMA.check("/api/chat")
def every_option_of_sampling_is_taken(target: Target) -> None:
    import ollama

    warned: list[str] = []
    options = ollama.Options(
        num_predict=4,
        num_keep=1,
        seed=3,
        temperature=0.5,
        top_k=20,
        top_p=0.9,
        typical_p=0.9,
        repeat_last_n=16,
        repeat_penalty=1.1,
        presence_penalty=0.1,
        frequency_penalty=0.1,
        stop=["never"],
    )
    with connect(target, warned) as client:
        got = client.chat(target.model("chat"), said("Count."), options=options)
    assert got.message.content
    assert warned == []


@OLLAMA.check("/api/chat")
def options_about_loading_are_named_in_a_warning(target: Target) -> None:
    warned: list[str] = []
    with connect(target, warned) as client:
        got = client.chat(target.model("scripted"), said("Hi"), options={"num_gpu": 1, "numa": True, "num_predict": 20})
    assert got.message.content == HELLO
    assert "num_gpu" in warned[0]
    assert "numa" in warned[0]


@OLLAMA.check("/api/chat")
def one_seed_gives_one_answer(target: Target) -> None:
    options = {"num_predict": 8, "temperature": 1.0, "seed": 42}
    with connect(target) as client:
        texts = {
            client.chat(target.model("chat"), said("Say a word."), options=options).message.content for _ in range(2)
        }
    assert len(texts) == 1


@OLLAMA.check("/api/chat")
def a_smaller_window_does_not_load_again(target: Target) -> None:
    with connect(target) as client:
        for window in (1024, 2048, 1024):
            got = client.chat(target.model("scripted"), said("Hi"), options={"num_ctx": window})
            assert got.message.content == HELLO
            assert not got.load_duration or got.load_duration < 100_000_000


@OLLAMA.check("/api/chat")
def earlier_turns_and_the_system_are_part_of_the_prompt(target: Target) -> None:
    turns = [
        {"role": "system", "content": "Be brief and kind to everybody."},
        *said("My name is Zebulon."),
        {"role": "assistant", "content": "Noted."},
    ]
    with connect(target) as client:
        alone = client.chat(target.model("scripted"), said("And?"))
        after = client.chat(target.model("scripted"), [*turns, *said("And?")])
    assert after.prompt_eval_count > alone.prompt_eval_count + 20


@OLLAMA.check("/api/chat", stream=True)
def an_answer_goes_on_from_words_put_into_its_mouth(target: Target) -> None:
    begun = "The capital of France is"
    turns = [*said("What is the capital of France?"), {"role": "assistant", "content": begun}]
    with connect(target) as client:
        whole = client.chat(target.model("chat"), turns, options=FEW).message.content
        lines = client.chat(target.model("chat"), turns, options=FEW, stream=True)
        streamed = "".join(line.message.content or "" for line in lines)
    assert whole == streamed
    assert whole.strip()
    assert not whole.startswith(begun)


@OLLAMA.check("/api/chat")
def no_messages_only_load(target: Target) -> None:
    with connect(target) as client:
        got = client.chat(target.model("scripted"))
    assert (got.done, got.done_reason, got.message.content) == (True, "load", "")


@OLLAMA.check("/api/chat", schema=True)
def format_json_is_json(target: Target) -> None:
    with connect(target) as client:
        got = client.chat(target.model("scripted"), said("x"), format="json", options={"num_predict": 60})
    assert isinstance(json.loads(got.message.content), dict)


@OLLAMA.check("/api/chat", schema=True)
def the_schema_of_a_class_is_kept(target: Target) -> None:
    from pydantic import BaseModel

    class City(BaseModel):
        name: str
        people: int
        tags: list[str]

    with connect(target) as client:
        got = client.chat(
            target.model("scripted"), said("x"), format=City.model_json_schema(), options={"num_predict": 100}
        )
    assert set(City.model_validate_json(got.message.content).model_dump()) == {"name", "people", "tags"}


@OLLAMA.check("/api/chat", stream=True, schema=True)
def a_schema_is_kept_in_a_stream(target: Target) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    with connect(target) as client:
        lines = client.chat(target.model("scripted"), said("x"), format=schema, stream=True)
        text = "".join(line.message.content or "" for line in lines)
    assert isinstance(json.loads(text)["n"], int)


@OLLAMA.check("/api/chat", schema=True, error="ResponseError")
def another_format_is_refused(target: Target) -> None:
    import ollama

    with connect(target) as client:
        body = {"model": target.model("scripted"), "messages": said("x"), "format": "yaml", "stream": False}
        error = raised(
            ollama.ResponseError, lambda: client._request(ollama.ChatResponse, "POST", "/api/chat", json=body)
        )
    assert error.status_code == 400
    assert "format" in error.error


@OLLAMA.check("/api/chat")
def thoughts_are_a_field_of_their_own(target: Target) -> None:
    with connect(target) as client:
        got = client.chat(target.model("scripted"), said("think"), think=True)
    assert got.message.thinking.strip() == THOUGHT.strip()
    assert got.message.content.strip() == CONCLUSION


@OLLAMA.check("/api/chat", stream=True)
def thoughts_stream_before_the_text(target: Target) -> None:
    with connect(target) as client:
        lines = list(client.chat(target.model("scripted"), said("think"), think=True, stream=True))
    kinds = [bool(line.message.thinking) for line in lines[:-1]]
    assert kinds == sorted(kinds, reverse=True)
    assert "".join(line.message.thinking or "" for line in lines).strip() == THOUGHT.strip()
    assert "".join(line.message.content or "" for line in lines).strip() == CONCLUSION


@OLLAMA.check("/api/chat")
def no_thoughts_where_none_are_wanted(target: Target) -> None:
    with connect(target) as client:
        got = client.chat(target.model("scripted"), said("think"), think=False, options={"num_predict": 20})
    assert not got.message.thinking


@OLLAMA.check("/api/chat")
def every_depth_of_thinking_is_taken(target: Target) -> None:
    with connect(target) as client:
        for depth in ("low", "medium", "high"):
            assert client.chat(target.model("scripted"), said("think"), think=depth).message.thinking


@OLLAMA.check("/api/chat")
def thoughts_may_be_given_back(target: Target) -> None:
    with connect(target) as client:
        first = client.chat(target.model("scripted"), said("think"), think=True)
        second = client.chat(
            target.model("scripted"), [*said("think"), first.message, *said("think again")], think=True
        )
    assert second.message.thinking
    assert second.prompt_eval_count > first.prompt_eval_count


@OLLAMA.check("/api/chat", stream=True)
def a_chat_that_is_left_early_frees_its_place(target: Target) -> None:
    with connect(target) as client:
        for _ in range(3):
            lines = client.chat(target.model("scripted"), said("long"), options={"num_predict": 50_000}, stream=True)
            assert next(lines).message.content.startswith("tick")
            lines.close()
        assert client.chat(target.model("scripted"), said("Hi")).message.content == HELLO


@OLLAMA.check("/api/generate")
def a_prompt_is_answered_like_a_chat(target: Target) -> None:
    with connect(target) as client:
        got = client.generate(target.model("scripted"), "Hi")
        chat = client.chat(target.model("scripted"), said("Hi"))
    assert (got.response, got.done_reason, got.eval_count) == (HELLO, "stop", HELLO_TOKENS)
    assert got.prompt_eval_count == chat.prompt_eval_count
    assert got.context


@OLLAMA.check("/api/generate", stream=True)
def a_prompt_streams(target: Target) -> None:
    with connect(target) as client:
        lines = list(client.generate(target.model("scripted"), "Hi", stream=True))
    assert "".join(line.response for line in lines) == HELLO
    assert [line.done for line in lines].count(True) == 1
    assert lines[-1].context


@OLLAMA.check("/api/generate")
def a_raw_prompt_has_no_template(target: Target) -> None:
    with connect(target) as client:
        raw = client.generate(target.model("chat"), "Once upon a time", raw=True, options=FEW)
        turn = client.generate(target.model("chat"), "Once upon a time", options=FEW)
    assert raw.response
    assert 0 < raw.prompt_eval_count < turn.prompt_eval_count
    assert not raw.context


@OLLAMA.check("/api/generate")
def a_system_of_the_requests_own(target: Target) -> None:
    with connect(target) as client:
        turns = [{"role": "system", "content": "Be brief."}, *said("Hi")]
        chat = client.chat(target.model("chat"), turns, options=FEW)
        got = client.generate(target.model("chat"), "Hi", system="Be brief.", options=FEW)
    assert (got.response, got.prompt_eval_count) == (chat.message.content, chat.prompt_eval_count)


@OLLAMA.check("/api/generate", error="ResponseError")
def a_template_that_cannot_be_read_is_refused(target: Target) -> None:
    import ollama

    with connect(target) as client:
        error = raised(
            ollama.ResponseError,
            lambda: client.generate(target.model("chat"), "Hi", template="{{ .Prompt", options=FEW),
        )
    assert error.status_code == 400
    assert "template" in error.error


@OLLAMA.check("/api/generate", stream=True)
def a_gap_is_filled_as_the_raw_prompt_is_written(target: Target) -> None:
    with connect(target) as client:
        pieces = list(client.generate(target.model("scripted"), "def f():\n    ", suffix="\nf()\n", stream=True))
    assert "".join(piece.response for piece in pieces) == "return 42"
    assert pieces[-1].done_reason == "stop"


@OLLAMA.check("/api/generate", stream=True)
def a_context_goes_on_in_a_stream(target: Target) -> None:
    with connect(target) as client:
        first = client.generate(target.model("scripted"), "My name is Zebulon.")
        last = list(client.generate(target.model("scripted"), "And?", context=first.context, stream=True))[-1]
    assert last.prompt_eval_count > first.prompt_eval_count
    assert len(last.context) > len(first.context)


@OLLAMA.check("/api/generate", schema=True)
def a_prompts_answer_has_its_form(target: Target) -> None:
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
    with connect(target) as client:
        got = client.generate(target.model("scripted"), "x", format=schema, options={"num_predict": 40})
    assert isinstance(json.loads(got.response)["ok"], bool)


@OLLAMA.check("/api/generate")
def a_prompts_thoughts_are_a_field_of_their_own(target: Target) -> None:
    with connect(target) as client:
        got = client.generate(target.model("scripted"), "think", think=True)
    assert got.thinking.strip() == THOUGHT.strip()
    assert got.response.strip() == CONCLUSION


@OLLAMA.check("/api/generate")
def probabilities_are_rows_of_tokens(target: Target) -> None:
    with connect(target) as client:
        got = client.generate(target.model("scripted"), "Hi", logprobs=True, top_logprobs=2)
    assert "".join(row.token for row in got.logprobs) == HELLO
    assert all(row.logprob <= 0 and len(row.top_logprobs or ()) <= 2 for row in got.logprobs)
    assert (
        len(got.logprobs[0].top_logprobs) == 2
    )  # llama-server has none of tokens that were guessed ahead; this never is


@OLLAMA.check("/api/generate")
def keep_alive_is_kept_or_sends_away(target: Target) -> None:
    name = target.model("scripted")
    with connect(target) as client:
        for stay in ("5m", "1h30m", 300, "300", -1, "-1m", 0.5):
            assert client.generate(name, "", keep_alive=stay).done_reason == "load"
            assert name in {row.model for row in client.ps().models}
        assert client.generate(name, "", keep_alive=0).done_reason == "unload"
        assert name not in {row.model for row in client.ps().models}
        assert client.generate(name, "Hi").response == HELLO


@OLLAMA.check("/api/generate", error="ResponseError")
def a_keep_alive_that_says_nothing_is_refused(target: Target) -> None:
    import ollama

    with connect(target) as client:
        error = raised(
            ollama.ResponseError, lambda: client.generate(target.model("scripted"), "Hi", keep_alive="for a while")
        )
    assert error.status_code == 400
    assert "keep_alive" in error.error


@OLLAMA.check("/api/chat", stream=True)
def the_asynchronous_client_chats(target: Target) -> None:
    async def work(client: Any) -> None:
        whole = await client.chat(target.model("scripted"), said("Hi"))
        lines = [line async for line in await client.chat(target.model("scripted"), said("Hi"), stream=True)]
        assert whole.message.content == "".join(line.message.content or "" for line in lines) == HELLO

    with_async(target, work)


@OLLAMA.check("/api/generate", stream=True)
def the_asynchronous_client_generates(target: Target) -> None:
    async def work(client: Any) -> None:
        lines = [line async for line in await client.generate(target.model("scripted"), "Hi", stream=True)]
        assert "".join(line.response for line in lines) == HELLO

    with_async(target, work)


@OLLAMA.check("/api/chat")
def eight_at_once_all_get_their_answer(target: Target) -> None:
    async def work(client: Any) -> None:
        asked = [
            client.chat(target.model("scripted"), said("long"), options={"num_predict": number})
            for number in range(1, 9)
        ]
        assert [one.eval_count for one in await asyncio.gather(*asked)] == list(range(1, 9))

    with_async(target, work)
