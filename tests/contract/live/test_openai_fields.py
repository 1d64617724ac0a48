"""Every field of a chat and of a raw completion that is not sampling alone: what the real engine behind the gateway does with it."""

from collections.abc import Iterator
from typing import Any

import httpx
import openai
import pytest

from tests.contract.live.conftest import Gateway

HI: Any = [{"role": "user", "content": "Say hi"}]
SHORT: dict[str, Any] = {"max_tokens": 3, "temperature": 0}


@pytest.fixture
def client(gateway: Gateway) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{gateway.url}/v1", api_key=gateway.key, max_retries=0, timeout=120) as made:
        yield made


def chat(client: openai.OpenAI, gateway: Gateway, **fields: Any) -> Any:
    """The raw answer: its headers tell what was ignored."""
    return client.chat.completions.with_raw_response.create(
        model=gateway.chat, messages=HI, extra_body={**SHORT, **fields}
    )


@pytest.mark.parametrize(
    ("fields", "ignored"),
    [
        ({"user": "u"}, []),
        ({"service_tier": "auto"}, []),
        ({"metadata": {"a": "b"}}, []),
        ({"seed": 7}, []),
        ({"parallel_tool_calls": False}, []),
        ({"reasoning_effort": "low"}, []),
        ({"think": False}, []),
        ({"stop": ["q1", "q2", "q3", "q4", "q5", "q6"]}, []),
        ({"max_tokens": None, "max_completion_tokens": 2}, []),
        ({"modalities": ["text"]}, []),
        ({"modalities": ["text", "audio"]}, ["modalities"]),
        ({"audio": {"voice": "a", "format": "wav"}}, ["audio"]),
        ({"prediction": {"type": "content", "content": "x"}}, ["prediction"]),
        ({"web_search_options": {}}, ["web_search_options"]),
        ({"verbosity": "low"}, ["verbosity"]),
    ],
)
def test_a_field_of_a_chat_is_taken_or_named(
    client: openai.OpenAI, gateway: Gateway, fields: dict[str, Any], ignored: list[str]
) -> None:
    """Nothing is lost in silence: what has no effect here stands in `x-blazar-warning`."""
    got = chat(client, gateway, **fields)
    warned = got.headers.get_list("x-blazar-warning")
    assert [f"'{field}'" in warning for field, warning in zip(ignored, warned, strict=True)] == [True] * len(ignored)
    bound = fields.get("max_completion_tokens", 3)
    assert 0 < got.parse().usage.completion_tokens <= bound


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"n": 0}, "n"),
        ({"n": 129}, "n"),
        ({"n": "two"}, "n"),
        ({"stop": 5}, "stop"),
        ({"logit_bias": {"5": "much"}}, "logit_bias"),
        ({"reasoning_effort": 5}, "reasoning_effort"),
        ({"max_tokens": "x"}, "max_tokens"),
        ({"temperature": "x"}, "temperature"),
        ({"echo": True}, "echo"),
        ({"best_of": 2}, "best_of"),
        ({"response_format": {"type": "gbnf"}}, "response_format.grammar"),
        ({"response_format": 5}, "response_format"),
    ],
)
def test_a_field_that_cannot_be_is_named(
    client: openai.OpenAI, gateway: Gateway, fields: dict[str, Any], named: str
) -> None:
    """A 400 with the field as its `param`, whoever found it."""
    with pytest.raises(openai.BadRequestError) as caught:
        chat(client, gateway, **fields)
    assert caught.value.param == named


def test_top_alternatives_need_their_switch(client: openai.OpenAI, gateway: Gateway) -> None:
    """As the service says it, too."""
    with pytest.raises(openai.BadRequestError, match="top_logprobs"):
        chat(client, gateway, top_logprobs=2)


def test_log_probabilities_of_a_chat(client: openai.OpenAI, gateway: Gateway) -> None:
    """One entry a token, with as many alternatives as were asked for; the likeliest is what greedy sampling takes."""
    got = client.chat.completions.create(
        model=gateway.chat, messages=HI, max_tokens=3, temperature=0, logprobs=True, top_logprobs=2
    )
    told = got.choices[0].logprobs
    assert told is not None
    assert told.content is not None
    assert "".join(one.token for one in told.content).startswith(got.choices[0].message.content or "x")
    assert {len(one.top_logprobs) for one in told.content} == {2}
    assert all(one.top_logprobs[0].token == one.token for one in told.content)


