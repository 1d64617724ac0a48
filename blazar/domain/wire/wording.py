"""An engine's refusal in words that teach, its own behind them. Which field it is about, where that can be told. Pure.

The words are llama.cpp b11434's (tools/server, common/chat.cpp); what is not in the table is passed on as it was said.
"""

import re
from collections.abc import Callable
from typing import Final, NamedTuple

from blazar.domain import teaching
from blazar.domain.wire.refusal import field_in

LONGEST_ENGINE: Final = 200
"""Characters of its own words that are kept behind ours: it repeats whole requests."""


class _Row(NamedTuple):
    said: re.Pattern[str]
    field: str | None = ""
    """Empty: the first group of `said`. None: it may be any of several."""
    ours: Callable[[re.Match[str]], str] | None = None
    """None: its words will do, only the field was lacking."""


_FIELD: Final = r"^Field '([A-Za-z0-9_.\[\]]{1,60})': "

_ROWS: Final = (
    _Row(
        re.compile(_FIELD + r"\[json\.exception\.type_error\.302\] type must be (\w{1,20}), but is (\w{1,20})$"),
        ours=lambda found: teaching.engine_type_wrong(found[1], found[2], found[3]),
    ),
    _Row(
        re.compile(_FIELD + r"Value must be between (\S{1,30}) <= value <= (\S{1,30}), but got (\S{1,30})$"),
        ours=lambda found: teaching.engine_range_wrong(found[1], found[2], found[3], found[4]),
    ),
    _Row(re.compile(r"^Failed to parse tools: "), "tools", lambda _: teaching.engine_tools_wrong()),
    _Row(re.compile(r"^Failed to parse messages: "), "messages", lambda _: teaching.engine_messages_wrong()),
    _Row(re.compile(r"^unsupported content\[\]\.type"), "messages", lambda _: teaching.engine_part_unknown()),
    _Row(re.compile(r"^Failed to initialize samplers: "), None, lambda _: teaching.engine_grammar_wrong()),
    _Row(re.compile(r"^Invalid tool_choice: "), "tool_choice", lambda _: teaching.engine_choice_wrong()),
    _Row(re.compile(r"^(?:Expected 'content'|All non-assistant messages|Assistant message must)"), "messages"),
    _Row(re.compile(r'^(?:"prompt" |Prompt contains invalid tokens)'), "prompt"),
    _Row(re.compile(r"^response_format type "), "response_format"),
    _Row(re.compile(r"^top_logprobs requires "), "top_logprobs"),
    _Row(re.compile(r"^Unknown reasoning format: "), "reasoning_format"),
    _Row(re.compile(r"^Cannot use (?:custom grammar|both json_schema and grammar)"), "grammar"),
)
_ECHO: Final = re.compile(r"; tools = .*", re.DOTALL)


def worded(said: str) -> tuple[str, str | None]:
    """What its caller is told, and the field."""
    for row in _ROWS:
        if (found := row.said.search(said)) is not None:
            field = found[1] if row.field == "" else row.field
            if row.ours is None:
                return said, field
            return teaching.engine_said(row.ours(found), _ECHO.sub("", said)[:LONGEST_ENGINE]), field
    return said, field_in(said)
