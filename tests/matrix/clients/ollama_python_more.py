"""The PyPI package `ollama`: tools, pictures, models, vectors, what only recorded streams can show, and what it raises."""

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.matrix.clients.ollama_python import FEW, OLLAMA, connect, said, with_async
from tests.matrix.raising import raised
from tests.matrix.registry import Lacking, Target
from tests.support.scripted_gguf import HELLO

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
MADE = "matrix-made"


def add(a: int, b: int) -> int:
    """Add two numbers.

    Args:
        a: One of them.
        b: The other.

    """
    return a + b


def refusal(ask: Any, *given: Any, **asked: Any) -> Any:
    """What a call is refused with."""
    import ollama

    return raised(ollama.ResponseError, partial(ask, *given, **asked))


@OLLAMA.check("/api/chat", tools=True)
def a_function_is_a_tool(target: Target) -> None:
    with connect(target) as client:
        got = client.chat(target.model("scripted"), said("add"), tools=[add])
    (call,) = got.message.tool_calls
    assert call.function.name == "add"
    assert isinstance(add(**call.function.arguments), int)


@OLLAMA.check("/api/chat", tools=True)
def a_tools_whole_loop(target: Target) -> None:
    turns: list[Any] = said("add")
    with connect(target) as client:
        first = client.chat(target.model("scripted"), turns, tools=[add])
        turns.append(first.message)
        for call in first.message.tool_calls:
            result = str(add(**call.function.arguments))
            turns.append({"role": "tool", "tool_name": call.function.name, "content": result})
        last = client.chat(target.model("scripted"), turns, tools=[add])
    assert last.message.content == HELLO
    assert not last.message.tool_calls


@OLLAMA.check("/api/chat", stream=True, tools=True)
def a_call_streams_in_one_line(target: Target) -> None:
    with connect(target) as client:
        lines = list(client.chat(target.model("scripted"), said("add"), tools=[add], stream=True))
    calls = [call for line in lines for call in line.message.tool_calls or ()]
    assert [call.function.name for call in calls] == ["add"]
    assert {type(value) for value in calls[0].function.arguments.values()} == {int}
    assert lines[-1].done_reason == "stop"


@OLLAMA.check("/api/chat", tools=True, schema=True)
def arguments_obey_the_tools_schema(target: Target) -> None:
    parameters = {
        "type": "object",
        "properties": {
            "colour": {"type": "string", "enum": ["red", "green"]},
            "spots": {"type": "array", "items": {"type": "integer"}},
        },
        "required": ["colour", "spots"],
    }
    tool = {"type": "function", "function": {"name": "paint", "description": "paint", "parameters": parameters}}
    with connect(target) as client:
        got = client.chat(target.model("scripted"), said("paint"), tools=[tool], options={"num_predict": 120})
    given = got.message.tool_calls[0].function.arguments
    assert given["colour"] in ("red", "green")
    assert all(isinstance(spot, int) for spot in given["spots"])


@OLLAMA.check("/api/chat", stream=True, tools=True)
def parallel_calls_arrive_both(target: Target) -> None:
    tool = {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        },
    }
    with connect(target) as client:
        ask = partial(client.chat, target.model("played"), said("play tool_parallel"), tools=[tool])
        whole = ask().message.tool_calls
        streamed = [call for line in ask(stream=True) for call in line.message.tool_calls or ()]
    for calls in (whole, streamed):
        assert [call.function.arguments for call in calls] == [{"city": "Paris"}, {"city": "Rome"}]


@OLLAMA.check("/api/chat", tools=True)
def a_thought_before_a_call(target: Target) -> None:
    with connect(target) as client:
        got = client.chat(target.model("played"), said("play think_tool"), tools=[add], think=True)
    assert got.message.thinking.strip() == "A tool is needed."
    assert got.message.tool_calls[0].function.arguments == {"a": 1, "b": 1}


@OLLAMA.check("/api/chat", tools=True, error="ResponseError")
def tools_for_a_model_without_a_place_for_them_are_refused(target: Target) -> None:
    with connect(target) as client:
        if "tools" in client.show(target.model("chat")).capabilities:
            raise Lacking("needs a chat model whose template has no place for tools")
        error = refusal(client.chat, target.model("chat"), said("add"), tools=[add])
    assert error.status_code == 400
    assert "tools" in error.error


@OLLAMA.check("/api/chat", error="ResponseError")
def a_picture_for_a_model_that_reads_text_is_refused(target: Target) -> None:
    with connect(target) as client:
        for error in (
            refusal(client.chat, target.model("scripted"), said("What is it?", images=[PIXEL])),
            refusal(client.generate, target.model("scripted"), "What is it?", images=[PIXEL]),
        ):
            assert error.status_code == 400
            assert "image" in error.error or "picture" in error.error


