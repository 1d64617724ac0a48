"""`echo` of a raw completion: the prompt's text before what was made of it. Engines do not do it, so it is written in here. Pure."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.wire.quoting import dump
from blazar.domain.wire.several import prompts_in
from blazar.domain.wire.sse import DONE_PAYLOAD, data_event, data_of


def wants_echo(echo: Any, logprobs: Any) -> bool:
    """Whether it is asked for. The log probabilities of a prompt, which would come with it, are told by no engine."""
    if echo is None or echo is False:
        return False
    if echo is not True:
        raise Malformed(teaching.field_must("echo", "boolean"), "echo")
    if logprobs is not None and logprobs is not False:
        raise Malformed(teaching.field_unsupported("logprobs", teaching.echo_without_odds()), "logprobs")
    return True


class Echo:
    """The texts that stand before the answers to a request. What is tokens must be told (`tell`) before they are asked for."""

    __slots__ = ("_each", "_prompts", "alone")

    def __init__(self, body: Mapping[str, Any]) -> None:
        self._prompts = prompts_in(body)
        self.alone = body.get("max_tokens") == 0
        """ODD: a prompt alone is nothing else. llama.cpp writes one token where none may be written; it is left out, and not counted."""
        n = body.get("n")
        self._each = int(n) if isinstance(n, int | float) and n > 1 else 1
        for prompt in self._prompts:
            if not (isinstance(prompt, str) or (isinstance(prompt, list) and all(map(_is_token, prompt)))):
                raise Malformed(teaching.field_unsupported("echo", teaching.echo_of_texts_only()), "echo")

    def tokens(self) -> Sequence[tuple[int, list[int]]]:
        """Prompts that are tokens, with their places."""
        return [(at, prompt) for at, prompt in enumerate(self._prompts) if not isinstance(prompt, str)]

    def tell(self, at: int, text: str) -> None:
        """The text of one of them."""
        self._prompts[at] = text

    def before(self, choice: Any) -> str:
        """What stands before the answer of this number."""
        at = choice // self._each if isinstance(choice, int) else 0
        text = self._prompts[at] if 0 <= at < len(self._prompts) else ""
        return text if isinstance(text, str) else ""

    def write(self, answer: dict[str, Any], told: set[int] | None = None) -> None:
        """Into an answer or an event, in place; choices that are `told` have it already."""
        seen = set[int]() if told is None else told
        for choice in answer.get("choices") or ():
            number = choice.get("index") or 0
            said = "" if self.alone else choice.get("text") or ""
            choice["text"] = said if number in seen else self.before(number) + said
            seen.add(number)
        usage = answer.get("usage")
        if self.alone and isinstance(usage, dict):
            usage |= {"completion_tokens": 0, "total_tokens": usage.get("prompt_tokens", 0)}


class EchoFilter:
    """Whole events of a stream, with the prompt's text at the beginning of each choice's first one."""

    __slots__ = ("_echo", "_told")

    def __init__(self, echo: Echo) -> None:
        self._echo, self._told = echo, set[int]()

    def through(self, out: bytes) -> bytes:
        """Events that are about nothing new pass as they are."""
        if not out:
            return out
        return b"".join([self._written(event) + b"\n\n" for event in out.split(b"\n\n") if event])

    def _written(self, event: bytes) -> bytes:
        payload = data_of(event.split(b"\n"))
        if payload is None or payload == DONE_PAYLOAD:
            return event
        try:
            said = json.loads(payload)
            new = [choice for choice in said["choices"] if (choice.get("index") or 0) not in self._told]
            if not new and not self._echo.alone:
                return event
            self._echo.write(said, self._told)
        except (ValueError, TypeError, LookupError, AttributeError):  # an error, or what is nothing: not ours to judge
            return event
        return data_event(dump(said))[:-2]


def _is_token(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
