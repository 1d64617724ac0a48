"""Keys with dots in nested tables."""

import tomllib

import pytest

from blazar.application.config.dotted import LEVELS, find_path, said_name, split_names, too_deep, too_long, value_at

TABLES = {"port": 1, "model_overrides": {"a": {"ctx": 1}, "a.b": {"ctx": 2, "mlx": {"kv_bits": 4}}}, "gone": None}


@pytest.mark.parametrize(
    ("key", "path"),
    [
        ("port", ("port",)),
        ("gone", ("gone",)),
        ("model_overrides.a.ctx", ("model_overrides", "a", "ctx")),
        ("model_overrides.a.b", ("model_overrides", "a.b")),
        ("model_overrides.a.b.ctx", ("model_overrides", "a.b", "ctx")),
        ('model_overrides."a.b".ctx', ("model_overrides", "a.b", "ctx")),
        ("model_overrides.a.b.mlx.kv_bits", ("model_overrides", "a.b", "mlx", "kv_bits")),
        ("model_overrides.b.ctx", None),
        ("port.x", None),
        ("", None),
    ],
)
def test_a_key_is_found_however_its_names_are_cut(key, path):
    """Dots divide names and stand in them: what is there decides."""
    assert find_path(TABLES, key) == path


@pytest.mark.parametrize(
    ("name", "said"),
    [("a-b_1", "a-b_1"), ("a.b", '"a.b"'), ("", '""'), ('a"b', '"a\\"b"'), ("ü", '"ü"'), ("\x7f", r'"\u007f"')],
)
def test_a_name_is_quoted_where_toml_asks_for_it(name, said):
    """And reads back as itself."""
    assert said_name(name) == said
    assert tomllib.loads(f"{said} = 1") == {name: 1}


def test_every_reading_is_offered_known_names_first():
    """The longest known name, then the others from the left; quotes leave one reading."""
    assert list(split_names("a.b.c", {"a.b": 1})) == [("a.b", "c"), ("a", "b.c"), ("a.b.c", "")]
    assert list(split_names('"a.b".c', {})) == [("a.b", "c")]
    assert list(split_names("'a.b'", {})) == [("a.b", "")]
    assert list(split_names('"a"b', {})) == []


def test_nothing_is_none():
    """Neither a missing name nor a value in the place of a table is an error."""
    assert value_at(TABLES, ("model_overrides", "a", "ctx")) == 1
    assert value_at(TABLES, ("port", "x")) is None
    assert value_at(TABLES, ("x", "y")) is None


def test_what_is_nested_without_an_end_is_too_deep():
    """Tables and lists alike; the number of values beside each other does not count."""
    deep = 1
    for number in range(LEVELS):
        deep = [deep] if number % 2 else {"a": deep, "b": 1}
    assert not too_deep(deep)
    assert too_deep([deep])


def test_a_number_that_cannot_be_written_is_too_long():
    """Wherever it stands; what a fraction can hold is none."""
    assert not too_long({"a": [2**1000, {"b": -(2**64)}], "c": "f" * 9000, "d": True})
    assert too_long({"a": [1, {"b": 0x1 << 5000}]})