def test_a_bias_forbids_a_token(client: openai.OpenAI, gateway: Gateway) -> None:
    """The engine's own numbers for tokens, as `/tokenize` tells them."""
    told = client.chat.completions.create(model=gateway.chat, messages=HI, max_tokens=1, temperature=0)
    word = told.choices[0].message.content
    cut: Any = client.post(f"{gateway.url}/tokenize", body={"model": gateway.chat, "content": word}, cast_to=object)
    got = client.chat.completions.create(
        model=gateway.chat, messages=HI, max_tokens=1, temperature=0, logit_bias={str(cut["tokens"][0]): -100}
    )
    assert got.choices[0].message.content != word


def test_several_answers(client: openai.OpenAI, gateway: Gateway) -> None:
    """More than the child has slots; every token counts, the prompt once, and a seed is no reason to say the same."""
    one = client.chat.completions.create(model=gateway.chat, messages=HI, max_tokens=4)
    got = client.chat.completions.create(model=gateway.chat, messages=HI, max_tokens=4, n=5, seed=3, temperature=2)
    assert [choice.index for choice in got.choices] == [0, 1, 2, 3, 4]
    assert len({choice.message.content for choice in got.choices}) > 1
    assert got.usage is not None
    assert one.usage is not None
    assert got.usage.prompt_tokens == one.usage.prompt_tokens
    assert 4 < got.usage.completion_tokens <= 20


def test_several_answers_stream(client: openai.OpenAI, gateway: Gateway) -> None:
    """One id, choices that begin and finish, the same counts as whole."""
    options: Any = {"include_usage": True}
    ask: dict[str, Any] = {"model": gateway.chat, "messages": HI, "max_tokens": 3, "n": 2, "temperature": 0}
    chunks = list(client.chat.completions.create(**ask, stream=True, stream_options=options))
    assert len({chunk.id for chunk in chunks}) == 1
    finished = [choice.index for chunk in chunks for choice in chunk.choices if choice.finish_reason]
    assert finished == [0, 1]
    whole = client.chat.completions.create(**ask)
    texts = ["".join(c.delta.content or "" for k in chunks for c in k.choices if c.index == at) for at in (0, 1)]
    assert texts == [choice.message.content for choice in whole.choices]
    assert whole.usage is not None
    assert [(k.usage.prompt_tokens, k.usage.completion_tokens) for k in chunks if k.usage] == [
        (whole.usage.prompt_tokens, whole.usage.completion_tokens)
    ]


def test_a_grammar_holds_an_answer(client: openai.OpenAI, gateway: Gateway) -> None:
    """With its receipt."""
    form = {"type": "gbnf", "grammar": 'root ::= "yes" | "no"'}
    got = chat(client, gateway, response_format=form, max_tokens=8)
    assert got.headers["x-blazar-structured-output"] == "gbnf"
    assert got.parse().choices[0].message.content in ("yes", "no")


@pytest.mark.parametrize("stream", [False, True])
def test_a_raw_completion_of_several_prompts(client: openai.OpenAI, gateway: Gateway, *, stream: bool) -> None:
    """Texts and tokens, two of each; all prompts count."""
    cut: Any = client.post(
        f"{gateway.url}/tokenize", body={"model": gateway.chat, "content": "The sky"}, cast_to=object
    )
    ask: Any = {"model": gateway.chat, "prompt": ["The sky", cut["tokens"]], "n": 2, "max_tokens": 2, "temperature": 0}
    if not stream:
        got = client.completions.create(**ask)
        texts = {choice.index: choice.text for choice in got.choices}
        usage = got.usage
    else:
        chunks = list(client.completions.create(**ask, stream=True, stream_options={"include_usage": True}))
        texts = {at: "".join(c.text for k in chunks for c in k.choices if c.index == at) for at in range(4)}
        assert [k.usage is not None for k in chunks].count(True) == 1
        usage = chunks[-1].usage
        assert chunks[-1].choices == []
    assert sorted(texts) == [0, 1, 2, 3]
    assert len(set(texts.values())) == 1
    assert usage is not None
    assert (usage.prompt_tokens, usage.completion_tokens) == (2 * len(cut["tokens"]), 8)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("alternatives", [0, 2])
