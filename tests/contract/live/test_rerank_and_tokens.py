"""Ranking, tokens, templates and what only some models can do, on the real engine; in the words of three clients."""

import math
from collections.abc import Iterator
from typing import Any

import anthropic
import ollama
import openai
import pytest

from tests.contract.live.conftest import Gateway

HI: Any = [{"role": "user", "content": "hi"}]
TOOL: Any = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
DOCUMENTS: Any = ["a cat sat", {"text": "bread is baked", "id": 7}, "paris is in france", ""]


@pytest.fixture
def client(gateway: Gateway) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{gateway.url}/v1", api_key=gateway.key, max_retries=0, timeout=120) as made:
        yield made


def ask(client: openai.OpenAI, gateway: Gateway, path: str, **body: Any) -> Any:
    """A route that the package has no method for."""
    return client.post(f"{gateway.url}{path}", body=body, cast_to=object)


@pytest.mark.parametrize("path", ["/v1/rerank", "/rerank", "/v1/reranking", "/reranking"])
def test_documents_come_in_the_order_of_their_scores(
    client: openai.OpenAI, gateway: Gateway, ranking_model: str, path: str
) -> None:
    """Every document once, the best first, counted (M7)."""
    got = ask(client, gateway, path, model=ranking_model, query="where is paris", documents=DOCUMENTS)
    scores = [row["relevance_score"] for row in got["results"]]
    assert scores == sorted(scores, reverse=True)
    assert sorted(row["index"] for row in got["results"]) == [0, 1, 2, 3]
    assert (got["model"], got["object"]) == (ranking_model, "list")
    assert got["usage"]["prompt_tokens"] == got["usage"]["total_tokens"] > 0
    assert not any("document" in row for row in got["results"])


def test_the_best_few_between_nothing_and_one(client: openai.OpenAI, gateway: Gateway, ranking_model: str) -> None:
    """`top_n`, `normalize` and `return_documents`: the same order, squeezed; a document as it came (M7)."""
    body = {"model": ranking_model, "query": "where is paris", "documents": DOCUMENTS}
    plain = ask(client, gateway, "/v1/rerank", **body)["results"]
    got = ask(client, gateway, "/v1/rerank", **body, top_n=2, normalize=True, return_documents=True)["results"]
    assert [row["index"] for row in got] == [row["index"] for row in plain[:2]]
    for row, raw in zip(got, plain, strict=False):
        assert row["relevance_score"] == pytest.approx(1 / (1 + math.exp(-raw["relevance_score"])))
        given = DOCUMENTS[row["index"]]
        assert row["document"] == (given if isinstance(given, dict) else {"text": given})


def test_more_documents_than_the_engine_has_places(client: openai.OpenAI, gateway: Gateway, ranking_model: str) -> None:
    """All are scored; equal ones equally, in the order they came in."""
    got = ask(client, gateway, "/v1/rerank", model=ranking_model, query="x", documents=["same"] * 40)["results"]
    assert [row["index"] for row in got] == list(range(40))
    assert len({row["relevance_score"] for row in got}) == 1


def test_a_document_that_does_not_fit_is_a_400_with_its_sizes(
    client: openai.OpenAI, gateway: Gateway, ranking_model: str
) -> None:
    """The engine calls it its own failure; the next request finds it well."""
    with pytest.raises(openai.BadRequestError, match="tokens together") as caught:
        ask(client, gateway, "/v1/rerank", model=ranking_model, query="x", documents=["word " * 3000])
    assert caught.value.param == "documents"
    assert ask(client, gateway, "/v1/rerank", model=ranking_model, query="x", documents=["y"])["results"]


def test_tokens_and_back(client: openai.OpenAI, gateway: Gateway) -> None:
    """A text survives the way through a model's tokens; what is no text on its own comes as bytes."""
    text = "Hi é, the sky is blue 😀"
    cut = ask(client, gateway, "/tokenize", model=gateway.chat, content=text)["tokens"]
    assert ask(client, gateway, "/detokenize", model=gateway.chat, tokens=cut)["content"] == text
    pieces = ask(client, gateway, "/tokenize", model=gateway.chat, content=text, with_pieces=True)["tokens"]
    assert [piece["id"] for piece in pieces] == cut
    told = (p["piece"] if isinstance(p["piece"], str) else bytes(p["piece"]) for p in pieces)
    assert b"".join(p.encode() if isinstance(p, str) else p for p in told).decode() == text


def test_every_model_that_reads_text_has_tokens(client: openai.OpenAI, gateway: Gateway) -> None:
    """An embedding model, too; with the marks that it wants around a text."""
    bare = ask(client, gateway, "/tokenize", model=gateway.embed, content="hi")["tokens"]
    marked = ask(client, gateway, "/tokenize", model=gateway.embed, content="hi", add_special=True)["tokens"]
    assert marked[1:-1] == bare


@pytest.mark.parametrize(
    ("path", "body", "named"),
    [
        ("/tokenize", {}, "content"),
        ("/tokenize", {"content": 5}, "content"),
        ("/tokenize", {"content": [10**9], "with_pieces": True}, "content"),
        ("/detokenize", {}, "tokens"),
        ("/detokenize", {"tokens": [-1]}, "tokens"),
        ("/detokenize", {"tokens": [10**9]}, "tokens"),
        ("/detokenize", {"tokens": ["a"]}, "tokens"),
        ("/apply-template", {}, "messages"),
        ("/apply-template", {"messages": [{"content": "x"}]}, "messages[0]"),
    ],
)
def test_what_is_no_text_and_no_token_is_named(
    client: openai.OpenAI, gateway: Gateway, path: str, body: dict[str, Any], named: str
) -> None:
    """A 400, also where the engine calls it its own failure."""
    with pytest.raises(openai.BadRequestError) as caught:
        ask(client, gateway, path, model=gateway.chat, **body)
    assert caught.value.param == named


