"""The PyPI package `openai`: what stays with the gateway. Stored chats, files, batches."""

import base64
import json
import secrets
from typing import Any

from tests.matrix.clients.openai_python import CHAT, HI, LONG, OPENAI, connect, refused
from tests.matrix.registry import Target
from tests.support.daemon import wait_until
from tests.support.scripted_gguf import HELLO, HELLO_TOKENS

FILES, BATCHES = "/v1/files", "/v1/batches"
PATIENCE = 60.0


@OPENAI.check(CHAT)
def a_stored_chat_has_a_life(target: Target) -> None:
    tag = {"what": secrets.token_hex(4)}
    with connect(target) as client:
        client.chat.completions.create(model=target.model("scripted"), messages=HI)
        made = client.chat.completions.create(model=target.model("scripted"), messages=HI, store=True, metadata=tag)
        found = client.chat.completions.retrieve(made.id)
        listed = [one.id for one in client.chat.completions.list(metadata=tag)]
        (message,) = client.chat.completions.messages.list(made.id)
        changed = client.chat.completions.update(made.id, metadata={"what": "changed"})
        assert (found.choices, found.usage, found.metadata) == (made.choices, made.usage, tag)
        assert listed == [made.id]
        assert (message.role, message.content) == ("user", "hi")
        assert changed.metadata == {"what": "changed"}
        assert client.chat.completions.delete(made.id).deleted is True
        for ask in (client.chat.completions.retrieve, client.chat.completions.delete):
            assert made.id in refused("NotFoundError", ask, completion_id=made.id).message


@OPENAI.check(CHAT, stream=True)
def a_stored_stream_is_kept_whole(target: Target) -> None:
    with connect(target) as client:
        chunks = list(
            client.chat.completions.create(model=target.model("scripted"), messages=HI, store=True, stream=True)
        )
        found = client.chat.completions.retrieve(chunks[0].id)
        client.chat.completions.delete(found.id)
    assert (found.object, found.choices[0].message.content) == ("chat.completion", HELLO)
    assert found.usage.completion_tokens == HELLO_TOKENS
    assert all(chunk.usage is None for chunk in chunks)


@OPENAI.check(CHAT)
def stored_chats_are_listed_page_by_page(target: Target) -> None:
    tag = {"what": secrets.token_hex(4)}
    with connect(target) as client:
        made = [
            client.chat.completions.create(model=target.model("scripted"), messages=HI, store=True, metadata=tag).id
            for _ in range(3)
        ]
        ascending = [one.id for one in client.chat.completions.list(metadata=tag, limit=2, order="asc")]
        page = client.chat.completions.list(metadata=tag, limit=2, order="asc")
        named = [one.id for one in client.chat.completions.list(metadata=tag, model=target.model("chat"))]
        for id_ in made:
            client.chat.completions.delete(id_)
    assert ascending == made
    assert (len(page.data), page.has_more) == (2, True)
    assert named == []


@OPENAI.check(CHAT, error="BadRequestError")
def no_page_begins_behind_what_is_not_there(target: Target) -> None:
    with connect(target) as client:
        response = client.responses.create(model=target.model("scripted"), input="hi", max_output_tokens=2)
        lists = (client.files.list, client.batches.list, client.chat.completions.list)
        errors = [refused("BadRequestError", ask, after="nope") for ask in lists]
        errors.append(
            refused("BadRequestError", client.responses.input_items.list, response_id=response.id, after="nope")
        )
        client.responses.delete(response.id)
    assert [(error.param, "nope" in error.message) for error in errors] == [("after", True)] * 4