def test_log_probabilities_of_a_raw_completion(
    client: openai.OpenAI, gateway: Gateway, alternatives: int, *, stream: bool
) -> None:
    """The four lists of the completions route, one entry a token, where engines write a chat's."""
    ask: Any = {"model": gateway.chat, "prompt": "The sky is", "max_tokens": 3, "temperature": 0}
    got: Any = client.completions.create(**ask, logprobs=alternatives, stream=stream)
    told = [k.choices[0].logprobs for k in (got if stream else [got]) if k.choices and k.choices[0].logprobs]
    tokens = [token for one in told for token in one.tokens]
    assert len(tokens) == sum(len(one.token_logprobs) for one in told) == 3
    offsets = [offset for one in told for offset in one.text_offset]
    assert offsets == [len("".join(tokens[:at])) for at in range(3)]
    assert [one.top_logprobs is None for one in told] == [alternatives == 0] * len(told)
    if alternatives:
        assert {len(top) for one in told for top in one.top_logprobs} == {2}


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"echo": "x"}, "echo"),
        ({"echo": True, "logprobs": 0}, "logprobs"),
        ({"best_of": 3}, "best_of"),
        ({"logprobs": -1}, "logprobs"),
        ({"n": 0}, "n"),
        ({"suffix": "b", "n": 2}, "n"),
        ({"suffix": "b", "logprobs": 2}, "logprobs"),
        ({"suffix": "b", "prompt": ["a", "c"]}, "prompt"),
        ({"max_tokens": "x"}, "max_tokens"),
    ],
)
def test_a_field_of_a_raw_completion_that_cannot_be_is_named(
    client: openai.OpenAI, gateway: Gateway, fields: dict[str, Any], named: str
) -> None:
    """A 400 with the field."""
    with pytest.raises(openai.BadRequestError) as caught:
        client.completions.create(model=gateway.chat, prompt="a", extra_body=fields)
    assert caught.value.param == named


@pytest.mark.parametrize("prompt", [[], 5, {"a": 1}, [-1], [10**9], [True]])
def test_a_prompt_that_is_none_is_a_400(client: openai.OpenAI, gateway: Gateway, prompt: Any) -> None:
    """The engine's own sentence."""
    with pytest.raises(openai.BadRequestError):
        client.completions.create(model=gateway.chat, prompt=prompt, max_tokens=2)


@pytest.mark.parametrize("stream", [False, True])
def test_a_prompt_is_repeated_before_its_completion(client: openai.OpenAI, gateway: Gateway, stream: bool) -> None:
    """Texts, lists and tokens, with `n`; the counts are those of the request without it."""
    url = gateway.url.removesuffix("/v1")
    made = httpx.post(
        f"{url}/tokenize",
        json={"model": gateway.chat, "content": "The sky is"},
        headers={"authorization": f"Bearer {gateway.key}"},
    )
    tokens = made.json()["tokens"]
    ask: dict[str, Any] = {"model": gateway.chat, "max_tokens": 3, "temperature": 0}
    for prompt, n in (
        ("The sky is", 1),
        (tokens, 1),
        (["The sky is", "A b"], 1),
        (["The sky is", "A b"], 2),
        ([tokens], 2),
    ):
        prompts = ["The sky is"] if prompt is tokens else prompt if isinstance(prompt, list) else [prompt]
        plain = client.completions.create(**ask, prompt=prompt, n=n)
        got: Any = client.completions.create(**ask, prompt=prompt, n=n, echo=True, stream=stream)
        texts: dict[int, str] = {}
        for answer in got if stream else [got]:
            for choice in answer.choices:
                texts[choice.index] = texts.get(choice.index, "") + choice.text
        wanted = [text if isinstance(text, str) else "The sky is" for text in prompts for _ in range(n)]
        assert len(texts) == len(wanted)
        assert all(texts[at].startswith(wanted[at]) and len(texts[at]) > len(wanted[at]) for at in texts)
        if not stream:
            assert (got.usage.prompt_tokens, got.usage.completion_tokens) == (
                plain.usage.prompt_tokens,
                plain.usage.completion_tokens,
            )


def test_a_prompt_may_be_all_that_is_wanted(client: openai.OpenAI, gateway: Gateway) -> None:
    """`echo` and no token behind it."""
    got = client.completions.create(model=gateway.chat, prompt="The sky is", max_tokens=0, echo=True)
    assert (got.choices[0].text, got.usage.completion_tokens) == ("The sky is", 0)
