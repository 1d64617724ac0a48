"""The PyPI package `openai`: raw completions, vectors, models, and what it raises."""

import re
from math import sqrt
from typing import Any

from tests.matrix.clients.openai_python import CHAT, HI, LONG, OPENAI, connect, counts, refused
from tests.matrix.registry import Target
from tests.support.scripted_gguf import HELLO, HELLO_TOKENS

COMPLETIONS, EMBEDDINGS, MODELS = "/v1/completions", "/v1/embeddings", "/v1/models"
PROMPT = "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n<|say_hello|>"
CODE: dict[str, Any] = {"prompt": "def f():\n    ", "suffix": "\n", "max_tokens": 9}


def tokens(client: Any, target: Target, role: str, text: str) -> list[int]:
    """This text in the numbers of the role's model."""
    cut = client.post(
        f"{target.url}/tokenize",
        body={"model": target.model(role), "content": text, "parse_special": True},
        cast_to=object,
    )
    return list(cut["tokens"])


@OPENAI.check(COMPLETIONS)
def a_completion_answers_with_text_and_usage(target: Target) -> None:
    with connect(target) as client:
        got = client.completions.create(model=target.model("scripted"), prompt=PROMPT, max_tokens=20)
    assert (got.object, got.model) == ("text_completion", target.model("scripted"))
    assert (got.choices[0].text, got.choices[0].finish_reason) == (HELLO, "stop")
    assert got.usage.completion_tokens == HELLO_TOKENS
    assert got.usage.total_tokens == got.usage.prompt_tokens + HELLO_TOKENS


@OPENAI.check(COMPLETIONS, stream=True)
def a_completion_is_streamed_with_the_same_usage(target: Target) -> None:
    ask = {"model": target.model("scripted"), "prompt": PROMPT, "max_tokens": 20}
    with connect(target) as client:
        whole = client.completions.create(**ask)
        bare = list(client.completions.create(**ask, stream=True))
        told = list(client.completions.create(**ask, stream=True, stream_options={"include_usage": True}))
    for chunks in (bare, told):
        assert "".join(chunk.choices[0].text for chunk in chunks if chunk.choices) == HELLO
    assert all(chunk.usage is None for chunk in bare)
    assert (told[-1].choices, counts(told[-1].usage)) == ([], counts(whole.usage))


@OPENAI.check(COMPLETIONS)
def a_prompt_may_be_tokens(target: Target) -> None:
    with connect(target) as client:
        cut = tokens(client, target, "scripted", PROMPT)
        got = client.completions.create(model=target.model("scripted"), prompt=cut, max_tokens=20)
    assert got.choices[0].text == HELLO
    assert got.usage.prompt_tokens == len(cut)


@OPENAI.check(COMPLETIONS)
def several_prompts_have_a_choice_each(target: Target) -> None:
    with connect(target) as client:
        cut = tokens(client, target, "scripted", PROMPT)
        long = PROMPT.replace("hello", "long")
        for prompts, said in (([long, PROMPT], ("tick", "Hello")), ([cut, cut], ("Hello", "Hello"))):
            got = client.completions.create(model=target.model("scripted"), prompt=prompts, max_tokens=1)
            assert [choice.index for choice in got.choices] == [0, 1]
            assert tuple(choice.text.strip() for choice in got.choices) == said
            assert got.usage.completion_tokens == 2


@OPENAI.check(COMPLETIONS)
def several_completions_of_a_prompt(target: Target) -> None:
    with connect(target) as client:
        got = client.completions.create(model=target.model("scripted"), prompt=PROMPT, max_tokens=20, n=2)
    assert [(choice.index, choice.text) for choice in got.choices] == [(0, HELLO), (1, HELLO)]


@OPENAI.check(COMPLETIONS, stream=True)
def a_suffix_fills_the_gap(target: Target) -> None:
    with connect(target) as client:
        got = client.completions.create(model=target.model("scripted"), **CODE)
        chunks = list(client.completions.create(model=target.model("scripted"), **CODE, stream=True))
    assert got.choices[0].text == "".join(chunk.choices[0].text for chunk in chunks) == "return 42"


