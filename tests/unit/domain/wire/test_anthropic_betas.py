"""Anthropic's two headers."""

import pytest

from blazar.domain.wire.anthropic_betas import MOST_TOLD, header_warnings


@pytest.mark.parametrize(
    ("version", "betas"),
    [
        ("", ""),
        ("2023-06-01", ""),
        ("2026-10-21", ""),
        ("2023-06-01", "interleaved-thinking-2025-05-14, fine-grained-tool-streaming-2025-05-14,"),
        ("2023-06-01", "structured-outputs-2025-11-13,prompt-caching-2024-07-31"),
    ],
)
def test_what_works_unasked_needs_no_word(version: str, betas: str) -> None:
    """Clients send these with every request."""
    assert header_warnings(version, betas) == ()


def test_everything_else_is_named_once() -> None:
    """With its date, as it was sent; bounded, and fit for a header."""
    told = header_warnings("v1", "context-1m-2025-08-07, context-1m-2025-08-07,odd\tname")
    assert [warning.split("'")[1] for warning in told] == [
        "anthropic-version.v1",
        "anthropic-beta.context-1m-2025-08-07",
        "anthropic-beta.odd?name",
    ]
    assert len(header_warnings("", ",".join(f"b{number}" for number in range(99)))) == MOST_TOLD
