"""The PyPI package `anthropic`: counting, batches, models, headers of betas, pictures, and what it raises."""

import asyncio
import time
from functools import partial
from typing import Any

from tests.matrix.clients.anthropic_python import ANTHROPIC, HELLO, connect, only_text, said, with_async
from tests.matrix.clients.anthropic_python_tools import ADD, THINKING
from tests.matrix.raising import raised
from tests.matrix.registry import Target

PATIENCE = 60.0
"""Seconds until a batch has to be through."""
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def refusal(kind: type[Exception], ask: Any, **asked: Any) -> Any:
    """What a call is refused with."""
    return raised(kind, partial(ask, **asked))


def _counts_agree(target: Target, role: str, **asked: Any) -> None:
    with connect(target) as client:
        counted = client.messages.count_tokens(model=target.model(role), **asked)
        real = client.messages.create(model=target.model(role), max_tokens=1, **asked)
    assert counted.input_tokens == real.usage.input_tokens > 0


@ANTHROPIC.check("/v1/messages/count_tokens")
def a_count_is_the_calls_own(target: Target) -> None:
    _counts_agree(target, "chat", messages=said("How many tokens am I?"))


@ANTHROPIC.check("/v1/messages/count_tokens")
def the_system_counts(target: Target) -> None:
    _counts_agree(target, "chat", system=[{"type": "text", "text": "Be brief and kind."}], messages=said("Hello."))


@ANTHROPIC.check("/v1/messages/count_tokens", tools=True)
def tools_count(target: Target) -> None:
    _counts_agree(target, "scripted", tools=[ADD], messages=said("add"))
    with connect(target) as client:
        asked = {"model": target.model("scripted"), "messages": said("add")}
        bare, armed = client.messages.count_tokens(**asked), client.messages.count_tokens(**asked, tools=[ADD])
    assert armed.input_tokens > bare.input_tokens + 20


