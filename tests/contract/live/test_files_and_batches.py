"""Files and batches through the stock `openai` and `anthropic` packages, answered by the real engine."""

import json
from collections.abc import Iterator
from typing import Any

import anthropic
import openai
import pytest
from anthropic.types.messages.batch_create_params import Request

from tests.contract.live.conftest import Gateway
from tests.support.daemon import WATCHDOG, wait_until

LONG = WATCHDOG


@pytest.fixture
def client(gateway: Gateway) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{gateway.url}/v1", api_key=gateway.key, max_retries=0, timeout=120) as made:
        yield made


@pytest.fixture
def claude(gateway: Gateway) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=gateway.url, api_key=gateway.key, max_retries=0, timeout=120) as made:
        yield made


def sent(client: openai.OpenAI, *lines: Any) -> Any:
    data = "\n".join(json.dumps(line) for line in lines).encode()
    return client.files.create(file=("requests.jsonl", data), purpose="batch")


def ended(client: openai.OpenAI, batch: str) -> Any:
    over = ("completed", "failed", "cancelled", "expired")
    assert wait_until(lambda: client.batches.retrieve(batch).status in over, LONG)
    return client.batches.retrieve(batch)


def results(client: openai.OpenAI, file: str | None) -> list[Any]:
    return [] if file is None else [json.loads(line) for line in client.files.content(file).text.splitlines()]


def test_a_files_life(client: openai.OpenAI) -> None:
    """Create, describe, list, read, delete."""
    made = client.files.create(file=("é notes.txt", b"hello\r\n\x00\xff"), purpose="user_data")
    assert (made.object, made.bytes, made.filename, made.purpose) == ("file", 9, "é notes.txt", "user_data")
    assert client.files.retrieve(made.id) == made
    assert made.id in [file.id for file in client.files.list(purpose="user_data", limit=1)]
    assert client.files.content(made.id).content == b"hello\r\n\x00\xff"
    assert client.files.delete(made.id).deleted is True
    for wish in (client.files.retrieve, client.files.content, client.files.delete):
        with pytest.raises(openai.NotFoundError):
            wish(made.id)


def test_a_files_life_may_be_bounded(client: openai.OpenAI) -> None:
    """By the client's own words for it; a purpose that is none is a 400 that names it."""
    made = client.files.create(file=b"x", purpose="vision", expires_after={"anchor": "created_at", "seconds": 3600})
    assert made.expires_at == made.created_at + 3600
    client.files.delete(made.id)
    with pytest.raises(openai.BadRequestError) as refused:
        client.files.create(file=b"x", purpose="fine-tune")
    assert refused.value.param == "purpose"


def test_pages_of_files(client: openai.OpenAI) -> None:
    """The client goes through them by itself, each file once."""
    made = [client.files.create(file=b"x", purpose="assistants").id for _ in range(5)]
    found = [file.id for file in client.files.list(purpose="assistants", limit=2, order="asc")]
    for file in made:
        client.files.delete(file)
    assert len(set(found)) == len(found)
    assert [file for file in found if file in made] == made  # others may lie there, too


def test_a_batch_of_chats(client: openai.OpenAI, gateway: Gateway) -> None:
    """The answer to each line is the one that the endpoint gives; a line at fault is in the error file."""
    url = "/v1/chat/completions"
    body = {"model": gateway.chat, "max_tokens": 8, "messages": [{"role": "user", "content": "Say hello."}], "seed": 1}
    good = {"custom_id": "good", "method": "POST", "url": url, "body": {**body, "temperature": 0}}
    bad = {"custom_id": "bad", "method": "POST", "url": url, "body": {**body, "model": "no-such-model"}}
    streams = {"custom_id": "streams", "method": "POST", "url": url, "body": {**body, "stream": True}}
    file = sent(client, good, bad, streams)
    made = client.batches.create(
        input_file_id=file.id, endpoint=url, completion_window="24h", metadata={"what": "test"}
    )
    assert (made.object, made.metadata) == ("batch", {"what": "test"})
    assert made.id in [batch.id for batch in client.batches.list(limit=1)]
    done = ended(client, made.id)
    assert (done.status, done.request_counts.total, done.request_counts.completed, done.request_counts.failed) == (
        "completed",
        3,
        1,
        2,
    )
    (answer,) = results(client, done.output_file_id)
    direct = client.chat.completions.create(**{**body, "temperature": 0})
    assert answer["custom_id"] == "good"
    assert answer["response"]["body"]["choices"][0]["message"]["content"] == direct.choices[0].message.content
    assert openai.types.chat.ChatCompletion.model_validate(answer["response"]["body"]).usage
    errors = {line["custom_id"]: line["response"] for line in results(client, done.error_file_id)}
    assert (errors["bad"]["status_code"], errors["streams"]["status_code"]) == (404, 400)
    assert client.batches.cancel(made.id).status == "completed"
    assert client.files.retrieve(done.output_file_id).purpose == "batch_output"