@OPENAI.check(CHAT, error="BadRequestError")
def a_text_file_is_read_in_a_chat(target: Target) -> None:
    def asked(data: bytes) -> Any:
        file = {"filename": "a.txt", "file_data": "data:text/plain;base64," + base64.b64encode(data).decode()}
        return [{"role": "user", "content": [{"type": "file", "file": file}, {"type": "text", "text": "hi"}]}]

    ask: Any = {"model": target.model("scripted"), "max_tokens": 2}
    with connect(target) as client:
        short, long = (client.chat.completions.create(**ask, messages=asked(b"x " * times)) for times in (1, 99))
        error = refused(
            "BadRequestError", client.chat.completions.create, **ask, messages=asked(b"%PDF-1.4 of letters")
        )
    assert long.usage.prompt_tokens > short.usage.prompt_tokens + 90
    assert (error.param, "text documents" in error.message) == ("messages[0].content[0]", True)


@OPENAI.check(CHAT, tools=True, error="BadRequestError")
def a_custom_tool_of_a_chat_is_named(target: Target) -> None:
    tool: Any = {"type": "custom", "custom": {"name": "f"}}
    with connect(target) as client:
        error = refused(
            "BadRequestError", client.chat.completions.create, model=target.model("scripted"), messages=HI, tools=[tool]
        )
    assert error.param == "tools[0]"


@OPENAI.check(FILES)
def a_file_has_a_life(target: Target) -> None:
    data = b"hello\r\n\x00\xff"
    with connect(target) as client:
        made = client.files.create(file=("é 世 notes.txt", data), purpose="user_data")
        assert (made.object, made.bytes, made.filename, made.purpose) == (
            "file",
            len(data),
            "é 世 notes.txt",
            "user_data",
        )
        assert client.files.retrieve(made.id) == made
        assert client.files.content(made.id).content == data
        with client.files.with_streaming_response.content(made.id) as response:
            assert b"".join(response.iter_bytes()) == data
        assert client.files.wait_for_processing(made.id, poll_interval=0.01).id == made.id
        assert client.files.delete(made.id).deleted is True
        for ask in (client.files.retrieve, client.files.content, client.files.delete):
            assert made.id in refused("NotFoundError", ask, file_id=made.id).message


@OPENAI.check(FILES)
def files_are_listed_page_by_page(target: Target) -> None:
    with connect(target) as client:
        made = [client.files.create(file=b"x", purpose="assistants").id for _ in range(3)]
        ascending = [file.id for file in client.files.list(purpose="assistants", limit=2, order="asc")]
        others = [file.id for file in client.files.list(purpose="vision")]
        for id_ in made:
            client.files.delete(id_)
    assert ascending == made
    assert not set(others) & set(made)


@OPENAI.check(FILES, error="BadRequestError")
def a_purpose_that_is_none_is_named(target: Target) -> None:
    with connect(target) as client:
        error = refused("BadRequestError", client.files.create, file=b"x", purpose="fine-tune")
        soon: Any = {"anchor": "created_at", "seconds": 3600}
        made = client.files.create(file=b"x", purpose="vision", expires_after=soon)
        client.files.delete(made.id)
    assert error.param == "purpose"
    assert made.expires_at == made.created_at + 3600


@OPENAI.check(FILES)
def a_file_is_read_by_a_response(target: Target) -> None:
    with connect(target) as client:
        made = client.files.create(file=("a.txt", b"a text"), purpose="user_data")
        asked: Any = [{"role": "user", "content": [{"type": "input_file", "file_id": made.id}]}]
        got = client.responses.create(model=target.model("scripted"), input=asked)
        client.files.delete(made.id)
        error = refused("NotFoundError", client.responses.create, model=target.model("scripted"), input=asked)
    assert got.output_text == HELLO
    assert made.id in error.message


def sent(client: Any, url: str, *bodies: Any) -> Any:
    """A batch of these bodies, numbered from 0."""
    lines = [{"custom_id": f"r{n}", "method": "POST", "url": url, "body": body} for n, body in enumerate(bodies)]
    data = "\n".join(json.dumps(line) for line in lines).encode()
    file = client.files.create(file=("requests.jsonl", data), purpose="batch")
    return client.batches.create(
        input_file_id=file.id, endpoint=url, completion_window="24h", metadata={"what": "matrix"}
    )


