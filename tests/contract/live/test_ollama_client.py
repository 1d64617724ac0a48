"""The stock `ollama` package against the gateway."""

from collections.abc import Iterator

import ollama
import pytest

from tests.contract.live.conftest import Gateway


@pytest.fixture
def client(gateway: Gateway) -> Iterator[ollama.Client]:
    with ollama.Client(host=gateway.url, headers={"authorization": f"Bearer {gateway.key}"}, timeout=120) as made:
        yield made


def test_chat(client: ollama.Client, gateway: Gateway) -> None:
    """A whole answer with counts and durations in nanoseconds."""
    got = client.chat(gateway.chat, messages=[{"role": "user", "content": "Say hello."}], options={"num_predict": 12})
    assert got.message.content
    assert got.done
    assert got.done_reason in ("stop", "length")
    assert (got.prompt_eval_count or 0) > 0
    assert (got.eval_count or 0) > 0
    assert (got.total_duration or 0) >= (got.eval_duration or 0) > 0


def test_chat_streams(client: ollama.Client, gateway: Gateway) -> None:
    """Lines arrive one by one and only the last is done."""
    lines = list(
        client.chat(
            gateway.chat, messages=[{"role": "user", "content": "Count."}], options={"num_predict": 12}, stream=True
        )
    )
    assert [line.done for line in lines].count(True) == 1
    assert lines[-1].done
    assert "".join(line.message.content or "" for line in lines)


def test_generate(client: ollama.Client, gateway: Gateway) -> None:
    """The generate route, whole and streamed."""
    got = client.generate(gateway.chat, "Say hi.", options={"num_predict": 8})
    assert got.response
    parts = list(client.generate(gateway.chat, "Say hi.", options={"num_predict": 8}, stream=True))
    assert parts[-1].done


def test_a_tool_call_has_object_arguments(client: ollama.Client, scripted_model: str) -> None:
    """Ollama clients get one whole call with parsed arguments (B16)."""
    tool = {
        "type": "function",
        "function": {
            "name": "add",
            "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
        },
    }
    got = client.chat(scripted_model, messages=[{"role": "user", "content": "add"}], tools=[tool])
    assert got.message.tool_calls is not None
    assert got.message.tool_calls[0].function.name == "add"
    assert isinstance(got.message.tool_calls[0].function.arguments["a"], int)


def test_thinking_is_its_own_field(client: ollama.Client, scripted_model: str) -> None:
    """Reasoning never leaks into content (D12)."""
    got = client.chat(scripted_model, messages=[{"role": "user", "content": "think"}], think=True)
    assert got.message.thinking
    assert "<think>" not in (got.message.content or "")


def test_a_schema_as_format(client: ollama.Client, scripted_model: str) -> None:
    """`format` takes a JSON schema."""
    import json

    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    got = client.chat(scripted_model, messages=[{"role": "user", "content": "n"}], format=schema)
    assert isinstance(json.loads(got.message.content or "")["n"], int)


def test_embed_and_legacy_embeddings(client: ollama.Client, gateway: Gateway) -> None:
    """Both embedding routes give vectors of the same width, never empty ones (B4)."""
    new = client.embed(gateway.embed, ["a cat", "a dog"])
    old = client.embeddings(gateway.embed, "a cat")
    assert len(new.embeddings) == 2
    assert len(new.embeddings[0]) == len(old.embedding) > 0


def test_list_show_ps(client: ollama.Client, gateway: Gateway) -> None:
    """The library routes have what the client reads."""
    listed = {model.model: model for model in client.list().models}
    assert (listed[gateway.chat].size or 0) > 0
    assert listed[gateway.chat].digest
    shown = client.show(gateway.chat)
    assert shown.details is not None
    assert shown.details.format == "gguf"
    assert shown.modelinfo
    assert "completion" in (shown.capabilities or [])
    client.generate(gateway.chat, "x", options={"num_predict": 1})
    running = {model.model: model for model in client.ps().models}
    assert (running[gateway.chat].size or 0) > 0


def test_an_empty_prompt_loads_and_keep_alive_zero_unloads(client: ollama.Client, gateway: Gateway) -> None:
    """The ollama ways to warm and to evict a model."""
    assert client.generate(gateway.embed and gateway.chat, "").done_reason == "load"
    assert gateway.chat in {m.model for m in client.ps().models}
    assert client.generate(gateway.chat, "", keep_alive=0).done_reason == "unload"
    assert gateway.chat not in {m.model for m in client.ps().models}


def test_copy_and_delete(client: ollama.Client, gateway: Gateway) -> None:
    """An alias costs nothing and goes away alone."""
    client.copy(gateway.chat, "live-alias")
    assert "live-alias" in {m.model for m in client.list().models}
    client.delete("live-alias")
    names = {m.model for m in client.list().models}
    assert "live-alias" not in names
    assert gateway.chat in names