@OLLAMA.check("/api/chat", error="ResponseError")
def a_chat_with_an_embedding_model_is_refused(target: Target) -> None:
    with connect(target) as client:
        error = refusal(client.chat, target.model("embed"), said("Hi"))
    assert error.status_code == 400
    assert "embed" in error.error


@OLLAMA.check("/api/chat", error="ResponseError")
def an_unknown_model_is_not_found(target: Target) -> None:
    with connect(target) as client:
        whole = refusal(client.chat, "no-such-model", said("Hi"))
        streamed = refusal(lambda: list(client.chat("no-such-model", said("Hi"), stream=True)))
    for error in (whole, streamed):
        assert error.status_code == 404
        assert "no-such-model" in error.error


@OLLAMA.check("/api/chat", stream=True, error="ResponseError")
def an_error_in_the_stream_is_raised(target: Target) -> None:
    with connect(target) as client:
        error = refusal(lambda: list(client.chat(target.model("played"), said("play error"), stream=True)))
    assert "peg-native" in error.error


@OLLAMA.check("/api/chat", error="ResponseError")
def the_engines_error_keeps_status_and_text(target: Target) -> None:
    with connect(target) as client:
        error = refusal(client.chat, target.model("played"), said("play error"))
    assert error.status_code == 500
    assert "peg-native" in error.error


@OLLAMA.check("/api/chat", error="ResponseError")
def a_model_without_thoughts_says_so(target: Target) -> None:
    with connect(target) as client:
        assert "thinking" not in (client.show(target.model("chat")).capabilities or ())
        error = refusal(client.chat, target.model("chat"), said("hi"), think=True)
    assert (error.status_code, error.error) == (400, f'"{target.model("chat")}" does not support thinking')


@OLLAMA.check("/api/generate", error="ResponseError")
def wrong_fields_are_refused_by_name(target: Target) -> None:
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("options.temperature", {"options": {"temperature": "hot"}}),
        ("options.num_predict", {"options": {"num_predict": "many"}}),
        ("options.num_ctx", {"options": {"num_ctx": 0}}),
        ("raw", {"raw": "yes"}),
        ("think", {"think": "deeply"}),
        ("top_logprobs", {"logprobs": True, "top_logprobs": 99}),
        ("context", {"context": [1, 2]}),
    ]
    import ollama

    with connect(target) as client:
        for field, more in wrong:
            body = {"model": target.model("scripted"), "prompt": "x", "stream": False, **more}
            error = refusal(client._request, ollama.GenerateResponse, "POST", "/api/generate", json=body)
            assert error.status_code == 400
            assert field in error.error, (field, error.error)


@OLLAMA.check("/api/tags")
def the_list_has_size_digest_and_details(target: Target) -> None:
    with connect(target) as client:
        rows = {row.model: row for row in client.list().models}
    row = rows[target.model("scripted")]
    assert row.size > 0
    assert len(row.digest.removeprefix("sha256:")) == 64
    assert row.modified_at.tzinfo is not None
    assert (row.details.format, row.details.family) == ("gguf", "llama")


@OLLAMA.check("/api/show")
def show_tells_what_a_model_can_do(target: Target) -> None:
    with connect(target) as client:
        scripted, embed = client.show(target.model("scripted")), client.show(target.model("embed"))
    assert set(scripted.capabilities) == {"completion", "tools", "insert", "thinking"}
    assert embed.capabilities == ["embedding"]
    assert scripted.template
    assert scripted.modelinfo["general.architecture"] == "llama"
    assert scripted.modelinfo["llama.context_length"] > 0
    assert scripted.details.quantization_level


@OLLAMA.check("/api/show", error="ResponseError")
def an_unknown_model_is_not_shown(target: Target) -> None:
    with connect(target) as client:
        error = refusal(client.show, "no-such-model")
    assert error.status_code == 404


@OLLAMA.check("/api/ps")
def ps_tells_what_is_loaded_and_until_when(target: Target) -> None:
    with connect(target) as client:
        client.generate(target.model("scripted"), "", keep_alive="10m")
        row = next(row for row in client.ps().models if row.model == target.model("scripted"))
    assert row.size > 0
    assert row.size_vram >= 0
    assert row.context_length > 0
    assert row.expires_at.tzinfo is not None


@OLLAMA.check("/api/copy")
def a_copy_answers_and_goes_alone(target: Target) -> None:
    with connect(target) as client:
        assert client.copy(target.model("scripted"), "matrix-copy").status == "success"
        with _gone_after(client, "matrix-copy"):
            assert client.chat("matrix-copy", said("Hi")).message.content == HELLO
        assert target.model("scripted") in {row.model for row in client.list().models}