def ended(client: Any, batch: str) -> Any:
    """The batch when it is over."""
    over = ("completed", "failed", "cancelled", "expired")
    assert wait_until(lambda: client.batches.retrieve(batch).status in over, PATIENCE)
    return client.batches.retrieve(batch)


def results(client: Any, file: str | None) -> list[Any]:
    """The lines of a file."""
    return [] if file is None else [json.loads(line) for line in client.files.content(file).text.splitlines()]


@OPENAI.check(BATCHES)
def a_batch_is_answered_line_by_line(target: Target) -> None:
    from openai.types.chat import ChatCompletion

    good = {"model": target.model("scripted"), "messages": HI}
    with connect(target) as client:
        made = sent(client, CHAT, good, {**good, "model": "no-such-model"}, {**good, "n": 2})
        assert (made.object, made.endpoint, made.metadata) == ("batch", CHAT, {"what": "matrix"})
        assert made.id in [batch.id for batch in client.batches.list(limit=1)]
        done = ended(client, made.id)
        answers = {line["custom_id"]: line["response"] for line in results(client, done.output_file_id)}
        errors = {line["custom_id"]: line["response"] for line in results(client, done.error_file_id)}
    counts = done.request_counts
    assert (done.status, counts.total, counts.completed, counts.failed) == ("completed", 3, 2, 1)
    assert (set(answers), set(errors)) == ({"r0", "r2"}, {"r1"})
    assert errors["r1"]["status_code"] == 404
    told = ChatCompletion.model_validate(answers["r0"]["body"])
    assert (told.choices[0].message.content, told.usage and told.usage.completion_tokens) == (HELLO, HELLO_TOKENS)


@OPENAI.check(BATCHES)
def batches_answer_other_routes(target: Target) -> None:
    asks = {
        "/v1/embeddings": {"model": target.model("embed"), "input": ["a", "b"]},
        "/v1/responses": {"model": target.model("scripted"), "input": "hi", "store": False},
        "/v1/completions": {"model": target.model("scripted"), "prompt": "a", "max_tokens": 1},
    }
    with connect(target) as client:
        made = {url: sent(client, url, body).id for url, body in asks.items()}
        for url, part in (("/v1/embeddings", "data"), ("/v1/responses", "output"), ("/v1/completions", "choices")):
            (line,) = results(client, ended(client, made[url]).output_file_id)
            assert (line["custom_id"], line["response"]["status_code"]) == ("r0", 200)
            assert len(line["response"]["body"][part]) == (2 if part == "data" else 1)


@OPENAI.check(BATCHES)
def a_batch_is_cancelled(target: Target) -> None:
    body = {"model": target.model("scripted"), "messages": LONG, "max_tokens": 1500}
    with connect(target) as client:
        made = sent(client, CHAT, *[body] * 40)
        assert client.batches.cancel(made.id).status in ("cancelling", "cancelled")
        done = ended(client, made.id)
        told = [*results(client, done.output_file_id), *results(client, done.error_file_id)]
    assert done.status == "cancelled"
    assert sorted(line["custom_id"] for line in told) == sorted(f"r{n}" for n in range(40))


@OPENAI.check(BATCHES, error="NotFoundError")
def a_batch_of_nothing_is_refused(target: Target) -> None:
    with connect(target) as client:
        ask = {"endpoint": CHAT, "completion_window": "24h"}
        assert (
            "file-nowhere"
            in refused("NotFoundError", client.batches.create, input_file_id="file-nowhere", **ask).message
        )
        assert "batch_x" in refused("NotFoundError", client.batches.retrieve, batch_id="batch_x").message
        file = client.files.create(file=("a.jsonl", b'{"custom_id": "a"}\n[]'), purpose="batch")
        done = ended(client, client.batches.create(input_file_id=file.id, **ask).id)
        wrong = refused(
            "BadRequestError", client.batches.create, input_file_id=file.id, **{**ask, "endpoint": "/v1/nope"}
        )
    assert (done.status, [error.line for error in done.errors.data]) == ("failed", [1, 2])
    assert wrong.param == "endpoint"
