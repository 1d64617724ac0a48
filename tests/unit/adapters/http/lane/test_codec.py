"""The codec against the domain's own: same meaning, only faster."""

import json
from collections.abc import Callable

import pytest

from blazar.adapters.http.lane import codec
from blazar.domain.errors import Malformed
from blazar.domain.wire import quoting

TEXTS = ["", "plain", 'quote " back \\ slash', "line\nbreak\ttab\x00\x1f\x7f", "äöü€", "😀 \u2028\u2029", "</script>"]


@pytest.mark.parametrize("text", TEXTS)
def test_quoted_strings_read_back(text: str) -> None:
    """Quotes included, UTF-8, no raw control character: it may stand inside any event line."""
    quoted = codec.quote(text)
    assert json.loads(quoted) == text
    assert not any(byte < 0x20 for byte in quoted)
    assert json.loads(quoted) == json.loads(quoting.quote(text))


def test_half_a_surrogate_pair_is_quoted_as_the_domain_does() -> None:
    """Such text has no UTF-8; it must not end a stream."""
    assert codec.quote("a\ud83d") == quoting.quote("a\ud83d") == b'"a?"'


def test_a_chunk_is_decoded_with_defaults() -> None:
    """What an engine leaves out or sets null is None; `__verbose` has its name."""
    chunk = codec.decode_chunk(
        b'{"choices":[{"index":0,"delta":{"content":null,"x":1}}],"usage":null,"__verbose":{"stopping_word":"s"}}'
    )
    assert chunk.choices is not None
    assert chunk.choices[0].delta is not None
    assert chunk.choices[0].delta.content is None
    assert chunk.usage is None
    assert chunk.verbose is not None
    assert chunk.verbose.stopping_word == "s"
    assert codec.decode_chunk(b"{}").choices is None


@pytest.mark.parametrize("decoder", [codec.decode, codec.decode_chunk, codec.decode_infilled])
@pytest.mark.parametrize("raw", [b"[" * 100_000, b'{"error":' * 100_000])
def test_what_is_nested_too_deeply_is_a_value_error(decoder: Callable[[bytes], object], raw: bytes) -> None:
    """A child's answer without an end is one that cannot be read, and no fault of ours."""
    with pytest.raises(ValueError):
        decoder(raw)


@pytest.mark.parametrize("raw", [b"", b"[]", b"{bad", b'{"choices":1}', b'{"choices":[{"delta":{"content":7}}]}'])
def test_what_is_no_chunk_is_a_value_error(raw: bytes) -> None:
    """As the domain's readers expect."""
    with pytest.raises(ValueError):
        codec.decode_chunk(raw)


def test_a_body_must_be_an_object() -> None:
    """And is given back as a plain dict."""
    assert codec.body_object(b'{"a":[1,2.5,null]}') == {"a": [1, 2.5, None]}
    with pytest.raises(Malformed, match="it is empty"):
        codec.body_object(b"")
    with pytest.raises(Malformed, match="nested too deeply"):
        codec.body_object(b"[" * 100_000)


@pytest.mark.parametrize(
    "text", [r"\ud800", r"\uD800 x", r"\udc00", r"\ud800\ud800", r"\ud8", r"a\ud83d\n"], ids=range(6)
)
def test_half_a_pair_is_not_taken_for_a_cut(text: str) -> None:
    """Wherever in a text it stands."""
    with pytest.raises(Malformed, match=r"a \\u escape in it is not a character \(byte \d+\)"):
        codec.body_object(b'{"a":"%b"}' % text.encode())
    with pytest.raises(Malformed, match="it ends too early"):
        codec.body_object(b'{"a":"\\ud83d\\ude00')


def test_large_integers_survive() -> None:
    """A seed above 64 bits is the engine's to refuse."""
    assert codec.decode(b'{"seed":123456789012345678901}') == {"seed": 123456789012345678901}


def test_the_size_of_a_prompt() -> None:
    """Of its progress only that is read."""
    chunk = codec.decode_chunk(b'{"choices":[],"prompt_progress":{"total":23,"cache":0,"processed":0,"time_ms":0}}')
    assert chunk.prompt_progress is not None
    assert chunk.prompt_progress.total == 23
    assert codec.decode_chunk(b"{}").prompt_progress is None
