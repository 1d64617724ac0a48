"""What a long conversation costs before a child sees it: understood, normalised and written again, in every dialect."""

import json
import time
from collections.abc import Callable
from statistics import median
from typing import Any

from blazar.adapters.http.lane import openai_jobs, responses_jobs, translated_jobs
from blazar.adapters.http.lane.job import Job

TURNS, WORDS = 200, 5_000
ROUNDS = 15
TEXT = ('He said "no" \u2014 twice.\n' * (WORDS // 20))[:WORDS]
SCHEMA = {"type": "object", "properties": {"path": {"type": "string", "description": None}}, "required": ["path"]}
ARGUMENTS = {"path": "/etc/hosts", "text": TEXT[:500]}


def openai_body(*, sound: bool) -> dict[str, Any]:
    """Half a megabyte of what is said, half of what tools answered; where it is not sound every repair has something to do."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "be brief"}]
    for turn in range(TURNS // 2):
        function = {"name": "read", "arguments": json.dumps(ARGUMENTS) if sound else ARGUMENTS}
        call = {"id": f"c{turn}", "type": "function", "function": function} if sound else {"function": function}
        messages += [
            {"role": "user", "content": TEXT},
            {"role": "assistant", "content": "" if sound else None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{turn}" if sound else None, "content": TEXT},
        ]
        if not sound:
            messages.append({"role": "developer", "content": f"reminder {turn}"})
    return {"model": "m", "messages": messages, **({} if sound else {"seed": None, "tools": _tools()})}


def anthropic_body() -> dict[str, Any]:
    """The same in blocks."""
    messages: list[dict[str, Any]] = []
    for turn in range(TURNS // 2):
        use = {"type": "tool_use", "id": f"c{turn}", "name": "read", "input": ARGUMENTS}
        result = {"type": "tool_result", "tool_use_id": f"c{turn}", "content": [{"type": "text", "text": TEXT}]}
        messages += [
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "so", "signature": "x"}, use]},
            {"role": "user", "content": [result, {"type": "text", "text": TEXT, "cache_control": None}]},
        ]
    return {"model": "m", "max_tokens": 9, "system": "be brief", "messages": messages}


def responses_body() -> dict[str, Any]:
    """The same as items."""
    items: list[dict[str, Any]] = []
    for turn in range(TURNS // 2):
        items += [
            {"role": "user", "content": [{"type": "input_text", "text": TEXT}]},
            {"type": "function_call", "call_id": f"c{turn}", "name": "read", "arguments": json.dumps(ARGUMENTS)},
            {"type": "function_call_output", "call_id": f"c{turn}", "output": TEXT},
        ]
    return {"model": "m", "input": items, "store": False}


def _tools() -> list[dict[str, Any]]:
    return [{"type": "function", "function": {"name": "read", "description": None, "parameters": SCHEMA}}] * 20


WAYS: dict[str, tuple[Callable[[bytes], Job], Callable[[], dict[str, Any]]]] = {
    "sound": (openai_jobs.chat, lambda: openai_body(sound=True)),
    "broken": (openai_jobs.chat, lambda: openai_body(sound=False)),
    "ollama": (translated_jobs.ollama_chat, lambda: openai_body(sound=False)),
    "anthropic": (translated_jobs.messages, anthropic_body),
    "responses": (responses_jobs.responses, responses_body),
}


def normalised_ms() -> dict[str, float]:
    """CPU milliseconds of each way, the bytes of the child's request included."""
    found = {}
    for name, (understand, body) in WAYS.items():
        raw = json.dumps(body(), ensure_ascii=False).encode()
        assert len(raw) >= 1_000_000, (name, len(raw))
        found[f"normalised {name}"] = median(_once(understand, raw) for _ in range(ROUNDS))
    return found


def _once(understand: Callable[[bytes], Job], raw: bytes) -> float:
    began = time.thread_time()
    understand(raw).call("child")
    return (time.thread_time() - began) * 1000
