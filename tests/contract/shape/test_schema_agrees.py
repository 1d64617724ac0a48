"""`config schema` and `config validate` judge alike, key by key: what an editor underlines is refused, and what is refused is underlined.

Where JSON Schema has no words for a rule, the row stands in BEYOND with the reason.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from blazar.application.config.schema import config_schema
from tests.support.every_key import Row, refusal, rows

FINITE = "JSON has no infinity, so that its schema cannot forbid it"
OTHERS = "it depends on what other keys say"
ORDER = "two numbers in one text are compared"
NUL = "every text would need a pattern for what nobody types"
TAKEN = "flags of a command line are judged with the keys that say them"

BEYOND: Mapping[tuple[str, str], str] = {
    ("child_header_timeout_secs", "inf"): FINITE,
    ("keys.weight", "inf"): FINITE,
    ("failover.targets.remote", '"nobody"'): OTHERS,
    ("mcp_default", '"fetch"'): OTHERS,
    ("remotes.url", '"http://203.0.113.7:8000"'): OTHERS,
    ("sglang.retraction_policy", '"priority"'): OTHERS,
    ("cpu_range", '"3-0"'): ORDER,
    ("spec_draft_cpu_range", '"1-0"'): ORDER,
    ("engine_env", r'{ A = "b\u0000" }'): NUL,
    ("whisper_extra_args", '["--host", "0.0.0.0"]'): TAKEN,
    ("sdcpp_extra_args", '["--vae", "/v"]'): TAKEN,
}
ROWS = rows()
# The values of all rows, tried at every key: what is right for one is wrong for most.
VALUES = sorted({str(value) for row in ROWS for value in (row.text["valid"], *row.text.get("refused", ()))})


@cache
def judge() -> Draft202012Validator:
    return Draft202012Validator(config_schema())


def underlined(text: str) -> bool:
    return not judge().is_valid(tomllib.loads(text))


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_what_is_valid_is_not_underlined(row: Row) -> None:
    """Neither the valid value, nor what the file says without it."""
    for value in (row.text["valid"], ""):
        if not refusal(row.config(value)):
            assert not underlined(row.config(value)), value


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_what_is_refused_is_underlined(row: Row) -> None:
    """Every wrong value of the table but those of BEYOND, which has none that needs not be there."""
    for value in row.text.get("refused", ()):
        assert underlined(row.config(value)) != ((row.name, value) in BEYOND), value


def test_beyond_names_rows_that_are_there() -> None:
    """A row that goes takes its reason along."""
    assert set(BEYOND) <= {(row.name, value) for row in ROWS for value in row.text.get("refused", ())}


@settings(max_examples=400, deadline=None, derandomize=True)
@given(row=st.sampled_from(ROWS), value=st.sampled_from(VALUES))
def test_what_loads_is_never_underlined(row: Row, value: str) -> None:
    """Any value at any key: an editor that complains about a good file is switched off."""
    text = row.config(value)
    if not problems_of(text):
        assert not underlined(text), text


def problems_of(text: str) -> bool:
    try:
        return bool(refusal(text))
    except ValueError:  # more than one problem
        return True


def patterns(node: Any) -> Iterator[str]:
    """Every regular expression of a schema."""
    if isinstance(node, dict):
        found = node.get("pattern")
        if isinstance(found, str):
            yield found
        yield from (key for key in node.get("patternProperties", ()))
        for inner in node.values():
            yield from patterns(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from patterns(inner)


def test_patterns_are_those_of_every_reader() -> None:
    """ECMAScript's, without what only Python or only the newest browsers know; anchored at both ends."""
    found = set(patterns(config_schema()))
    assert len(found) > 20
    for pattern in found:
        assert not re.search(r"\(\?[^:=!]|\\[AZzQE]|\(\?<|[*+?}]\+", pattern), pattern
        assert not re.search(r"\\[^dDwWsSbxnrtu.*+?^$()\[\]{}|/\\-]", pattern), pattern
        assert pattern.startswith("^")
