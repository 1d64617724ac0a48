"""What a key has left, as headers."""

import asyncio

import pytest

from blazar.adapters.http.asgi import Message
from blazar.adapters.http.layers.quota_headers import duration, quota_headers, telling
from blazar.domain.keys import Key
from blazar.domain.quota import Account

NOON = 1_700_000_000.0


def test_limits_that_there_are_and_no_others() -> None:
    """In the names that OpenAI's clients read."""
    account = Account(Key("a", "k", rpm=3, tpm=100, daily_tokens=5, max_concurrent=1))
    account.requests.charge(10.0, 1)
    account.spend(20.0, NOON, (30, 20), chat=True)
    assert dict(quota_headers(account, 40.0)) == {
        b"x-ratelimit-limit-requests": b"3",
        b"x-ratelimit-remaining-requests": b"2",
        b"x-ratelimit-reset-requests": b"30s",
        b"x-ratelimit-limit-tokens": b"100",
        b"x-ratelimit-remaining-tokens": b"50",
        b"x-ratelimit-reset-tokens": b"40s",
    }
    assert [name for name, _ in quota_headers(Account(Key("a", "k", tpm=1)), 0.0)] == [
        b"x-ratelimit-limit-tokens",
        b"x-ratelimit-remaining-tokens",
        b"x-ratelimit-reset-tokens",
    ]
    assert quota_headers(Account(Key("a", "k", daily_tokens=5)), 0.0) == []


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.0, b"0s"),
        (0.0004, b"1ms"),
        (0.25, b"250ms"),
        (1.0, b"1s"),
        (8.64, b"8.64s"),
        (59.9994, b"1m0s"),
        (60.0, b"1m0s"),
        (61.5, b"1m1.5s"),
        (-1.0, b"0s"),
    ],
)
def test_times_as_the_api_writes_them(seconds: float, said: bytes) -> None:
    """Never too early."""
    assert duration(seconds) == said


def test_the_head_is_added_to_and_nothing_else() -> None:
    """A message may be shared between requests, so that it is not changed; bodies pass as they are."""
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    account = Account(Key("a", "k", rpm=1))
    head: Message = {"type": "http.response.start", "status": 200, "headers": ((b"a", b"b"),)}
    body: Message = {"type": "http.response.body", "body": b"x"}

    async def main() -> None:
        tell = telling(send, account, lambda: 0.0)
        await tell(head)
        account.requests.charge(0.0, 1)
        await tell(body)

    asyncio.run(main())
    assert head["headers"] == ((b"a", b"b"),)
    assert sent[0]["headers"][0] == (b"a", b"b")
    assert (b"x-ratelimit-remaining-requests", b"1") in sent[0]["headers"]
    assert sent[1] is body
    assert telling(send, Account(Key("a", "k", daily_tokens=1)), lambda: 0.0) is send