def test_a_template_shows_the_prompt_that_a_chat_has(client: openai.OpenAI, gateway: Gateway) -> None:
    """To the token: it counts what the chat's prompt counts."""
    prompt = ask(client, gateway, "/apply-template", model=gateway.chat, messages=HI)["prompt"]
    assert "hi" in prompt
    cut = ask(client, gateway, "/tokenize", model=gateway.chat, content=prompt, add_special=True)["tokens"]
    got = client.chat.completions.create(model=gateway.chat, messages=HI, max_tokens=1)
    assert got.usage is not None
    assert got.usage.prompt_tokens == len(cut)


def test_shorter_vectors(client: openai.OpenAI, gateway: Gateway) -> None:
    """The first numbers of the long one, of length 1 again, in both dialects and encodings; not longer than it is (M8)."""
    whole = client.embeddings.create(model=gateway.embed, input="hi", encoding_format="float").data[0].embedding
    length = math.sqrt(sum(number * number for number in whole[:64]))
    wanted = [number / length for number in whole[:64]]
    base64 = client.embeddings.create(model=gateway.embed, input="hi", dimensions=64)  # the package asks for it
    floats = client.embeddings.create(model=gateway.embed, input="hi", dimensions=64, encoding_format="float")
    for got in (base64, floats):
        assert got.data[0].embedding == pytest.approx(wanted, abs=1e-5)
    with ollama.Client(host=gateway.url) as other:
        own = other.embed(model=gateway.embed, input="hi", dimensions=64)
    assert own.embeddings[0] == pytest.approx(wanted, abs=1e-5)
    with pytest.raises(openai.BadRequestError) as caught:
        client.embeddings.create(model=gateway.embed, input="hi", dimensions=len(whole) + 1)
    assert caught.value.param == "dimensions"


def test_more_inputs_than_the_engine_has_places(client: openai.OpenAI, gateway: Gateway) -> None:
    """Texts and tokens, in their order; a vector each, equal ones equal (M3)."""
    texts = [f"text {at % 7}" for at in range(200)]
    got = client.embeddings.create(model=gateway.embed, input=texts, encoding_format="float")
    assert [row.index for row in got.data] == list(range(200))
    assert got.data[3].embedding == pytest.approx(got.data[10].embedding, abs=1e-4)
    cut = [
        ask(client, gateway, "/tokenize", model=gateway.embed, content=text, add_special=True)["tokens"]
        for text in texts[:2]
    ]
    same = client.embeddings.create(model=gateway.embed, input=cut, encoding_format="float")
    assert same.data[1].embedding == pytest.approx(got.data[1].embedding, abs=1e-4)
    with pytest.raises(openai.BadRequestError):
        client.embeddings.create(model=gateway.embed, input=[10**9])


def test_late_chunking_of_a_model_that_was_not_told_to(client: openai.OpenAI, gateway: Gateway) -> None:
    """It says how."""
    with pytest.raises(openai.BadRequestError, match="late_chunking = true"):
        client.embeddings.create(model=gateway.embed, input=["a", "b"], extra_body={"late_chunking": True})


def refusals(gateway: Gateway, model: str, *, tools: bool = False) -> set[str]:
    """What three clients hear of a chat with it."""
    heard = set()
    with (
        openai.OpenAI(base_url=f"{gateway.url}/v1", api_key=gateway.key, max_retries=0, timeout=120) as one,
        anthropic.Anthropic(base_url=gateway.url, api_key=gateway.key, max_retries=0, timeout=120) as two,
    ):
        with pytest.raises(openai.BadRequestError) as first:
            one.chat.completions.create(model=model, messages=HI, max_tokens=2, **({"tools": [TOOL]} if tools else {}))
        own: Any = {"tools": [{"name": "f", "input_schema": {"type": "object", "properties": {}}}]} if tools else {}
        with pytest.raises(anthropic.BadRequestError) as second:
            two.messages.create(model=model, messages=HI, max_tokens=2, **own)
    with ollama.Client(host=gateway.url) as three, pytest.raises(ollama.ResponseError) as third:
        three.chat(model=model, messages=HI, tools=[TOOL] if tools else None)
    heard.add(first.value.body["message"])  # type: ignore[index]
    heard.add(second.value.body["error"]["message"])  # type: ignore[index]
    heard.add(third.value.error)
    return heard


def test_what_a_model_cannot_do_is_one_sentence_in_every_dialect(gateway: Gateway, ranking_model: str) -> None:
    """Chats with a model that embeds or ranks, and tools for a template without any; each names the way that there is."""
    for model, route in ((gateway.embed, "/v1/embeddings"), (ranking_model, "/v1/rerank")):
        (said,) = refusals(gateway, model)
        assert route in said
        assert gateway.chat in said
    (said,) = refusals(gateway, gateway.chat, tools=True)
    assert "tools" in said


def test_embeddings_and_rankings_of_other_models_are_refused(
    client: openai.OpenAI, gateway: Gateway, ranking_model: str
) -> None:
    """With the model here that can."""
    for model in (gateway.chat, ranking_model):
        with pytest.raises(openai.BadRequestError, match=gateway.embed):
            client.embeddings.create(model=model, input="x")
        with ollama.Client(host=gateway.url) as own, pytest.raises(ollama.ResponseError, match=gateway.embed):
            own.embed(model=model, input="x")
    for model in (gateway.chat, gateway.embed):
        with pytest.raises(openai.BadRequestError, match=ranking_model):
            ask(client, gateway, "/v1/rerank", model=model, query="x", documents=["y"])
