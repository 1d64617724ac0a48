"""The configuration page. That it is current and complete is tests/contract/shape/test_docs.py."""

import pytest

from blazar.application.config.model import SECTIONS
from blazar.application.config.page import configuration_page, kind_of


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
