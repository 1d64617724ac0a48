"""Reading a child's refusals."""

import json
from typing import Any

import pytest

from blazar.domain.wire.refusal import (
    TooLong,
    beyond_vocabulary,
    callers_fault,
    field_in,
    models_fault,
    refused_grammar,
    too_long,
)


@pytest.mark.parametrize(
    ("message", "field"),
    [
        ("Field 'n': Value must be between 1 <= value <= 1, but got 2", "n"),
        ("Field 'a.b[0]': x", "a.b[0]"),
        ("the Field 'n' is odd", None),
        ("Field 'n\r\nx': y", None),
        ("", None),
    ],
)
def test_the_field_that_a_child_names(message: str, field: str | None) -> None:
    """Its own words name it; SDKs read it as `param`."""
    assert field_in(message) == field


def said(message: str, **more: Any) -> bytes:
    return json.dumps({"error": {"message": message, **more}}).encode()


@pytest.mark.parametrize(
    ("body", "sizes"),
    [
        (said("request …", type="exceed_context_size_error", n_prompt_tokens=20, n_ctx=16), TooLong(20, 16)),
        (said("input (602 tokens) is too large to process. increase it (current batch size: 512)"), TooLong(602, 512)),
        (said("request …", type="exceed_context_size_error"), None),
        (said("something (5 tokens) else"), None),
        (b"", None),
        (b"[]", None),
        (b'{"error":"text"}', None),
        (b"[" * 100_000, None),
    ],
)
def test_sizes_are_read_where_the_child_gives_them(body: bytes, sizes: TooLong | None) -> None:
    """Both spellings of llama.cpp; anything else is no size (B5, B19)."""
    assert too_long(body) == sizes


@pytest.mark.parametrize(
    ("status", "message", "refused"),
    [
        (400, "Failed to initialize samplers: failed to parse grammar", True),
        (400, "Unable to generate parser for this template. Automatic parser generation failed: …", True),
        (400, "JSON schema conversion failed:\nInvalid pattern", True),
        (500, "failed to parse grammar", True),
        (400, '"prompt" is required', False),
        (503, "grammar", False),
        (500, "got exception: Unexpected empty grammar stack after accepting piece: x (297)", False),
    ],
)
def test_a_refused_grammar_is_told_from_other_refusals(status: int, message: str, refused: bool) -> None:
    """Only then is there another way to ask (C14)."""
    assert refused_grammar(status, said(message)) is refused


@pytest.mark.parametrize(
    ("status", "message", "fault"),
    [
        (500, "Failed to parse messages: Missing 'role' in message", True),
        (500, "Failed to parse tools: Missing tool type", True),
        (500, "failed to parse grammar", True),
        (500, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj", True),
        (500, "Failed to load image or audio file", True),
        (500, "Unknown reasoning format: x", True),
        (500, "Unsupported param: x", True),
        (500, "CUDA error", False),
        (500, "Compute error.", False),
        (502, "Failed to parse messages", False),
        (500, "got exception: Unexpected empty grammar stack after accepting piece: x (297)", False),
    ],
)
def test_a_500_about_the_request_is_the_callers(status: int, message: str, fault: bool) -> None:
    """llama.cpp answers 500 to what it cannot read; its health is not in question (A21, G6)."""
    assert callers_fault(status, said(message)) is fault


@pytest.mark.parametrize(
    ("status", "message", "fault"),
    [
        (500, "The model produced output that does not match the expected peg-native format", True),
        (500, "got exception: Unexpected empty grammar stack after accepting piece: x (297)", True),
        (400, "The model produced output that does not match the expected peg-native format", False),
        (500, "CUDA error", False),
    ],
)
def test_a_500_about_what_the_model_wrote_is_the_models(status: int, message: str, fault: bool) -> None:
    """The status stays; the child is sound (G6)."""
    assert models_fault(status, message) is fault


@pytest.mark.parametrize(
    ("status", "message", "beyond"),
    [
        (500, "vector::_M_range_check: __n (which is 9) >= this->size() (which is 5)", True),
        (500, "vector", True),
        (500, "invalid vector subscript, out of range", True),
        (400, "vector", False),
        (500, "out of memory", False),
    ],
)
def test_a_token_beyond_the_vocabulary(status: int, message: str, beyond: bool) -> None:
    """Whatever C++ library the engine was built with."""
    assert beyond_vocabulary(status, said(message)) is beyond


def test_an_error_that_stands_in_the_open_is_read() -> None:
    """One engine's have no envelope."""
    said = b'{"object":"error","message":"Failed to compile json_schema grammar","type":"BadRequest","code":400}'
    assert refused_grammar(400, said)
    assert not refused_grammar(400, said.replace(b'"object":"error",', b""))
