"""The PyPI package `anthropic`: messages, whole and streamed. Its tools, thinking, forms and the rest are in the modules beside it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from tests.matrix.raising import raised
from tests.matrix.registry import Client, Target
from tests.support.scripted_gguf import HELLO, HELLO_TOKENS, TICK, TOCK

ANTHROPIC = Client("anthropic (PyPI)", needs=("module:anthropic",))


def connect(target: Target) -> Any:
    """A client without retries of its own: the first answer counts."""
    import anthropic

    return anthropic.Anthropic(base_url=target.url, api_key=target.key, max_retries=0, timeout=120)


def connect_async(target: Target) -> Any:
    """The same for the asynchronous half of the package."""
    import anthropic

    return anthropic.AsyncAnthropic(base_url=target.url, api_key=target.key, max_retries=0, timeout=120)


def with_async(target: Target, work: Callable[[Any], Awaitable[None]]) -> None:
    """Do `work` with an asynchronous client, which is closed afterwards."""

    async def run() -> None:
        async with connect_async(target) as client:
            await work(client)

    asyncio.run(run())


def said(text: str) -> list[dict[str, Any]]:
    """A conversation of one turn."""
    return [{"role": "user", "content": text}]


def only_text(message: Any) -> str:
    """The text of a message that has to be one text block."""
    assert [block.type for block in message.content] == ["text"], message.content
    return str(message.content[0].text)


@ANTHROPIC.check("/v1/messages")
def a_message_is_text_with_its_facts(target: Target) -> None:
    with connect(target) as client:
        got = client.messages.create(
            model=target.model("chat"), max_tokens=12, system="Be brief.", messages=said("Say hello.")
        )
    assert (got.type, got.role, got.model) == ("message", "assistant", target.model("chat"))
    assert got.id.startswith("msg_")
    assert only_text(got)
    assert got.stop_reason in ("end_turn", "max_tokens")


@ANTHROPIC.check("/v1/messages")
def an_answer_that_ends_by_itself(target: Target) -> None:
    with connect(target) as client:
        got = client.messages.create(model=target.model("scripted"), max_tokens=40, messages=said("Hi"))
    assert only_text(got) == HELLO
    assert (got.stop_reason, got.stop_sequence) == ("end_turn", None)
    assert got.usage.output_tokens == HELLO_TOKENS


@ANTHROPIC.check("/v1/messages")
def usage_has_the_cache_fields(target: Target) -> None:
    with connect(target) as client:
        usage = client.messages.create(model=target.model("scripted"), max_tokens=9, messages=said("Hi")).usage
    assert usage.input_tokens > 0
    assert (usage.cache_creation_input_tokens, usage.cache_read_input_tokens) == (0, 0)


@ANTHROPIC.check("/v1/messages")
def a_cached_prompt_counts_as_much_as_a_fresh_one(target: Target) -> None:
    with connect(target) as client:
        asked = {"model": target.model("scripted"), "max_tokens": 4, "messages": said("Count me twice. " * 20)}
        first, second = (client.messages.create(**asked).usage.input_tokens for _ in range(2))
    assert first == second > 20


@ANTHROPIC.check("/v1/messages")
def the_answer_ends_at_max_tokens(target: Target) -> None:
    with connect(target) as client:
        got = client.messages.create(model=target.model("scripted"), max_tokens=6, messages=said("long"))
    assert only_text(got).strip() == (3 * (TICK + TOCK)).strip()
    assert (got.stop_reason, got.usage.output_tokens) == ("max_tokens", 6)


@ANTHROPIC.check("/v1/messages")
def a_stop_sequence_is_named(target: Target) -> None:
    with connect(target) as client:
        got = client.messages.create(
            model=target.model("scripted"), max_tokens=20, stop_sequences=["never", "tock"], messages=said("long")
        )
    assert (got.stop_reason, got.stop_sequence) == ("stop_sequence", "tock")
    assert only_text(got).strip() == "tick"


@ANTHROPIC.check("/v1/messages", stream=True)
def a_stop_sequence_is_named_in_a_stream(target: Target) -> None:
    with (
        connect(target) as client,
        client.messages.stream(
            model=target.model("scripted"), max_tokens=20, stop_sequences=["tock"], messages=said("long")
        ) as stream,
    ):
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    assert text.strip() == "tick"
    assert (final.stop_reason, final.stop_sequence) == ("stop_sequence", "tock")


@ANTHROPIC.check("/v1/messages")
def system_blocks_are_read(target: Target) -> None:
    blocks = [
        {"type": "text", "text": "Be brief."},
        {"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}},
    ]
    with connect(target) as client:
        asked = {"model": target.model("chat"), "max_tokens": 2, "messages": said("Hi")}
        usages = [client.messages.create(**asked, system=system).usage for system in (blocks, "Be brief.\n\nBe kind.")]
    assert usages[0].input_tokens == usages[1].input_tokens


@ANTHROPIC.check("/v1/messages")
def a_system_turn_in_the_conversation(target: Target) -> None:
    turns = [{"role": "user", "content": "hi"}, {"role": "system", "content": "Be kind."}]
    with connect(target) as client:
        got = client.messages.create(model=target.model("chat"), max_tokens=4, system="Be brief.", messages=turns)
    assert only_text(got)


@ANTHROPIC.check("/v1/messages")
def several_text_blocks_are_one_turn(target: Target) -> None:
    content = [{"type": "text", "text": "Answer at"}, {"type": "text", "text": "long, please."}]
    with connect(target) as client:
        got = client.messages.create(
            model=target.model("scripted"), max_tokens=2, messages=[{"role": "user", "content": content}]
        )
    assert only_text(got).startswith("tick")


@ANTHROPIC.check("/v1/messages")
def a_document_is_read_as_text(target: Target) -> None:
    document = {
        "type": "document",
        "title": "Notes",
        "source": {"type": "text", "media_type": "text/plain", "data": "What a long day."},
    }
    with connect(target) as client:
        got = client.messages.create(
            model=target.model("scripted"),
            max_tokens=2,
            messages=[{"role": "user", "content": [document, {"type": "text", "text": "Read."}]}],
        )
    assert only_text(got).startswith("tick")


@ANTHROPIC.check("/v1/messages", error="BadRequestError")
def a_document_that_is_no_text_is_refused(target: Target) -> None:
    import anthropic

    document = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}}
    with connect(target) as client:
        error = raised(
            anthropic.BadRequestError,
            lambda: client.messages.create(
                model=target.model("scripted"), max_tokens=2, messages=[{"role": "user", "content": [document]}]
            ),
        )
    assert "messages[0].content[0]" in error.message


@ANTHROPIC.check("/v1/messages")
def earlier_turns_are_part_of_the_prompt(target: Target) -> None:
    turns = [*said("My name is Zebulon."), {"role": "assistant", "content": [{"type": "text", "text": "Noted."}]}]
    with connect(target) as client:
        asked = {"model": target.model("chat"), "max_tokens": 1}
        alone = client.messages.create(**asked, messages=said("And?"))
        after = client.messages.create(**asked, messages=[*turns, *said("And?")])
    assert after.usage.input_tokens > alone.usage.input_tokens + 8


@ANTHROPIC.check("/v1/messages", stream=True)
def an_answer_goes_on_from_words_put_into_its_mouth(target: Target) -> None:
    begun = "The capital of France is"
    asked = {
        "model": target.model("chat"),
        "max_tokens": 6,
        "messages": [*said("What is the capital of France?"), {"role": "assistant", "content": begun}],
        "extra_body": {"temperature": 0.0},
    }
    with connect(target) as client:
        whole = only_text(client.messages.create(**asked))
        with client.messages.stream(**asked) as stream:
            streamed = stream.get_final_text()
        counted = client.messages.count_tokens(model=asked["model"], messages=asked["messages"]).input_tokens
        usage = client.messages.create(**asked).usage
    assert whole == streamed
    assert whole.strip()
    assert not whole.startswith(begun)
    assert counted == usage.input_tokens


@ANTHROPIC.check("/v1/messages")
def sampling_fields_are_taken(target: Target) -> None:
    asked = {"model": target.model("chat"), "max_tokens": 8, "messages": said("Count.")}
    sampling = {"temperature": 0.0, "top_k": 1, "top_p": 0.9}
    with connect(target) as client:
        texts = {only_text(client.messages.create(**asked, extra_body=sampling)) for _ in range(2)}
    assert len(texts) == 1


@ANTHROPIC.check("/v1/messages")
def null_fields_are_absent_ones(target: Target) -> None:
    nulls = dict.fromkeys(("system", "tools", "tool_choice", "stop_sequences", "thinking", "temperature", "metadata"))
    with connect(target) as client:
        raw = client.messages.with_raw_response.create(
            model=target.model("scripted"), max_tokens=20, messages=said("Hi"), extra_body=nulls
        )
    assert "x-blazar-warning" not in raw.headers
    assert only_text(raw.parse()) == HELLO


@ANTHROPIC.check("/v1/messages")
def metadata_and_service_tier_are_accepted(target: Target) -> None:
    with connect(target) as client:
        raw = client.messages.with_raw_response.create(
            model=target.model("scripted"),
            max_tokens=20,
            messages=said("Hi"),
            metadata={"user_id": "somebody"},
            service_tier="auto",
        )
    assert "x-blazar-warning" not in raw.headers
    assert only_text(raw.parse()) == HELLO


@ANTHROPIC.check("/v1/messages")
def an_unknown_field_is_named_in_a_warning(target: Target) -> None:
    with connect(target) as client:
        raw = client.messages.with_raw_response.create(
            model=target.model("scripted"), max_tokens=20, messages=said("Hi"), extra_body={"mcp_servers": [{"a": 1}]}
        )
    assert "mcp_servers" in raw.headers["x-blazar-warning"]


@ANTHROPIC.check("/v1/messages", stream=True)
def the_stream_helper_ends_with_the_whole_message(target: Target) -> None:
    with (
        connect(target) as client,
        client.messages.stream(model=target.model("scripted"), max_tokens=40, messages=said("Hi")) as stream,
    ):
        pieces = list(stream.text_stream)
        final = stream.get_final_message()
    assert len(pieces) > 2
    assert "".join(pieces) == only_text(final) == HELLO
    assert (final.stop_reason, final.usage.output_tokens) == ("end_turn", HELLO_TOKENS)


@ANTHROPIC.check("/v1/messages", stream=True)
def the_helpers_events_come_in_order(target: Target) -> None:
    with (
        connect(target) as client,
        client.messages.stream(model=target.model("scripted"), max_tokens=40, messages=said("Hi")) as stream,
    ):
        events = [event for event in stream if event.type != "ping"]
    kinds = [event.type for event in events]
    assert kinds[:2] == ["message_start", "content_block_start"]
    assert kinds[-3:] == ["content_block_stop", "message_delta", "message_stop"]
    middle = kinds[2:-3]
    assert middle == ["content_block_delta", "text"] * (len(middle) // 2)
    assert events[-3].content_block.text == events[-4].snapshot == HELLO
    assert only_text(events[-1].message) == HELLO


@ANTHROPIC.check("/v1/messages", stream=True)
def the_plain_events_carry_usage_and_reason(target: Target) -> None:
    with connect(target) as client:
        asked = {"model": target.model("scripted"), "max_tokens": 3, "messages": said("long")}
        events = list(client.messages.create(**asked, stream=True))
        whole = client.messages.create(**asked)
    (last,) = [event for event in events if event.type == "message_delta"]
    assert last.delta.stop_reason == "max_tokens"
    assert last.usage.output_tokens == whole.usage.output_tokens == 3
    assert last.usage.input_tokens == whole.usage.input_tokens


@ANTHROPIC.check("/v1/messages", stream=True)
def a_stream_that_is_left_early_frees_its_place(target: Target) -> None:
    with connect(target) as client:
        asked = {"model": target.model("scripted"), "messages": said("long")}
        for _ in range(3):
            with client.messages.stream(**asked, max_tokens=50_000) as stream:
                assert next(iter(stream.text_stream)).startswith("tick")
        assert client.messages.create(**asked, max_tokens=2).usage.output_tokens == 2


@ANTHROPIC.check("/v1/messages", stream=True)
def a_stream_of_the_raw_response_is_event_frames(target: Target) -> None:
    with (
        connect(target) as client,
        client.messages.with_streaming_response.create(
            model=target.model("scripted"), max_tokens=20, messages=said("Hi"), stream=True
        ) as answer,
    ):
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = [line for line in answer.iter_lines() if line.startswith("event: ")]
    assert (lines[0], lines[-1]) == ("event: message_start", "event: message_stop")


@ANTHROPIC.check("/v1/messages")
def the_asynchronous_client_gets_a_message(target: Target) -> None:
    async def work(client: Any) -> None:
        got = await client.messages.create(model=target.model("scripted"), max_tokens=40, messages=said("Hi"))
        assert only_text(got) == HELLO

    with_async(target, work)


@ANTHROPIC.check("/v1/messages", stream=True)
def the_asynchronous_client_streams(target: Target) -> None:
    async def work(client: Any) -> None:
        async with client.messages.stream(model=target.model("scripted"), max_tokens=40, messages=said("Hi")) as stream:
            pieces = [piece async for piece in stream.text_stream]
            final = await stream.get_final_message()
        assert "".join(pieces) == only_text(final) == HELLO

    with_async(target, work)


@ANTHROPIC.check("/v1/messages")
def eight_at_once_all_get_their_answer(target: Target) -> None:
    async def work(client: Any) -> None:
        asked = [
            client.messages.create(model=target.model("scripted"), max_tokens=number, messages=said("long"))
            for number in range(1, 9)
        ]
        got = await asyncio.gather(*asked)
        assert [one.usage.output_tokens for one in got] == list(range(1, 9))

    with_async(target, work)
