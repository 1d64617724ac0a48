"""The configuration page. That it is current and complete is tests/contract/shape/test_docs.py."""

import re

import pytest

from blazar.application.config.environment import variables
from blazar.application.config.model import SECTIONS
from blazar.application.config.page import configuration_page, contents, kind_of
from blazar.application.config.variables import VARIABLES


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "integer"}, "whole number"),
        ({"type": "integer", "minimum": 1}, "whole number, at least 1"),
        ({"type": "integer", "minimum": 1, "maximum": 9}, "whole number, 1 to 9"),
        ({"type": "number", "exclusiveMinimum": 0}, "number, more than 0"),
        ({"type": "boolean"}, "true or false"),
        ({"type": "string"}, "text"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "whole number"),
        ({"type": "array", "items": {"type": "string"}}, "list of texts"),
        ({"type": "array", "items": {"$ref": "x"}}, "tables"),
        ({"type": "object"}, "table"),
        ({"enum": ["a", "b"]}, '`"a"`, `"b"`'),
        ({"type": "integer", "minimum": 0, "maximum": 2**31 - 1}, "whole number, at least 0"),
        ({"anyOf": [{"enum": ["a"]}, {"type": "boolean"}, {"type": "null"}]}, '`"a"` or true or false'),
        ({"anyOf": [{"anyOf": [{"type": "string"}, {"type": "string"}]}, {"type": "null"}]}, "text"),
    ],
)
def test_a_kind_in_a_few_words(schema, words):
    """As a person would say it, optional or not."""
    assert kind_of(schema) == words


def test_every_section_is_a_heading_with_a_table():
    """In the order of the declaration, each row whole."""
    page = configuration_page()
    titles = [line[3:] for line in page.splitlines() if line.startswith("## ")]
    assert titles[: len(SECTIONS) - 1] == [section.title for section in SECTIONS[:-1]]
    rows = [line for line in page.splitlines() if line.startswith("|")]
    assert all(row.endswith("|") for row in rows)
    assert page.endswith("\n")


def test_every_table_has_a_chapter():
    """Lists in two brackets, tables in one, nested ones after the one that they are in; their keys are rows."""
    page = configuration_page()
    for title in (
        "`[[remotes]]`",
        "`[[failover]]`",
        "`[[failover.targets]]`",
        "`[[mcp]]`",
        "`[semantic_cache]`",
        "`[sglang]`",
    ):
        assert f"\n## {title}\n" in page
    assert page.index("## `[[failover]]`") < page.index("## `[[failover.targets]]`")
    for key in (
        "allow_insecure_http",
        "min_residence_secs",
        "max_output_bytes",
        "threshold",
        "radix_eviction_policy",
        "kv_bits",
    ):
        assert f"\n| `{key}` |" in page
    assert "| `timeout_secs` | number, more than 0, at most 600 |" in page
    assert "| `mem_fraction_static` | number, more than 0, less than 1 |" in page
    assert "May be written below `[routing]`." in page[page.index("## `[engine_routing]`") :]


def test_every_variable_has_a_row():
    """Those that set a key name it; the others say what they are for."""
    page = configuration_page()
    chapter = page[page.index("## Environment variables") :]
    rows = [line for line in chapter.splitlines() if line.startswith("| `")]
    assert rows == sorted(rows)
    assert len(rows) == len(VARIABLES) + len(variables())
    assert "| `BLAZAR_DEFAULT_CTX` | Sets `default_ctx`. |" in rows
    assert all(any(f"| `{variable.name}` | {variable.purpose} |" == row for row in rows) for variable in VARIABLES)


def test_every_chapter_is_linked_from_the_top():
    """Each once, by the name that the renderer gives its anchor; of chapters that are called alike the second has a number."""
    page = configuration_page()
    head, _, rest = page.partition("\nContents:\n")
    assert "\n## " not in head
    links = re.findall(r"^- \[(.+)\]\(#(.+)\)$", rest, re.MULTILINE)
    assert [title for title, _ in links] == re.findall(r"^## (.+)$", rest, re.MULTILINE)
    assert len({anchor for _, anchor in links}) == len(links)
    assert ("`[[failover.targets]]`", "failovertargets") in links
    assert ("API keys", "api-keys") in links
    assert contents("## A b\n## A b\n").splitlines()[2:] == ["- [A b](#a-b)", "- [A b](#a-b-1)"]