@OPENAI.check(COMPLETIONS)
def a_completions_log_probabilities_are_lists(target: Target) -> None:
    with connect(target) as client:
        got = client.completions.create(
            model=target.model("chat"), prompt="The sky is", max_tokens=3, temperature=0, logprobs=2
        )
    told = got.choices[0].logprobs
    assert "".join(told.tokens) == got.choices[0].text
    assert len(told.token_logprobs) == len(told.text_offset) == len(told.top_logprobs) == 3
    assert all(len(top) == 2 for top in told.top_logprobs)


@OPENAI.check(COMPLETIONS, stream=True)
def a_prompt_stands_before_its_completion(target: Target) -> None:
    ask: Any = {
        "model": target.model("scripted"),
        "prompt": [PROMPT, "x"],
        "max_tokens": 20,
        "stop": " the",
        "echo": True,
    }
    with connect(target) as client:
        whole = client.completions.create(**ask)
        texts = ["", ""]
        for chunk in client.completions.create(**ask, stream=True):
            for choice in chunk.choices:
                texts[choice.index] += choice.text
    assert [choice.text for choice in whole.choices] == texts
    assert texts[0] == f"{PROMPT}Hello from"
    assert texts[1].startswith("x")


@OPENAI.check(COMPLETIONS)
def a_completion_stops_where_it_is_told(target: Target) -> None:
    with connect(target) as client:
        got = client.completions.create(model=target.model("scripted"), prompt=PROMPT, max_tokens=20, stop=" the")
    assert (got.choices[0].text, got.choices[0].finish_reason) == ("Hello from", "stop")


@OPENAI.check(COMPLETIONS, error="BadRequestError")
def what_a_completion_cannot_have_is_named(target: Target) -> None:
    asks: dict[str, Any] = {
        "logprobs": {"echo": True, "logprobs": 1},
        "echo": {"echo": "x"},
        "best_of": {"best_of": 3},
        "n": {"n": 0},
    }
    with connect(target) as client:
        for param, more in asks.items():
            error = refused(
                "BadRequestError", client.completions.create, model=target.model("scripted"), prompt="a", **more
            )
            assert (error.param, error.code) == (param, "400")


@OPENAI.check(COMPLETIONS, error="BadRequestError")
def a_suffix_needs_a_model_that_fills_in(target: Target) -> None:
    with connect(target) as client:
        error = refused("BadRequestError", client.completions.create, model=target.model("chat"), **CODE)
    assert error.param == "suffix"


@OPENAI.check(EMBEDDINGS)
def vectors_are_the_same_in_both_encodings(target: Target) -> None:
    ask = {"model": target.model("embed"), "input": ["a cat", "a dog"]}
    with connect(target) as client:
        packed = client.embeddings.create(**ask)
        plain = client.embeddings.create(**ask, encoding_format="float")
        raw = client.embeddings.create(**ask, encoding_format="base64")
    assert (plain.object, plain.data[0].object, [row.index for row in plain.data]) == ("list", "embedding", [0, 1])
    assert isinstance(raw.data[0].embedding, str)
    for one, other in zip(packed.data, plain.data, strict=True):
        assert max(abs(a - b) for a, b in zip(one.embedding, other.embedding, strict=True)) < 1e-6
    assert packed.usage.prompt_tokens == plain.usage.prompt_tokens == plain.usage.total_tokens > 0


@OPENAI.check(EMBEDDINGS)
def alike_texts_have_alike_vectors(target: Target) -> None:
    with connect(target) as client:
        got = client.embeddings.create(
            model=target.model("embed"), input=["a kitten sleeps", "a cat is asleep", "stock prices fell"]
        )
    cat, other, far = (row.embedding for row in got.data)
    assert sum(a * b for a, b in zip(cat, other, strict=True)) > sum(a * b for a, b in zip(cat, far, strict=True)) + 0.2


