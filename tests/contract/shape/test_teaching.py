"""Every sentence that a user may read, held byte for byte: clients match on them, so rewording one must be a visible decision.

Each function of `domain/teaching.py` is called with sample facts made from its signature; the outcome is compared with the
golden file. `BLAZAR_GOLDEN=write pytest tests/contract/shape/test_teaching.py` writes it anew (and wants a CHANGELOG entry).
"""

import inspect
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from blazar.domain import teaching

GOLDEN = Path(__file__).with_name("teaching.json")

# By annotation, as written in the module; numbers are large enough to read as sizes and seconds alike.
SAMPLES: dict[str, Any] = {
    "str": "NAME",
    "int": 1234567890,
    "float": 2.5,
    "bool": True,
    "object": "NAME",
    "Any": "NAME",
    "Sequence[str]": ["ONE", "TWO"],
    "Collection[str]": ["ONE", "TWO"],
    "Iterable[str]": ["ONE", "TWO"],
    "tuple[str, ...]": ("ONE", "TWO"),
    "str | None": "NAME",
    "int | None": 7,
    "float | None": 2.5,
}
EMPTY: dict[str, Any] = {
    "Sequence[str]": [],
    "Collection[str]": [],
    "Iterable[str]": [],
    "tuple[str, ...]": (),
    "str": "",
}


# Functions that look a phrase up in a table: of these, every row.
TABLES: dict[str, tuple[dict[str, str], Callable[[str], str]]] = {
    "config_wants": (teaching._WANTS, lambda what: teaching.config_wants(what, 7)),
    "field_must": (teaching._MUST, lambda what: teaching.field_must("NAME", what)),
    "fit_bad_setting": (teaching._FIT_SETTINGS, lambda what: teaching.fit_bad_setting("NAME", what)),
    "fit_note": (teaching._FIT_NOTES, teaching.fit_note),
    "argv_reason": (teaching._ARGV, teaching.argv_reason),
    "spec_reason": (teaching._SPEC, teaching.spec_reason),
    "explain_endpoint": (teaching._ENDPOINT, teaching.explain_endpoint),
    "install_option_unknown": (teaching._BESIDE_INSTALL, teaching.install_option_unknown),
    "extra_arg_reserved": (teaching._RESERVED, lambda what: teaching.extra_arg_reserved("NAME", what)),
    "body_flaw": (teaching._BODY, lambda what: teaching.body_flaw(what, " (byte 7)")),
    "schema_flaw": (teaching._SCHEMA, teaching.schema_flaw),
    "bad_pattern": (teaching._PATTERN, lambda what: teaching.bad_pattern("NAME", "NAME", what)),
    "migrate_odd": (teaching._ODD_KEYS, lambda what: teaching.migrate_odd("NAME", 7, what, 2)),
    "picture_not_fetched": (teaching._PICTURE_NOT, teaching.picture_not_fetched),
    "over_quota": (teaching._QUOTA, lambda what: teaching.over_quota("NAME", what, 7, 2.5)),
    "sentinel_detail": (teaching._SENTINEL, lambda what: teaching.sentinel_detail(what, 7, "NAME")),
    "embedding_flaw": (teaching._EMBEDDING, lambda what: teaching.embedding_flaw(what, 7, 8)),
}


def sentences() -> dict[str, Callable[..., str]]:
    return {
        name: function
        for name, function in vars(teaching).items()
        if inspect.isfunction(function) and function.__module__ == teaching.__name__ and not name.startswith("_")
    }


def said(function: Callable[..., str], *, empty: bool = False) -> str:
    """The sentence for sample facts; `empty` takes the empty one of every fact that may be empty."""
    facts = []
    for parameter in inspect.signature(function).parameters.values():
        kind = str(parameter.annotation).removeprefix("collections.abc.").replace("collections.abc.", "")
        kind = getattr(parameter.annotation, "__name__", kind) if "[" not in kind and "|" not in kind else kind
        facts.append(EMPTY[kind] if empty and kind in EMPTY and kind != "str" else SAMPLES[kind])
    return function(*facts)


def spoken() -> dict[str, list[str]]:
    """All sentences, with and without their optional parts; of the tables, every row."""
    texts = {
        name: sorted({said(function), said(function, empty=True)})
        for name, function in sorted(sentences().items())
        if name not in TABLES
    }
    return texts | {name: [say(what) for what in sorted(rows)] for name, (rows, say) in TABLES.items()}


def test_no_sentence_has_changed_unseen() -> None:
    """The golden file is what the functions say."""
    now = spoken()
    if os.environ.get("BLAZAR_GOLDEN") == "write":
        GOLDEN.write_text(json.dumps(now, indent=1, ensure_ascii=False) + "\n")
    assert now == json.loads(GOLDEN.read_text()), "reworded? then: BLAZAR_GOLDEN=write, and an entry in CHANGELOG.md"


def test_every_sentence_is_one_line() -> None:
    """An error is one line on stderr and one JSON string; only the conversation's help is a page."""
    assert {name for name, texts in spoken().items() for text in texts if "\n" in text} == {"repl_help"}


def test_no_two_functions_say_the_same() -> None:
    """One function per sentence."""
    first: dict[str, str] = {}
    twice = []
    for name, texts in spoken().items():
        for text in texts:
            if text in first and first[text] != name:
                twice.append((first[text], name))
            first.setdefault(text, name)
    assert twice == []


def test_waits_are_told_in_whole_seconds_or_in_milliseconds() -> None:
    """Never rounded to another figure than the one that held (A14)."""
    told = {0.0: "1ms", 0.25: "250ms", 1.0: "1s", 1.5: "1500ms", 2.0: "2s", 30.0: "30s", 90.25: "90250ms"}
    assert {seconds: teaching.human_wait(seconds) for seconds in told} == told
