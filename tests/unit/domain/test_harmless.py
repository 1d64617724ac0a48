"""Sentences that repeat what somebody else wrote."""

import pytest

from blazar.domain.errors import MOST_PROBLEMS, BadConfig
from blazar.domain.harmless import LONGEST, harmless, public, public_sentence, without_secrets


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("c.toml line 1: 'größe' must be a number", "c.toml line 1: 'größe' must be a number"),
        ("'a\x1b[2J\nb'", r"'a\x1b[2J\nb'"),
        ("\u202eab", r"\u202eab"),  # turns round what follows
        ("\udcff", r"\udcff"),  # bytes of a variable that are no UTF-8
        ("unknown key 'keys.plm_Ab-c_9'", "unknown key 'keys.plm_…'"),
        ("plm_", "plm_"),
        ("x" * (LONGEST + 1), "x" * LONGEST + "…"),
    ],
)
def test_it_is_fit_to_be_shown(said: str, shown: str) -> None:
    """Letters of all languages stay; escapes are spelled; a secret is none any more."""
    assert harmless(said) == shown
    assert harmless(shown[:LONGEST]) == shown[:LONGEST]


def test_a_file_of_another_kind_is_not_told_whole() -> None:
    """Thousands of problems: the first ones, and how many more there are."""
    wrong = BadConfig([f"line {number}" for number in range(MOST_PROBLEMS + 3)])
    assert len(wrong.problems) == MOST_PROBLEMS + 1
    assert wrong.problems[-1] == "and 3 more: correct these first"
    assert str(wrong).startswith(f"line 0 (and {MOST_PROBLEMS + 2} more")
    assert BadConfig(["one", "plm_two"]).problems == ("one", "plm_…")


SECRET = "plm_" + "0123456789abcdef" * 3


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        (SECRET, "plm_…"),
        (f"/v1/models/{SECRET}/x", "/v1/models/plm_…/x"),
        (f"a{SECRET} {SECRET}", "aplm_… plm_…"),
        ("plm_a-long-secret-of-your-own", "plm_…"),
        ("plm_7b-instruct", "plm_7b-instruct"),
        ("plm-abcdef0123456789abcdef-12", "plm-abcdef0123456789abcdef-12"),
        ("", ""),
    ],
)
def test_a_secret_that_stands_where_none_belongs_is_not_kept(said: str, kept: str) -> None:
    """As a model's name, in a path, twice; what is merely called so, and a trace, stay."""
    assert without_secrets(said) == kept


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("https://me:pass@files.example/m.gguf?X-Amz-Signature=abc#f", "https://files.example/m.gguf"),
        ("https://me:pa/ss@files.example/m.gguf", "https://files.example/m.gguf"),
        ("me:pass@files.example/m.gguf?k=1", "files.example/m.gguf"),
        ("http:/me:pass@files.example/m.gguf", "files.example/m.gguf"),
        ("https://files.example:8443/a@b/m.gguf", "https://files.example:8443/a@b/m.gguf"),
        ("hf:owner/repo:Q4_K_M", "hf:owner/repo:Q4_K_M"),
        ("owner/repo@main", "owner/repo@main"),
    ],
)
def test_an_address_is_shown_without_what_opens_it(said: str, shown: str) -> None:
    """User, password, query and fragment: any of them may be a key. What is none stays as it is."""
    assert public(said) == shown
    assert public_sentence(f"'{said}' is none") == f"'{shown if '://' in said else said}' is none"


def test_a_sentence_keeps_its_stops() -> None:
    """Behind an address, and brackets around it."""
    said = "it lies elsewhere (https://h.example/x?k=1): ask https://u:p@h.example/y?k=2."
    assert public_sentence(said) == "it lies elsewhere (https://h.example/x): ask https://h.example/y."