@OPENAI.check(EMBEDDINGS)
def shorter_vectors_have_length_one(target: Target) -> None:
    with connect(target) as client:
        got = client.embeddings.create(model=target.model("embed"), input="a cat", dimensions=64)
        plain = client.embeddings.create(
            model=target.model("embed"), input="a cat", dimensions=64, encoding_format="float"
        )
    for one in (got.data[0].embedding, plain.data[0].embedding):
        assert len(one) == 64
        assert abs(sqrt(sum(value * value for value in one)) - 1) < 1e-3


@OPENAI.check(EMBEDDINGS)
def an_input_may_be_tokens(target: Target) -> None:
    with connect(target) as client:
        cut = tokens(client, target, "embed", "a cat")
        one = client.embeddings.create(model=target.model("embed"), input=cut)
        two = client.embeddings.create(model=target.model("embed"), input=[cut, cut])
    assert len(one.data) == 1
    assert [row.index for row in two.data] == [0, 1]
    assert max(abs(a - b) for a, b in zip(one.data[0].embedding, two.data[1].embedding, strict=True)) < 1e-4


@OPENAI.check(EMBEDDINGS)
def many_inputs_come_back_in_their_order(target: Target) -> None:
    texts = [f"text number {n}" for n in range(24)]
    with connect(target) as client:
        got = client.embeddings.create(model=target.model("embed"), input=texts)
        alone = client.embeddings.create(model=target.model("embed"), input=texts[17])
    assert [row.index for row in got.data] == list(range(24))
    assert max(abs(a - b) for a, b in zip(got.data[17].embedding, alone.data[0].embedding, strict=True)) < 1e-2


@OPENAI.check(EMBEDDINGS, error="BadRequestError")
def what_a_vector_cannot_be_made_of_is_named(target: Target) -> None:
    asks: dict[str, Any] = {
        "input": {"input": []},
        "dimensions": {"input": "a", "dimensions": 100_000},
        "encoding_format": {"input": "a", "encoding_format": "hex"},
    }
    with connect(target) as client:
        for param, more in asks.items():
            error = refused("BadRequestError", client.embeddings.create, model=target.model("embed"), **more)
            assert (error.param, error.code, error.type) == (param, "400", "blazar_error")


@OPENAI.check(EMBEDDINGS, error="BadRequestError")
def vectors_of_a_chat_model_are_refused(target: Target) -> None:
    with connect(target) as client:
        error = refused("BadRequestError", client.embeddings.create, model=target.model("chat"), input="a")
    assert "not an embedding model" in error.message
    assert target.model("embed") in error.message


@OPENAI.check(MODELS)
def models_are_listed_and_found(target: Target) -> None:
    with connect(target) as client:
        listed = {model.id: model for model in client.models.list()}
        for name in target.models.values():
            found = client.models.retrieve(name)
            assert (found.id, found.object, listed[name].created) == (name, "model", found.created)
            assert found.owned_by


@OPENAI.check(MODELS, error="NotFoundError")
def a_model_that_is_not_there_is_not_found(target: Target) -> None:
    with connect(target) as client:
        for name in ("no-such-model", "a/b", "ünknown"):
            error = refused("NotFoundError", client.models.retrieve, model=name)
            assert (error.status_code, error.code, error.type) == (404, "404", "blazar_error")


@OPENAI.check(CHAT, error="NotFoundError")
def an_unknown_model_is_not_found(target: Target) -> None:
    with connect(target) as client:
        for stream in (False, True):
            error = refused(
                "NotFoundError",
                client.chat.completions.create,
                model=target.model("chat") + "x",
                messages=HI,
                stream=stream,
            )
            assert target.model("chat") in error.message
            assert (error.code, error.status_code, error.request_id[:4]) == ("404", 404, "plm-")


