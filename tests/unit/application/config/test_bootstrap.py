"""What BLAZAR_KEYS says."""

import tomllib

import pytest

from blazar.application.config.bootstrap import NamedSecret, new_keys, tables_of

THERE = [{"name": "ed", "key": "new"}]


@pytest.mark.parametrize(
    ("text", "there", "keys"),
    [
        ("", [], []),
        (" ,\n", [], []),
        ("ci:s3cret", [], [("ci", "s3cret")]),
        ("a:b:c", [], [("a", "b:c")]),
        ("bare, other", [], [("env-1", "bare"), ("env-2", "other")]),
        ("ed:old new x:new", THERE, []),
        ("a:1 a:2 b:1", [], [("a", "1")]),
        ("fresh", [{"name": "env-1", "key": "stale"}], [("env-2", "fresh")]),
        ("stale", [{"name": "env-1", "key": "stale"}], []),
        ("a:", [], [("a", "")]),
    ],
)
def test_names_and_secrets(text, there, keys):
    """Separated by commas or white space; names and secrets of the file stay; a secret without a name gets a free one."""
    assert new_keys(text, there) == [NamedSecret(*key) for key in keys]


def test_tables_load_back():
    """Odd characters in names and secrets survive the file."""
    keys = [NamedSecret('a"b\\c', "s\u00e9cret\x7f"), NamedSecret("b", "2")]
    assert tomllib.loads(tables_of(keys))["keys"] == [{"name": key.name, "key": key.secret} for key in keys]
