"""The sentinel's codes, held one by one: clients and dashboards match on them, so a renamed one must be a visible decision."""

import re
from pathlib import Path

from blazar.domain import teaching
from blazar.domain.sentinel import Code

GOLDEN = (
    "truncation",
    "tool_arg_json",
    "tool_hallucinated_name",
    "tool_arg_schema",
    "json_schema",
    "json_object",
    "empty_response",
    "reasoning_no_answer",
    "stalled_stream",
)
PAGE = Path(__file__).resolve().parents[3] / "docs" / "observations.md"


def test_the_codes_are_the_documented_ones() -> None:
    """One for each observation of the specification, each with a sentence and a row of the page, in one order."""
    assert tuple(code.value for code in Code) == GOLDEN
    assert tuple(teaching._SENTINEL) == GOLDEN
    assert tuple(re.findall(r"^\| `(\w+)` \|", PAGE.read_text(), re.MULTILINE)) == GOLDEN