@OPENAI.check(CHAT, error="BadRequestError")
def a_field_that_cannot_be_is_named(target: Target) -> None:
    asks: dict[str, Any] = {
        "n": {"n": 0},
        "stop": {"stop": 5},
        "logit_bias": {"logit_bias": {"5": "much"}},
        "temperature": {"temperature": "warm"},
        "max_tokens": {"max_tokens": "x"},
        "reasoning_effort": {"reasoning_effort": "bogus"},
        "max_completion_tokens": {"max_completion_tokens": 0},
        "top_logprobs": {"logprobs": True, "top_logprobs": 25},
        "tool_choice": {"tool_choice": "required"},
        "metadata": {"metadata": "x"},
    }
    with connect(target) as client:
        for param, more in asks.items():
            error = refused(
                "BadRequestError", client.chat.completions.create, model=target.model("chat"), messages=HI, **more
            )
            assert (error.param, error.body["message"] in error.message) == (param, True)


@OPENAI.check(CHAT)
def a_limit_of_billions_is_no_limit(target: Target) -> None:
    with connect(target) as client:
        for more in ({"max_tokens": 2**32 + 5}, {"max_completion_tokens": 2**31}):
            got = client.chat.completions.create(model=target.model("scripted"), messages=HI, **more)
            assert (got.choices[0].message.content, got.choices[0].finish_reason) == (HELLO, "stop")


@OPENAI.check(CHAT, error="BadRequestError")
def messages_that_are_none_are_refused(target: Target) -> None:
    with connect(target) as client:
        for messages in ("hi", [], [5], None):
            error = refused(
                "BadRequestError",
                client.chat.completions.create,
                model=target.model("chat"),
                messages=messages,
                max_tokens=2,
            )
            assert error.message


@OPENAI.check(CHAT, error="BadRequestError")
def a_chat_with_an_embedding_model_is_refused(target: Target) -> None:
    with connect(target) as client:
        for stream in (False, True):
            error = refused(
                "BadRequestError",
                client.chat.completions.create,
                model=target.model("embed"),
                messages=HI,
                stream=stream,
            )
            assert "/v1/embeddings" in error.message


@OPENAI.check(CHAT, error="BadRequestError")
def a_picture_for_a_model_that_reads_text_is_refused(target: Target) -> None:
    pixel = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    parts: Any = [{"type": "text", "text": "what?"}, {"type": "image_url", "image_url": {"url": pixel}}]
    with connect(target) as client:
        error = refused(
            "BadRequestError",
            client.chat.completions.create,
            model=target.model("chat"),
            messages=[{"role": "user", "content": parts}],
        )
    assert "image" in error.message or "picture" in error.message


@OPENAI.check(CHAT, error="BadRequestError")
def a_prompt_that_does_not_fit_is_refused_with_sizes(target: Target) -> None:
    words = [{"role": "user", "content": "w" * 60_000}]
    with connect(target) as client:
        for stream in (False, True):
            error = refused(
                "BadRequestError",
                client.chat.completions.create,
                model=target.model("scripted"),
                messages=words,
                stream=stream,
            )
            assert len([size for size in re.findall(r"\d+", error.message) if int(size) > 1000]) >= 2


@OPENAI.check("/v1/moderations", error="NotFoundError")
def a_route_that_is_not_there_is_not_found(target: Target) -> None:
    with connect(target) as client:
        error = refused("NotFoundError", client.moderations.create, input="x")
    assert "/v1/moderations" in error.message
    assert error.code == "404"


@OPENAI.check(CHAT, stream=True)
def a_stream_that_is_closed_leaves_the_client_usable(target: Target) -> None:
    with connect(target) as client:
        stream = client.chat.completions.create(model=target.model("scripted"), messages=LONG, stream=True)
        for chunk in stream:
            if chunk.choices[0].delta.content:
                break
        stream.close()
        listed = [model.id for model in client.models.list()]
        again = client.chat.completions.create(model=target.model("scripted"), messages=HI, stream=True)
        assert "".join(chunk.choices[0].delta.content or "" for chunk in again) == HELLO
    assert target.model("scripted") in listed