@pytest.mark.parametrize("url", ["/v1/completions", "/v1/embeddings", "/v1/responses"])
def test_batches_of_other_endpoints(client: openai.OpenAI, gateway: Gateway, url: str) -> None:
    """Raw completions, vectors of the embedding model, and responses."""
    bodies = {
        "/v1/completions": {"model": gateway.chat, "prompt": "One, two,", "max_tokens": 4},
        "/v1/embeddings": {"model": gateway.embed, "input": ["a", "b"]},
        "/v1/responses": {"model": gateway.chat, "input": "Say hello.", "max_output_tokens": 16, "store": False},
    }
    file = sent(client, {"custom_id": "a", "method": "POST", "url": url, "body": bodies[url]})
    done = ended(client, client.batches.create(input_file_id=file.id, endpoint=url, completion_window="24h").id)  # type: ignore[arg-type]
    assert done.status == "completed"
    (answer,) = results(client, done.output_file_id)
    said = answer["response"]["body"]
    parts = {"/v1/completions": "choices", "/v1/embeddings": "data", "/v1/responses": "output"}
    assert len(said[parts[url]]) == (2 if url == "/v1/embeddings" else 1)


def test_a_file_at_fault_fails_as_a_whole(client: openai.OpenAI) -> None:
    """With its lines, and nothing of it is asked."""
    file = sent(client, {"custom_id": "a"}, [])
    done = ended(
        client,
        client.batches.create(input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h").id,
    )
    assert (done.status, [error.line for error in done.errors.data]) == ("failed", [1, 2])


def test_a_batch_is_cancelled(client: openai.OpenAI, gateway: Gateway) -> None:
    """Every line has one result: what was answered, and the rest."""
    url = "/v1/chat/completions"
    body = {"model": gateway.chat, "max_tokens": 40, "messages": [{"role": "user", "content": "Tell me a story."}]}
    lines = [{"custom_id": f"r{n}", "method": "POST", "url": url, "body": body} for n in range(30)]
    made = client.batches.create(input_file_id=sent(client, *lines).id, endpoint=url, completion_window="24h")
    assert wait_until(lambda: client.batches.retrieve(made.id).request_counts.completed > 0, LONG)
    assert client.batches.cancel(made.id).status == "cancelling"
    done = ended(client, made.id)
    assert done.status == "cancelled"
    told = [*results(client, done.output_file_id), *results(client, done.error_file_id)]
    assert sorted(line["custom_id"] for line in told) == sorted(line["custom_id"] for line in lines)


def requests(gateway: Gateway, *ids: str, tokens: int = 8) -> list[Request]:
    return [
        Request(
            custom_id=id_,
            params={
                "model": gateway.chat,
                "max_tokens": tokens,
                "messages": [{"role": "user", "content": "Say hello."}],
            },
        )
        for id_ in ids
    ]


def test_a_message_batch(claude: anthropic.Anthropic, gateway: Gateway) -> None:
    """Create, list, retrieve, results, delete: as the SDK reads them."""
    bad = requests(gateway, "bad")[0]
    bad["params"]["model"] = "no-such-model"
    made = claude.messages.batches.create(requests=[*requests(gateway, "a", "b"), bad])
    assert (made.type, made.request_counts.processing) == ("message_batch", 3)
    assert made.id in [batch.id for batch in claude.messages.batches.list(limit=1)]
    assert wait_until(lambda: claude.messages.batches.retrieve(made.id).processing_status == "ended", LONG)
    done = claude.messages.batches.retrieve(made.id)
    assert (done.request_counts.succeeded, done.request_counts.errored) == (2, 1)
    found = {one.custom_id: one.result for one in claude.messages.batches.results(made.id)}
    assert {id_: result.type for id_, result in found.items()} == {"a": "succeeded", "b": "succeeded", "bad": "errored"}
    assert found["a"].type == "succeeded"
    assert found["a"].message.usage.output_tokens > 0
    assert found["bad"].type == "errored"
    assert found["bad"].error.error.type == "not_found_error"
    assert claude.messages.batches.delete(made.id).type == "message_batch_deleted"
    with pytest.raises(anthropic.NotFoundError):
        claude.messages.batches.retrieve(made.id)


def test_a_message_batch_is_cancelled(claude: anthropic.Anthropic, gateway: Gateway) -> None:
    """It ends with a result for each request; before that it cannot be deleted."""
    ids = [f"r{n}" for n in range(30)]
    made = claude.messages.batches.create(requests=requests(gateway, *ids, tokens=40))
    with pytest.raises(anthropic.BadRequestError):
        claude.messages.batches.delete(made.id)
    said = claude.messages.batches.cancel(made.id)
    assert said.processing_status in ("canceling", "ended")
    assert said.cancel_initiated_at is not None
    assert wait_until(lambda: claude.messages.batches.retrieve(made.id).processing_status == "ended", LONG)
    found = {one.custom_id: one.result.type for one in claude.messages.batches.results(made.id)}
    assert set(found) == set(ids)
    assert "canceled" in found.values()


def test_an_order_at_fault(claude: anthropic.Anthropic, gateway: Gateway) -> None:
    """Anthropic's envelope, naming the request."""
    with pytest.raises(anthropic.BadRequestError, match="twice"):
        claude.messages.batches.create(requests=requests(gateway, "a", "a"))