@ANTHROPIC.check("/v1/messages/count_tokens", tools=True)
def calls_and_results_count(target: Target) -> None:
    call = {"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 1, "b": 2}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "3"}
    turns = [*said("add"), {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    _counts_agree(target, "scripted", tools=[ADD], messages=turns)


@ANTHROPIC.check("/v1/messages/count_tokens")
def thinking_counts_as_in_the_call(target: Target) -> None:
    with connect(target) as client:
        asked = {"model": target.model("scripted"), "thinking": THINKING, "messages": said("think")}
        counted = client.messages.count_tokens(**asked)
        real = client.messages.create(**asked, max_tokens=2000)
    assert counted.input_tokens == real.usage.input_tokens


@ANTHROPIC.check("/v1/messages/count_tokens")
def the_beta_half_counts_too(target: Target) -> None:
    with connect(target) as client:
        asked = {"model": target.model("chat"), "messages": said("Hello.")}
        assert client.beta.messages.count_tokens(**asked).input_tokens > 0


@ANTHROPIC.check("/v1/messages/count_tokens", error="NotFoundError")
def counting_for_an_unknown_model_is_not_found(target: Target) -> None:
    import anthropic

    with connect(target) as client:
        error = refusal(
            anthropic.NotFoundError, client.messages.count_tokens, model="no-such-model", messages=said("x")
        )
    assert "no-such-model" in error.message


def _requests(target: Target) -> list[dict[str, Any]]:
    model = target.model("scripted")
    good = {"model": model, "max_tokens": 20, "messages": said("Hi")}
    bad = {"model": "no-such-model", "max_tokens": 20, "messages": said("Hi")}
    return [{"custom_id": "good", "params": good}, {"custom_id": "bad", "params": bad}]


@ANTHROPIC.check("/v1/messages/batches")
def a_batch_runs_to_its_results(target: Target) -> None:
    with connect(target) as client:
        batch = client.messages.batches.create(requests=_requests(target))
        assert (batch.type, batch.request_counts.processing) == ("message_batch", 2)
        batch = _ended(client, batch.id)
        results = {line.custom_id: line.result for line in client.messages.batches.results(batch.id)}
        client.messages.batches.delete(batch.id)
    assert (batch.request_counts.succeeded, batch.request_counts.errored) == (1, 1)
    assert results["good"].type == "succeeded"
    assert only_text(results["good"].message) == HELLO
    assert results["bad"].type == "errored"
    assert results["bad"].error.error.type == "not_found_error"


def _ended(client: Any, name: str) -> Any:
    deadline = time.monotonic() + PATIENCE
    while (batch := client.messages.batches.retrieve(name)).processing_status != "ended":
        assert time.monotonic() < deadline, batch
        time.sleep(0.05)  # the way this client has: there is nothing to wait on
    return batch


@ANTHROPIC.check("/v1/messages/batches")
def batches_are_listed_page_by_page(target: Target) -> None:
    with connect(target) as client:
        made = [client.messages.batches.create(requests=_requests(target)[:1]).id for _ in range(3)]
        page = client.messages.batches.list(limit=2)
        seen = [one.id for one, _ in zip(page, range(3), strict=False)]
        for name in made:
            _ended(client, name)
            client.messages.batches.delete(name)
    assert page.has_more
    assert seen == made[::-1]


@ANTHROPIC.check("/v1/messages/batches")
def a_batch_can_be_cancelled(target: Target) -> None:
    params = {"model": target.model("scripted"), "max_tokens": 1000, "messages": said("long")}
    with connect(target) as client:
        requests = [{"custom_id": f"r{number}", "params": params} for number in range(20)]
        batch = client.messages.batches.create(requests=requests)
        assert client.messages.batches.cancel(batch.id).processing_status in ("canceling", "ended")
        batch = _ended(client, batch.id)
        kinds = [line.result.type for line in client.messages.batches.results(batch.id)]
        client.messages.batches.delete(batch.id)
    assert batch.cancel_initiated_at
    # The request under way is answered, those behind it are not.
    assert batch.request_counts.canceled == kinds.count("canceled") > 0
    assert batch.request_counts.succeeded == kinds.count("succeeded") == 20 - kinds.count("canceled")


@ANTHROPIC.check("/v1/messages/batches", error="NotFoundError")
def a_deleted_batch_is_gone(target: Target) -> None:
    import anthropic

    with connect(target) as client:
        batch = client.messages.batches.create(requests=_requests(target)[:1])
        _ended(client, batch.id)
        gone = client.messages.batches.delete(batch.id)
        assert (gone.id, gone.type) == (batch.id, "message_batch_deleted")
        error = refusal(anthropic.NotFoundError, client.messages.batches.retrieve, message_batch_id=batch.id)
    assert error.type == "not_found_error"


@ANTHROPIC.check("/v1/messages/batches", error="BadRequestError")
def two_requests_of_one_name_are_refused(target: Target) -> None:
    import anthropic

    with connect(target) as client:
        twice = [_requests(target)[0]] * 2
        error = refusal(anthropic.BadRequestError, client.messages.batches.create, requests=twice)
    assert "good" in error.message


@ANTHROPIC.check("/v1/models")
def models_are_listed_and_described(target: Target) -> None:
    with connect(target) as client:
        rows = {model.id: model for model in client.models.list()}
        one = client.models.retrieve(target.model("chat"))
    assert {target.model("chat"), target.model("scripted")} <= set(rows)
    assert one == rows[target.model("chat")]
    assert (one.type, bool(one.display_name)) == ("model", True)
    assert one.created_at.year > 2000


@ANTHROPIC.check("/v1/models")
def models_are_listed_page_by_page(target: Target) -> None:
    with connect(target) as client:
        page = client.models.list(limit=1)
        paged, whole = [model.id for model in page], [model.id for model in client.models.list(limit=1000)]
    assert len(page.data) == 1
    assert paged == whole
    assert len(whole) > 1


@ANTHROPIC.check("/v1/models", error="NotFoundError")
def an_unknown_model_is_not_described(target: Target) -> None:
    import anthropic

    with connect(target) as client:
        error = refusal(anthropic.NotFoundError, client.models.retrieve, model_id="no-such-model")
    assert error.type == "not_found_error"


@ANTHROPIC.check("/v1/messages", error="NotFoundError")
def an_unknown_model_is_not_found(target: Target) -> None:
    import anthropic

    with connect(target) as client:
        error = refusal(
            anthropic.NotFoundError, client.messages.create, model="no-such-model", max_tokens=1, messages=said("x")
        )
    assert (error.status_code, error.type) == (404, "not_found_error")
    assert "no-such-model" in error.body["error"]["message"]
    assert error.request_id == error.body["request_id"]


@ANTHROPIC.check("/v1/messages", stream=True, error="NotFoundError")
def a_stream_of_an_unknown_model_is_not_found(target: Target) -> None:
    import anthropic

    with connect(target) as client:

        def streamed() -> None:
            with client.messages.stream(model="no-such-model", max_tokens=1, messages=said("x")) as stream:
                stream.until_done()

        assert refusal(anthropic.NotFoundError, streamed).type == "not_found_error"


@ANTHROPIC.check("/v1/messages", error="BadRequestError")
def wrong_fields_are_refused_by_name(target: Target) -> None:
    import anthropic

    wrong: list[tuple[str, dict[str, Any]]] = [
        ("max_tokens", {"max_tokens": -1}),
        ("temperature", {"extra_body": {"temperature": 1.5}}),
        ("metadata", {"metadata": 5}),
        ("tool_choice", {"tool_choice": {"type": "any"}}),
        ("tools[0].input_schema", {"tools": [{"name": "f"}]}),
        ("messages", {"messages": []}),
        ("messages[0].role", {"messages": [{"role": "robot", "content": "x"}]}),
        ("messages[0].content", {"messages": [{"role": "user", "content": 7}]}),
        ("stop_sequences", {"stop_sequences": [1]}),
        ("thinking.type", {"thinking": {"type": "sometimes"}}),
        ("tools[0].name", {"tools": [{"input_schema": {"type": "object"}}]}),
        ("system", {"system": 5}),
    ]
    with connect(target) as client:
        for field, more in wrong:
            asked = {"model": target.model("scripted"), "max_tokens": 4, "messages": said("x"), **more}
            error = refusal(anthropic.BadRequestError, client.messages.create, **asked)
            assert error.type == "invalid_request_error"
            assert field in error.message, (field, error.message)


@ANTHROPIC.check("/v1/messages", error="BadRequestError")
def a_malformed_picture_is_refused(target: Target) -> None:
    import anthropic

    sources: list[dict[str, Any]] = [
        {"type": "base64"},
        {"type": "base64", "media_type": "image/png", "data": "***"},
        {"type": "base64", "media_type": "image/png", "data": ""},
    ]
    with connect(target) as client:
        for source in sources:
            turn = {"role": "user", "content": [{"type": "image", "source": source}]}
            asked = {"model": target.model("scripted"), "max_tokens": 4, "messages": [turn]}
            error = refusal(anthropic.BadRequestError, client.messages.create, **asked)
            assert "image" in error.message, error.message


@ANTHROPIC.check("/v1/messages", error="BadRequestError")
def a_picture_for_a_model_that_reads_text_is_refused(target: Target) -> None:
    import anthropic

    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
    with connect(target) as client:
        turn = {"role": "user", "content": [picture, {"type": "text", "text": "What is it?"}]}
        error = refusal(
            anthropic.BadRequestError,
            client.messages.create,
            model=target.model("scripted"),
            max_tokens=4,
            messages=[turn],
        )
    assert "image" in error.message or "picture" in error.message


@ANTHROPIC.check("/v1/messages", error="BadRequestError")
def a_chat_with_an_embedding_model_is_refused(target: Target) -> None:
    import anthropic

    with connect(target) as client:
        error = refusal(
            anthropic.BadRequestError,
            client.messages.create,
            model=target.model("embed"),
            max_tokens=4,
            messages=said("x"),
        )
    assert "/v1/embeddings" in error.message


@ANTHROPIC.check("/v1/messages")
def an_answer_has_its_request_id(target: Target) -> None:
    with connect(target) as client:
        asked = {"model": target.model("scripted"), "max_tokens": 4, "messages": said("Hi")}
        first, second = (client.messages.create(**asked)._request_id for _ in range(2))
    assert first
    assert second
    assert first != second


@ANTHROPIC.check("/v1/messages")
def a_beta_without_effect_is_named_in_a_warning(target: Target) -> None:
    with connect(target) as client:
        raw = client.beta.messages.with_raw_response.create(
            model=target.model("scripted"),
            max_tokens=20,
            messages=said("Hi"),
            betas=["computer-use-2025-01-24", "interleaved-thinking-2025-05-14"],
        )
    told = raw.headers["x-blazar-warning"]
    assert "computer-use-2025-01-24" in told
    assert "interleaved-thinking" not in told
    assert raw.parse().content[0].text == HELLO


@ANTHROPIC.check("/v1/messages", error="NotFoundError")
def the_asynchronous_client_raises_the_same(target: Target) -> None:
    import anthropic

    async def work(client: Any) -> None:
        asked = client.messages.create(model="no-such-model", max_tokens=1, messages=said("x"))
        (error,) = await asyncio.gather(asked, return_exceptions=True)
        assert isinstance(error, anthropic.NotFoundError)
        assert error.type == "not_found_error"

    with_async(target, work)


@ANTHROPIC.check("/v1/messages/batches")
def the_asynchronous_client_reads_results(target: Target) -> None:
    with connect(target) as client:
        name = client.messages.batches.create(requests=_requests(target)[:1]).id
        _ended(client, name)

    async def work(client: Any) -> None:
        lines = [line async for line in await client.messages.batches.results(name)]
        assert [line.result.type for line in lines] == ["succeeded"]
        await client.messages.batches.delete(name)

    with_async(target, work)


@ANTHROPIC.check("/v1/messages", stream=True)
def a_streams_first_event_has_the_whole_prompts_tokens(target: Target) -> None:
    asked: dict[str, Any] = {"model": target.model("scripted"), "messages": said("hi there")}
    with connect(target) as client:
        with client.messages.stream(max_tokens=4, **asked) as stream:
            started = next(event for event in stream if event.type == "message_start")
            final = stream.get_final_message()
        counted = client.messages.count_tokens(**asked).input_tokens
    assert started.message.usage.input_tokens == final.usage.input_tokens == counted > 0


@ANTHROPIC.check("/v1/messages")
def no_tokens_only_warm_the_cache(target: Target) -> None:
    with connect(target) as client:
        got = client.messages.create(model=target.model("scripted"), max_tokens=0, messages=said("hi"))
    assert (got.content, got.stop_reason, got.usage.output_tokens) == ([], "max_tokens", 0)
    assert got.usage.input_tokens > 0
