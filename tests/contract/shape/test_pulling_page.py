"""`docs/pulling.md` says of references what the parser does."""

import re
from pathlib import Path

import pytest

from blazar.adapters.cli.parser import parse
from blazar.adapters.http.schema.ollama import PullBody
from blazar.domain.errors import Malformed
from blazar.domain.references import catalog_name, pull_reference

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "pulling.md").read_text(encoding="utf-8")
HOST = "registry.example"
REFERENCES = PAGE.partition("## References")[2].partition("\n## ")[0]
ROWS = [re.findall(r"`([^`]+)`", row.split(" | ")[0]) for row in re.findall(r"^\| (`.*) \|$", REFERENCES, re.MULTILINE)]


def test_spellings_of_one_row_mean_the_same() -> None:
    """But for the tags of the first, and the case of a quantisation."""
    assert len(ROWS) == 8
    for spellings in ROWS:
        found = {str(pull_reference(word, [HOST])).lower().replace(":0.6b", ":latest") for word in spellings}
        assert len(found) == 1, spellings


def test_files_are_told_to_import() -> None:
    """Each of the forms that the page names."""
    for word in ("./m", "../m", "~/m", "/m", "a\\b", "m.gguf", "models/m.gguf"):
        with pytest.raises(Malformed, match="blazar import"):
            pull_reference(word)


def test_names_are_as_the_page_says() -> None:
    """Of both registries."""
    for word, name in (
        ("qwen3:0.6b", "qwen3:0.6b"),
        ("qwen3", "qwen3"),
        ("ggml-org/Qwen3-8B-GGUF:Q4_K_M", "qwen3-8b-q4_k_m"),
    ):
        assert catalog_name(pull_reference(word)) == name
        assert f"`{name}`" in PAGE


def test_searches_of_the_page_parse() -> None:
    """As they stand there."""
    lines = re.findall(r"^blazar (search .*)$", PAGE, re.MULTILINE)
    assert lines
    for line in lines:
        assert parse(line.split()).action == "search"


def test_the_page_has_every_field_of_a_pull() -> None:
    """In its table, and none that the route does not know (`name` is the older word for `model`)."""
    rows = re.findall(
        r"^\| (`[a-z`, or]+)(?: \(ours\))? \| ", PAGE.partition("## By the API")[2].partition("\n## ")[0], re.MULTILINE
    )
    fields = {field.alias or name for name, field in PullBody.model_fields.items()}
    assert {word for row in rows for word in re.findall(r"`([a-z]+)`", row)} == fields | {"name"}