@OLLAMA.check("/api/copy")
def what_is_made_as_latest_needs_no_tag(target: Target) -> None:
    with connect(target) as client:
        client.copy(f"{target.model('scripted')}:latest", "matrix-copy:latest")
        with _gone_after(client, "matrix-copy"):
            assert client.show("matrix-copy").capabilities == client.show("matrix-copy:latest").capabilities
        client.create(f"{MADE}:latest", from_=target.model("scripted"), system="Be kind.")
        with _gone_after(client, MADE):
            assert client.chat(MADE, said("Hi")).message.content == HELLO


@OLLAMA.check("/api/copy", error="ResponseError")
def an_unknown_model_is_not_copied(target: Target) -> None:
    with connect(target) as client:
        assert refusal(client.copy, "no-such-model", "matrix-copy").status_code == 404


@OLLAMA.check("/api/delete", error="ResponseError")
def an_unknown_model_is_not_deleted(target: Target) -> None:
    with connect(target) as client:
        assert client.copy(target.model("scripted"), "matrix-gone").status == "success"
        assert client.delete("matrix-gone").status == "success"
        assert refusal(client.delete, "matrix-gone").status_code == 404


@contextmanager
def _gone_after(client: Any, name: str) -> Iterator[None]:
    try:
        yield
    finally:
        with suppress(Exception):
            client.delete(name)
        assert name not in {row.model for row in client.list().models}


@OLLAMA.check("/api/create")
def a_model_is_made_from_another(target: Target) -> None:
    with connect(target) as client:
        made = client.create(
            MADE, from_=target.model("scripted"), system="Be brief and kind.", parameters={"num_predict": 2}
        )
        assert made.status == "success"
        with _gone_after(client, MADE):
            shown = client.show(MADE)
            got = client.chat(MADE, said("long"))
            plain = client.chat(target.model("scripted"), said("long"), options={"num_predict": 2})
    assert "Be brief and kind." in shown.modelfile
    assert "num_predict" in shown.parameters
    assert (got.eval_count, got.done_reason) == (2, "length")
    assert got.prompt_eval_count > plain.prompt_eval_count + 10


@OLLAMA.check("/api/create", stream=True)
def making_a_model_tells_its_steps(target: Target) -> None:
    with connect(target) as client:
        steps = [
            step.status
            for step in client.create(
                MADE,
                from_=target.model("scripted"),
                messages=[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}],
                license="Free as air.",
                stream=True,
            )
        ]
        with _gone_after(client, MADE):
            shown = client.show(MADE)
    assert steps[-1] == "success"
    assert len(steps) > 1
    assert "Free as air." in shown.license


@OLLAMA.check("/api/create")
def a_model_with_a_template_of_its_own(target: Target) -> None:
    with connect(target) as client:
        client.create(MADE, from_=target.model("scripted"), template="[{{ .Prompt }}] {{ .Response }}")
        with _gone_after(client, MADE):
            made = client.generate(MADE, "b", options=FEW)
            raw = client.generate(target.model("scripted"), "[b] ", raw=True, options=FEW)
    assert made.prompt_eval_count == raw.prompt_eval_count


@OLLAMA.check("/api/blobs")
def a_model_is_made_from_a_blob(target: Target) -> None:
    from tests.support.scripted_gguf import scripted_model

    with connect(target) as client:
        digest = client.create_blob(scripted_model())
        assert digest == client.create_blob(scripted_model())
        assert client.create(MADE, files={"scripted.gguf": digest}).status == "success"
        with _gone_after(client, MADE):
            assert client.chat(MADE, said("Hi")).message.content == HELLO


@OLLAMA.check("/api/create", error="ResponseError")
def a_blob_that_is_no_model_is_refused(target: Target) -> None:
    with connect(target) as client, TemporaryDirectory() as folder:
        text = Path(folder) / "text.gguf"
        text.write_text("no weights at all")
        digest = client.create_blob(text)
        error = refusal(client.create, MADE, files={"text.gguf": digest})
        unknown = refusal(client.create, MADE, files={"x.gguf": f"sha256:{'0' * 64}"})
    assert error.status_code == 400
    assert unknown.status_code in (400, 404)


@OLLAMA.check("/api/create", error="ResponseError")
def a_model_is_not_made_from_an_unknown_one_nor_quantized(target: Target) -> None:
    with connect(target) as client:
        unknown = refusal(client.create, MADE, from_="no-such-model")
        quantized = refusal(client.create, MADE, from_=target.model("chat"), quantize="q4_0")
    assert "no-such-model" in unknown.error
    assert quantized.status_code == 400
    assert "quantize" in quantized.error


