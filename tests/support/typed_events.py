"""The typed events of `/v1/responses`: read from bytes, and held to their grammar."""

import json
from collections.abc import Sequence
from typing import Any

OPENERS = {
    "response.output_item.added": "response.output_item.done",
    "response.content_part.added": "response.content_part.done",
    "response.reasoning_summary_part.added": "response.reasoning_summary_part.done",
}


ENDS = ("completed", "incomplete", "failed")
PIECES = {
    "response.output_text": "text",
    "response.reasoning_text": "text",
    "response.reasoning_summary_text": "text",
    "response.function_call_arguments": "arguments",
    "response.custom_tool_call_input": "input",
}
"""Events that come as `….delta` and then whole as `….done`, and where the whole stands in the latter."""


def check_pieces(found: Sequence[dict[str, Any]]) -> None:
    """The pieces of each item, in the order they came, are what its end says that they were."""
    told: dict[tuple[str, str], str] = {}
    for event in found:
        name, _, what = event["type"].rpartition(".")
        if name in PIECES and what == "delta":
            told[name, event["item_id"]] = told.get((name, event["item_id"]), "") + event["delta"]
        elif name in PIECES:
            assert event[PIECES[name]] == told.pop((name, event["item_id"]), "")
    assert told == {}


def events(raw: bytes) -> list[dict[str, Any]]:
    """The data of each event, whose name says the same."""
    found = []
    for block in raw.decode().split("\n\n")[:-1]:
        name, _, data = block.partition("\ndata: ")
        event = json.loads(data)
        assert name == f"event: {event['type']}"
        found.append(event)
    return found


def check_grammar(found: Sequence[dict[str, Any]]) -> None:
    """Numbers without gaps, one item open at a time, every start stopped, indices ascending, one id per item, one end."""
    assert [event["sequence_number"] for event in found] == list(range(len(found)))
    assert [event["type"] for event in found[:2]] == ["response.created", "response.in_progress"]
    open_: list[str] = []
    index, item = -1, ""
    for event in found[2:-1]:
        kind = event["type"]
        if kind == "response.output_item.added":
            assert open_ == []
            assert event["output_index"] == index + 1
            index, item = event["output_index"], event["item"]["id"]
        assert event["output_index"] == index
        assert event.get("item_id", event.get("item", {}).get("id")) == item
        if kind in OPENERS:
            open_.append(OPENERS[kind])
        elif kind in OPENERS.values():
            assert open_.pop() == kind
    assert open_ == []
    ends = [event["type"] for event in found if event["type"].removeprefix("response.") in ENDS]
    assert ends == [found[-1]["type"]]
    check_pieces(found)
    last = found[-1]["response"]
    assert [each["item"] for each in found if each["type"] == "response.output_item.done"] == last["output"]
