"""Who keeps a receipt."""

import pytest

from blazar.adapters.http.lane.receipt import kept


@pytest.mark.parametrize(
    ("constraint", "text", "expected"),
    [
        ("json_schema", '{"n":1}', "json_schema"),
        ("json_object", "{}", "json_object"),
        ("json_schema", '{"n":', ""),
        ("json_object", "Sure! {}", ""),
        ("json_object", "", ""),
        ("json_object", "\ud800", ""),
        ("json_object", "[" * 100_000, ""),
        ("gbnf", "anything", "gbnf"),
        ("", "{}", ""),
    ],
)
def test_only_json_keeps_a_receipt_for_json(constraint: str, text: str, expected: str) -> None:
    """Never invented, and withdrawn where the answer shows otherwise (D19)."""
    assert kept(constraint, text) == expected
