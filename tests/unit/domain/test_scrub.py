"""What is taken out of texts that a person is shown."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blazar.domain import teaching
from blazar.domain.keys import new_secret
from blazar.domain.scrub import scrub

KEY = new_secret(lambda count: "ab" * count)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ask ada.l+x@mail.example.org today", "ask [mail] today"),
        ("<ada@example.com>, bob@b.example.", "<[mail]>, [mail]."),
        ("jürgen@müller.example", "[mail]"),
        ("http://ada:word@host.example/x", "http://ada:[mail]/x"),
        (f"key {KEY}", "key [secret]"),
        ("Authorization: Bearer abc.def-1=", "Authorization: Bearer [secret]"),
        ("bearer  abcdefgh", "bearer  [secret]"),
        ("Basic dXNlcjpwYXNz", "Basic [secret]"),
        ("x-api-key: abc", "x-api-key: [secret]"),
        ('{"api_key": "abc", "n": 1}', '{"api_key": "[secret]", "n": 1}'),
        ("?api-key=abc&n=1", "?api-key=[secret]&n=1"),
        ("sk-proj-0123456789abcdef", "[secret]"),
        ("hf_abcdefghijklmnop", "[secret]"),
        ("ghp_abcdefghijklmnop", "[secret]"),
        ("eyJhbGciOi.eyJzdWIi.c2ln", "[secret]"),
        ("from 192.168.1.20:5000", "from [address]:5000"),
        ("10.0.0.1.", "[address]."),
        ("model 'ann@example.com' not found", "model '[mail]' not found"),
        ("o'brien@mail.example", "[mail]"),
        ("peer=10.0.0.1 asked", "peer=[address] asked"),
        ("::ffff:10.0.0.1", "::ffff:[address]"),
    ],
)
def test_what_is_hidden(text: str, shown: str) -> None:
    """Mail addresses, secrets of ours and of others, IPv4 addresses; what stands around them stays."""
    assert scrub(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "plm-0a1b2c3d-17",
        "qwen3:0.6b@vision",
        "llama.cpp b11434, version 0.32.0",
        "1.2.3.4.5",
        "task-force of sk-learn and hf_hub",
        "the bearer of news",
        teaching.unauthorized(),
        teaching.host_refused("192.168.1.20"),
        "0.00.028.117 I srv  init: ready",
        "1.12.128.117 E srv  init: no",
        "0.00.400.999",
        "/models/x.gguf",
        "",
    ],
)
def test_what_stays(text: str) -> None:
    """Traces, model names, versions and words are what the story is about."""
    assert scrub(text) == text


@given(st.text(), st.text(), st.sampled_from([KEY, "ada@example.com", "10.20.30.40", "sk-0123456789abcdef0"]))
def test_none_survives_among_anything(before: str, after: str, hidden: str) -> None:
    """Whatever stands around it, with a space between."""
    assert hidden not in scrub(f"{before} {hidden} {after}")


@given(st.text(st.sampled_from("a1.@-_ :=/Bearersk[]\"'"), max_size=80))
def test_twice_is_once(text: str) -> None:
    """So that a text may pass through two hands."""
    once = scrub(text)
    assert scrub(once) == once


@pytest.mark.parametrize(
    "part",
    [
        "a",
        "a.",
        "@",
        "a@",
        "a@a.",
        "1.",
        "1",
        "bearer ",
        "eyJ",
        "eyJa.",
        "api-key",
        "api_key=",
        "sk-",
        "plm_",
        " ",
        ".-",
    ],
)
def test_any_text_is_read_in_linear_time(part: str) -> None:
    """Callers choose names and paths: 400 KB of the worst of them are no second, where a quadratic reading takes minutes."""
    begun = time.process_time()
    scrub(part * (400_000 // len(part)))
    assert time.process_time() - begun < 5
