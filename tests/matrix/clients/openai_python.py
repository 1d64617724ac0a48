"""The PyPI package `openai`."""

from typing import Any

from tests.matrix.registry import Client, Target

OPENAI = Client("openai (PyPI)", needs=("module:openai",))


def connect(target: Target) -> Any:
    """A client without retries of its own: the first answer counts."""
    import openai

    return openai.OpenAI(base_url=target.v1, api_key=target.key, max_retries=0, timeout=120)


@OPENAI.check("/v1/chat/completions")
def a_chat_answers_with_text_and_usage(target: Target) -> None:
    with connect(target) as client:
        got = client.chat.completions.create(
            model=target.model("chat"), messages=[{"role": "user", "content": "Say hello."}], max_tokens=12
        )
    assert got.choices[0].message.content
    assert got.usage.total_tokens == got.usage.prompt_tokens + got.usage.completion_tokens > 0