@OLLAMA.check("/api/push", error="ResponseError")
def pushing_is_refused_with_the_reason(target: Target) -> None:
    with connect(target) as client:
        error = refusal(client.push, target.model("scripted"))
        streamed = refusal(lambda: list(client.push(target.model("scripted"), stream=True)))
    assert error.status_code == streamed.status_code == 400
    assert error.error == streamed.error != ""


@OLLAMA.check("/api/embed")
def a_batch_of_texts_is_a_batch_of_vectors(target: Target) -> None:
    with connect(target) as client:
        both = client.embed(target.model("embed"), ["a cat", "a dog"])
        one = client.embed(target.model("embed"), "a cat")
    assert len(both.embeddings) == 2
    assert _close(both.embeddings[0], one.embeddings[0])
    assert math.isclose(sum(number * number for number in one.embeddings[0]), 1, abs_tol=1e-3)
    assert both.prompt_eval_count > one.prompt_eval_count > 0
    assert both.total_duration > 0


def _close(one: Any, other: Any) -> bool:
    return len(one) == len(other) and all(abs(a - b) < 1e-3 for a, b in zip(one, other, strict=True))


@OLLAMA.check("/api/embed")
def fewer_dimensions_are_the_first_of_them(target: Target) -> None:
    with connect(target) as client:
        whole = client.embed(target.model("embed"), "a cat").embeddings[0]
        short = client.embed(target.model("embed"), "a cat", dimensions=16).embeddings[0]
        error = refusal(client.embed, target.model("embed"), "a cat", dimensions=len(whole) + 1)
    length = math.sqrt(sum(number * number for number in whole[:16]))
    assert _close(short, [number / length for number in whole[:16]])
    assert "dimensions" in error.error


@OLLAMA.check("/api/embed")
def a_long_text_is_cut_only_where_that_is_asked_for(target: Target) -> None:
    long = "cat " * 3000
    with connect(target) as client:
        cut = client.embed(target.model("embed"), [long, "a cat"], truncate=True)
        error = refusal(client.embed, target.model("embed"), long, truncate=False)
    assert [len(vector) for vector in cut.embeddings] == [len(cut.embeddings[0])] * 2
    assert error.status_code == 400


@OLLAMA.check("/api/embed", error="ResponseError")
def nothing_has_no_vector(target: Target) -> None:
    with connect(target) as client:
        for given in ([], ""):  # how clients preload a model
            assert client.embed(target.model("embed"), given).embeddings == []
        assert refusal(client.embed, target.model("embed"), ["a cat", ""]).status_code == 400


@OLLAMA.check("/api/embed", error="ResponseError")
def a_chat_model_gives_no_vectors(target: Target) -> None:
    with connect(target) as client:
        error = refusal(client.embed, target.model("scripted"), "a cat")
    assert error.status_code == 400


@OLLAMA.check("/api/embeddings")
def the_elder_route_gives_the_same_vector(target: Target) -> None:
    with connect(target) as client:
        elder = client.embeddings(target.model("embed"), "a cat").embedding
        newer = client.embed(target.model("embed"), "a cat").embeddings[0]
        error = refusal(client.embeddings, target.model("embed"), "")
    cosine = sum(a * b for a, b in zip(elder, newer, strict=True)) / math.sqrt(sum(a * a for a in elder))
    assert math.isclose(cosine, 1, abs_tol=1e-3)
    assert error.status_code == 400


@OLLAMA.check("/api/chat", tools=True)
def the_asynchronous_client_goes_a_tools_whole_loop(target: Target) -> None:
    async def work(client: Any) -> None:
        turns: list[Any] = said("add")
        first = await client.chat(target.model("scripted"), turns, tools=[add])
        call = first.message.tool_calls[0].function
        turns += [first.message, {"role": "tool", "tool_name": call.name, "content": json.dumps(add(**call.arguments))}]
        assert (await client.chat(target.model("scripted"), turns, tools=[add])).message.content == HELLO

    with_async(target, work)


@OLLAMA.check("/api/show")
def the_asynchronous_client_looks_around(target: Target) -> None:
    async def work(client: Any) -> None:
        names = {row.model for row in (await client.list()).models}
        shown = await client.show(target.model("scripted"))
        vectors = (await client.embed(target.model("embed"), ["a cat", "a dog"])).embeddings
        running = {row.model for row in (await client.ps()).models}
        assert "completion" in shown.capabilities
        assert len(vectors) == 2
        assert target.model("embed") in running <= names

    with_async(target, work)


@OLLAMA.check("/api/create")
def the_asynchronous_client_makes_a_model_from_a_blob(target: Target) -> None:
    from tests.support.scripted_gguf import scripted_model

    async def work(client: Any) -> None:
        digest = await client.create_blob(scripted_model())
        assert (await client.create(MADE, files={"scripted.gguf": digest})).status == "success"
        assert (await client.delete(MADE)).status == "success"

    with_async(target, work)
