"""An engine's refusal in words that teach, and the field that it is about."""

import pytest

from blazar.domain import teaching
from blazar.domain.wire.wording import LONGEST_ENGINE, worded

TYPE = "[json.exception.type_error.302] type must be"


@pytest.mark.parametrize(
    ("said", "ours", "field"),
    [
        (
            f"Field 'temperature': {TYPE} number, but is string",
            "'temperature' must be a number, not a text",
            "temperature",
        ),
        (f"Field 'stream': {TYPE} boolean, but is null", "'stream' must be true or false, not null", "stream"),
        (
            "Field 'repeat_last_n': Value must be between 0 <= value <= 9, but got -5",
            "'repeat_last_n' must be from 0 to 9, not -5",
            "repeat_last_n",
        ),
        ("Failed to parse tools: Missing tool type: 7", teaching.engine_tools_wrong(), "tools"),
        (
            "Failed to parse messages: [json.exception.out_of_range.403] key 'text' not found",
            teaching.engine_messages_wrong(),
            "messages",
        ),
        ("unsupported content[].type", teaching.engine_part_unknown(), "messages"),
        ("Failed to initialize samplers: failed to parse grammar", teaching.engine_grammar_wrong(), None),
        ("Invalid tool_choice: bogus", teaching.engine_choice_wrong(), "tool_choice"),
    ],
)
def test_what_teaches_nothing_is_said_in_our_words(said: str, ours: str, field: str | None) -> None:
    """The engine's own stand behind them (D10)."""
    assert worded(said) == (f"{ours} (the engine: {said})", field)


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ("Expected 'content' to be a string or an array", "messages"),
        ("All non-assistant messages must contain 'content'", "messages"),
        ('"prompt" elements must be a string', "prompt"),
        ("Prompt contains invalid tokens", "prompt"),
        ('response_format type must be one of "text"', "response_format"),
        ("top_logprobs requires logprobs to be set to true", "top_logprobs"),
        ("Unknown reasoning format: x", "reasoning_format"),
        ("Cannot use both json_schema and grammar", "grammar"),
        ("Field 'n': it is odd", "n"),
        ("no slot", None),
    ],
)
def test_what_teaches_stays_and_names_its_field(said: str, field: str | None) -> None:
    """Word for word."""
    assert worded(said) == (said, field)


def test_a_list_of_tools_is_not_repeated() -> None:
    """llama.cpp says all of it behind what is wrong with one, which may be long itself."""
    told, _ = worded("Failed to parse tools: Missing tool function: {}; tools = [\n  {\n" + "x" * 1000)
    assert told.endswith("(the engine: Failed to parse tools: Missing tool function: {})")
    assert len(worded("Failed to parse tools: " + "x" * 1000)[0]) < LONGEST_ENGINE + 200
