"""Strings and values as JSON bytes."""

import json

from blazar.domain.wire.quoting import dump, quote


def test_quoting_is_reversible_and_unescaped() -> None:
    """Quotes, control characters and text of every script."""
    for text in ("", 'a"b\\c', "\n\t\x00\u2028", "é日本🙂"):
        assert json.loads(quote(text)) == text
    assert quote("é🙂") == '"é🙂"'.encode()


def test_half_a_surrogate_pair_becomes_a_question_mark() -> None:
    """It has no UTF-8; the stream goes on."""
    assert quote("a\ud83d") == b'"a?"'
    assert dump({"a": "\udc00"}) == b'{"a":"?"}'


def test_values_are_compact() -> None:
    """No spaces."""
    assert dump({"a": [1, None, True]}) == b'{"a":[1,null,true]}'