def test_an_unknown_model_is_the_clients_own_error(client: ollama.Client, gateway: Gateway) -> None:
    """The client shows our sentence."""
    with pytest.raises(ollama.ResponseError) as caught:
        client.chat("no-such-model", messages=[{"role": "user", "content": "x"}])
    assert caught.value.status_code == 404
    assert "no-such-model" in caught.value.error


def test_latest_may_be_appended(client: ollama.Client, gateway: Gateway) -> None:
    """`name:latest` is the same row."""
    assert client.show(f"{gateway.chat}:latest").modelinfo


def test_generate_with_a_suffix(client: ollama.Client, scripted_model: str) -> None:
    """Fill in the middle, in one piece and streamed."""
    assert client.generate(scripted_model, "def f():\n    ", suffix="\n").response == "return 42"
    pieces = list(client.generate(scripted_model, "def f():\n    ", suffix="\n", stream=True))
    assert "".join(piece.response for piece in pieces) == "return 42"
    assert pieces[-1].done


def test_a_model_that_cannot_fill_a_gap_says_so(client: ollama.Client, gateway: Gateway) -> None:
    """A 400 with the reason, not an answer that ignores what follows."""
    if not gateway.scripted:
        pytest.skip("needs a model known to have no infill tokens")
    with pytest.raises(ollama.ResponseError, match="'suffix' is not supported") as refused:
        client.generate(gateway.chat, "a", suffix="b")
    assert refused.value.status_code == 400


@pytest.mark.parametrize("stream", [False, True])
def test_a_context_goes_on_with_its_conversation(client: ollama.Client, gateway: Gateway, stream: bool) -> None:
    """The engine reads the whole conversation: more tokens than the new prompt has, and what was said before is known."""
    options = {"num_predict": 8, "temperature": 0, "seed": 1}
    first = client.generate(gateway.chat, "My name is Zebulon.", options=options, stream=stream)
    last = [*first][-1] if stream else first
    alone = client.generate(gateway.chat, "What is my name?", options=options)
    again = client.generate(gateway.chat, "What is my name?", options=options, context=last.context)
    assert (again.prompt_eval_count or 0) > (alone.prompt_eval_count or 0) + 10
    assert len(again.context or ()) > len(last.context or ())


def test_a_context_of_another_server_is_refused(client: ollama.Client, gateway: Gateway) -> None:
    """Going on without it would be another conversation."""
    with pytest.raises(ollama.ResponseError, match="'context'") as refused:
        client.generate(gateway.chat, "Go on.", context=[1, 2, 3])
    assert refused.value.status_code == 400


@pytest.mark.parametrize("top", [0, 2])
def test_log_probabilities(client: ollama.Client, gateway: Gateway, top: int) -> None:
    """A row a token, whole and streamed, of chats, prompts and raw prompts."""
    options = {"num_predict": 4, "temperature": 0}
    said = [{"role": "user", "content": "Count."}]
    asked = {"options": options, "logprobs": True, "top_logprobs": top}
    whole = client.chat(gateway.chat, said, **asked)  # type: ignore[call-overload]
    pieces = [*client.chat(gateway.chat, said, stream=True, **asked)]  # type: ignore[call-overload]
    other = client.generate(gateway.chat, "Count.", **asked)  # type: ignore[call-overload]
    raw = client.generate(gateway.chat, "Count.", raw=True, **asked)  # type: ignore[call-overload]
    streamed = [row for piece in pieces for row in piece.logprobs or ()]
    for rows in (whole.logprobs, streamed, other.logprobs, raw.logprobs):
        assert rows
        assert all(row.logprob <= 0 and row.token is not None for row in rows)
        assert {len(row.top_logprobs or ()) for row in rows} == {top}
    assert client.chat(gateway.chat, said, options=options).logprobs is None


@pytest.mark.parametrize("stay", ["5m", "1h30m", 300, 300.5, "300", -1, "-1", "-1m"])
def test_every_spelling_of_keep_alive(client: ollama.Client, gateway: Gateway, stay: float | str) -> None:
    """It stays; only zero sends it away."""
    assert client.generate(gateway.chat, "", keep_alive=stay).done_reason == "load"
    assert gateway.chat in {row.model for row in client.ps().models}


@pytest.mark.parametrize("leave", [0, "0", "0s", 0.0, "0m"])
def test_every_spelling_of_leaving(client: ollama.Client, gateway: Gateway, leave: float | str) -> None:
    """Zero of anything."""
    assert client.generate(gateway.chat, "", keep_alive=leave).done_reason == "unload"


def test_a_template_of_the_requests_own(client: ollama.Client, gateway: Gateway) -> None:
    """The prompt is what the template says: as many tokens as the same text sent raw."""
    options = {"num_predict": 1, "temperature": 0}
    written = client.generate(
        gateway.chat, "b", system="S", template="({{ .System }})[{{ .Prompt }}] {{ .Response }}", options=options
    )
    raw = client.generate(gateway.chat, "(S)[b] ", raw=True, options=options)
    assert written.prompt_eval_count == raw.prompt_eval_count
    assert written.response == raw.response
