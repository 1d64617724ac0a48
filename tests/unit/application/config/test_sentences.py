"""Sentences under keys."""

import types

import pytest

from blazar.application.config import sentences
from blazar.application.config.knob import Keys
from blazar.application.config.model import SECTIONS, Config, Override


class Some(Keys):
    """Two fields of its own."""

    first: int = 0
    """What the first
    is for."""
    second: int = 1


class More(Some):
    """An heir."""

    fourth: int = 3
    """What the fourth is for."""


def test_a_sentence_belongs_to_the_field_above_it():
    """White space as in any docstring; a field without one has none."""
    assert sentences.sentences_of(Some) == {"first": "What the first\nis for."}
    assert Some.model_fields["second"].description is None


def test_an_heir_keeps_the_sentences():
    """Config is one, of every section."""
    assert More.model_fields["first"].description == "What the first\nis for."
    assert sentences.sentences_of(More) == {"fourth": "What the fourth is for."}
    for section in SECTIONS:
        for name, field in section.model_fields.items():
            assert Config.model_fields[name].description == field.description
    assert Override.model_fields["slots"].description == Config.model_fields["slots"].description


def test_the_schema_has_them():
    """Editors show them beside a key."""
    assert More.model_json_schema()["properties"]["fourth"]["description"] == "What the fourth is for."


def test_without_its_source_a_program_still_runs(monkeypatch: pytest.MonkeyPatch):
    """It has no sentences then."""
    monkeypatch.setitem(sentences.sys.modules, "sourceless", types.ModuleType("sourceless"))
    lost = type("Lost", (), {"__module__": "sourceless"})
    assert sentences.sentences_of(lost) == {}
