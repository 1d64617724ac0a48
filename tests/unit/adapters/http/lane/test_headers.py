"""Headers of the lane's own."""

import pytest

from blazar.adapters.http.lane.headers import dialect_warnings, receipt_headers, retry_after_in, warning_headers
from blazar.domain.kinds import Dialect


def test_a_warning_stays_in_its_line() -> None:
    """It names fields as the caller wrote them."""
    assert warning_headers(["a\r\nb: c", "é"]) == [(b"x-blazar-warning", b"a??b: c"), (b"x-blazar-warning", b"?")]


def test_no_constraint_no_receipt() -> None:
    """An unconstrained answer omits it (D19)."""
    assert receipt_headers("") == ()
    assert receipt_headers("gbnf") == ((b"x-blazar-structured-output", b"gbnf"),)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (b"7", "7"),
        (b"Wed, 21 Oct 2026 07:28:00 GMT", "Wed, 21 Oct 2026 07:28:00 GMT"),
        (b"", ""),
        (b"7\r\nx: y", ""),
        (b"9" * 41, ""),
    ],
)
def test_when_a_child_wants_to_be_asked_again(value: bytes, said: str) -> None:
    """Seconds or a date; anything else is not passed on."""
    assert retry_after_in([(b"Retry-After", value)]) == said
    assert retry_after_in([(b"content-type", value)]) == ""


def test_what_a_dialects_own_headers_ask_for_in_vain() -> None:
    """Other dialects have none."""
    sent = {b"anthropic-beta": b"context-1m-2025-08-07", b"anthropic-version": b"2023-06-01"}
    assert dialect_warnings(Dialect.ANTHROPIC, sent) == (
        "ignored; 'anthropic-beta.context-1m-2025-08-07' has no effect here",
    )
    assert dialect_warnings(Dialect.ANTHROPIC, {}) == ()
    assert dialect_warnings(Dialect.OPENAI, sent) == ()
