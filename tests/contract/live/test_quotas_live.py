"""The stock clients with scoped and limited keys: their exceptions, the headers that they read, and their own retries."""

import threading
import time
from collections.abc import Iterator

import anthropic
import httpx
import ollama
import openai
import pytest

from tests.support.daemon import ONE_THREAD, Daemon
from tests.support.shared import shared

pytest.importorskip("xllamacpp", reason="needs the embedded engine: pip install -e '.[embedded]'")

KEYS = """
default_ctx = 512
[[keys]]
name = "admin"
key = "plm_admin"
[[keys]]
name = "limited"
key = "plm_limited"
models = ["m"]
rpm = 2
tpm = 100000
[[keys]]
name = "single"
key = "plm_single"
max_concurrent = 1
[[keys]]
name = "spent"
key = "plm_spent"
daily_tokens = 1
"""
HI: list[openai.types.chat.ChatCompletionMessageParam] = [{"role": "user", "content": "hi"}]


@pytest.fixture(scope="module")
def gate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A gateway with keys, and a real engine behind it."""
    daemon = Daemon(tmp_path_factory.mktemp("quotas"), ONE_THREAD + KEYS)
    for name in ("m", "other"):
        daemon.must("import", str(shared("models/tiny-llama.gguf")), "--name", name)
    with daemon:
        yield daemon


@pytest.fixture
def client(gate: Daemon) -> Iterator[openai.OpenAI]:
    """Without a key that holds; tests take their own by `with_options`."""
    with openai.OpenAI(base_url=f"{gate.url}/v1", api_key="plm_nobody", max_retries=0) as made:
        yield made


def chat(client: openai.OpenAI, key: str, model: str = "m") -> openai.types.chat.ChatCompletion:
    one = client.with_options(api_key=f"plm_{key}")
    return one.chat.completions.create(model=model, messages=HI, max_tokens=4)


def test_each_refusal_is_its_own_exception(client: openai.OpenAI) -> None:
    """A wrong key, a model beyond the scope, management, a limit: what an application tells apart by type."""
    with pytest.raises(openai.AuthenticationError, match="missing or invalid API key"):
        chat(client, "wrong")
    with pytest.raises(openai.PermissionDeniedError, match="not 'other'"):
        chat(client, "limited", "other")
    with pytest.raises(openai.PermissionDeniedError, match="without a models list"):
        client.with_options(api_key="plm_limited").post("/../api/evict", body={"model": "m"}, cast_to=object)


def test_the_headers_of_a_limited_key(client: openai.OpenAI) -> None:
    """As the API has them: limit, what is left, how long until all is free; beyond it the exception has them, too."""
    one = client.with_options(api_key="plm_limited")
    for left in ("1", "0"):
        raw = one.chat.completions.with_raw_response.create(model="m", messages=HI, max_tokens=4)
        assert raw.headers["x-ratelimit-limit-requests"] == "2"
        assert raw.headers["x-ratelimit-remaining-requests"] == left
        assert raw.headers["x-ratelimit-reset-requests"].endswith("s")
        assert raw.headers["x-ratelimit-limit-tokens"] == "100000"
        assert raw.parse().usage is not None
    with pytest.raises(openai.RateLimitError) as refused:
        chat(client, "limited")
    headers = refused.value.response.headers
    assert refused.value.status_code == 429
    assert 1 <= int(headers["retry-after"]) <= 60
    assert headers["x-ratelimit-remaining-requests"] == "0"
    assert int(headers["x-ratelimit-remaining-tokens"]) < 100_000
    assert "'limited' has made the 2 requests" in str(refused.value)
    admin = client.with_options(api_key="plm_admin").chat.completions.with_raw_response
    plain = admin.create(model="m", messages=HI, max_tokens=4)
    assert not [name for name in plain.headers if name.startswith("x-ratelimit")]


def test_the_clients_own_retry_gets_through(gate: Daemon, client: openai.OpenAI) -> None:
    """One at a time: while another answer is open it is refused; it comes back when it is told to, and is served."""
    one = client.with_options(api_key="plm_single", max_retries=6)
    refused = threading.Event()
    seen: list[int] = []

    def watch(response: httpx.Response) -> None:
        seen.append(response.status_code)
        if response.status_code == 429:
            refused.set()

    def hold(open_: threading.Event) -> None:
        headers = {"authorization": "Bearer plm_single"}
        with httpx.stream("GET", f"{gate.url}/api/events", headers=headers, timeout=60) as held:
            assert held.status_code == 200
            open_.set()
            refused.wait(60)

    open_ = threading.Event()
    holding = threading.Thread(target=hold, args=(open_,))
    one._client.event_hooks["response"].append(watch)
    holding.start()
    try:
        assert open_.wait(60)
        begun = time.monotonic()
        answer = one.chat.completions.create(model="m", messages=HI, max_tokens=4)
        took = time.monotonic() - begun
    finally:
        refused.set()
        holding.join()
        one._client.event_hooks["response"].clear()
    assert answer.usage is not None
    assert (seen[0], seen[-1]) == (429, 200)
    assert took >= 1.0, "it waited as long as it was told"


def test_a_client_does_not_come_back_for_what_takes_hours(client: openai.OpenAI) -> None:
    """A day's tokens: the SDKs take long waits for none, and are told not to retry."""
    chat(client, "spent")
    one = client.with_options(api_key="plm_spent", max_retries=5)
    seen: list[int] = []
    one._client.event_hooks["response"].append(lambda response: seen.append(response.status_code))
    try:
        with pytest.raises(openai.RateLimitError, match="at midnight UTC") as refused:
            one.chat.completions.create(model="m", messages=HI, max_tokens=4)
    finally:
        one._client.event_hooks["response"].clear()
    if int(refused.value.response.headers["retry-after"]) > 60:
        assert seen == [429]


def test_the_other_clients_say_it_in_their_words(gate: Daemon, client: openai.OpenAI) -> None:
    """Anthropic's has exceptions of the same names, ollama's a status and the sentence."""
    chat(client, "admin")  # the model is loaded
    with anthropic.Anthropic(base_url=gate.url, api_key="plm_spent", max_retries=0) as claude:
        for _ in range(2):  # the first may be the one that spends
            try:
                claude.messages.create(model="m", max_tokens=4, messages=[{"role": "user", "content": "hi"}])
            except anthropic.RateLimitError as error:
                told = error
        assert told.body["error"]["type"] == "rate_limit_error"  # type: ignore[index,call-overload] # the SDK calls it object
    lama = ollama.Client(gate.url, headers={"authorization": "Bearer plm_spent"})
    with pytest.raises(ollama.ResponseError, match="daily_tokens") as refused:
        lama.chat("m", [{"role": "user", "content": "hi"}])
    assert refused.value.status_code == 429
    lama._client.close()
