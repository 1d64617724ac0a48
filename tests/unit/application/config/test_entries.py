"""One entry of a list of tables, and nothing else."""

import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blazar.application.config import locate
from blazar.application.config.entries import Entries
from blazar.application.config.locate import Lines, comments_in
from blazar.domain.errors import BadConfig, Conflict

TEXT = """\
# mine
port = 1

[[keys]]   # the first
name = "a"
models = [
  "m", # one
  # "n",
]

# between
[[keys]]
  name = 'b'   # bee
rpm = 3

[gateway]
host = "::1"

[[keys]]
name = "c"
"""


def entries(text: str = TEXT) -> Entries:
    return Entries(text, "/c.toml", "keys")


def test_one_value_of_one_entry_is_said_anew() -> None:
    """Indentation and comments around it stay, and so does every other line."""
    found = entries().change(1, {"rpm": 4, "name": "bb"})
    assert found == TEXT.replace("name = 'b'   # bee\nrpm = 3", 'name = "bb"   # bee\nrpm = 4')


def test_a_new_value_stands_last_in_its_entry() -> None:
    """Also where that is the last line of a file, and that has no end."""
    assert entries().change(1, {"tpm": 5, "weight": 2.0}) == TEXT.replace(
        "rpm = 3\n", "rpm = 3\ntpm = 5\nweight = 2.0\n"
    )
    assert entries(TEXT.rstrip()).change(2, {"rpm": 1}) == TEXT + "rpm = 1\n"
    assert entries(TEXT.replace("\n", "\r\n")).change(2, {"rpm": 1}).endswith('name = "c"\r\nrpm = 1\r\n')


def test_a_value_that_goes_leaves_the_comments_of_its_own_lines() -> None:
    """What stands behind a value is about it, and goes along."""
    found = entries().change(0, {"models": None, "rpm": 1})
    assert found == TEXT.replace('models = [\n  "m", # one\n  # "n",\n]\n', '  # "n",\nrpm = 1\n')


def test_an_entry_goes_without_its_neighbours() -> None:
    """Its header and its keys, and the comments behind them."""
    found = entries().remove(1)
    assert tomllib.loads(found)["keys"] == [{"name": "a", "models": ["m"]}, {"name": "c"}]
    assert {"# mine", "# the first", "# between"} <= set(comments_in(found))
    assert "# bee" not in found
    assert tomllib.loads(found)["gateway"] == {"host": "::1"}


def test_the_last_entry_takes_the_list_along() -> None:
    """And the first one brings it."""
    text = entries("port = 1\n").add({"name": "x", "models": ["a", "b"]})
    assert text == 'port = 1\n\n[[keys]]\nname = "x"\nmodels = ["a", "b"]\n'
    assert tomllib.loads(entries(text).remove(0)) == {"port": 1}


def test_an_empty_inline_list_is_filled() -> None:
    """No header may stand beside it."""
    assert tomllib.loads(entries("keys = []\n").add({"name": "x"})) == {"keys": [{"name": "x"}]}


def test_what_is_no_list_of_tables_is_left_alone() -> None:
    """And what is no TOML is told as such."""
    for text in ("keys = 1\n", 'keys = ["a"]\n', "[keys]\na = 1\n"):
        with pytest.raises(Conflict):
            entries(text)
    with pytest.raises(BadConfig):
        entries("keys = \n")


def test_a_layout_that_nobody_can_change_is_refused() -> None:
    """The parser has the last word: a table within an entry would end up in another one."""
    with pytest.raises(Conflict):
        entries("[[keys]]\nname = 'a'\n[keys.deep]\nx = 1\n").change(0, {"rpm": 1, "deep": None})


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=12)
VALUES = st.one_of(WORDS, st.integers(-(2**60), 2**60), st.booleans(), st.lists(WORDS, max_size=4), st.floats(0.1, 9.0))
ROWS = st.lists(
    st.dictionaries(st.sampled_from(["name", "key", "models", "a b", "rpm"]), VALUES, max_size=4), max_size=5
)


@settings(max_examples=150, deadline=None)
@given(ROWS, st.data())
def test_any_change_is_that_change_and_no_other(rows: list[dict[str, Any]], data: st.DataObject) -> None:
    """Entries are added, changed and taken out in any order; the file says exactly that, and its comments stay."""
    text = "# head\nport = 1 # one\n"
    said: list[dict[str, Any]] = []
    for row in rows:
        text = entries(text).add(row) + "# behind\n\n"
        said.append(row)
    if said:
        index = data.draw(st.integers(0, len(said) - 1))
        change = data.draw(st.dictionaries(st.sampled_from(["name", "rpm", "new"]), st.none() | VALUES, max_size=3))
        text = entries(text).change(index, change)
        said[index] = {key: value for key, value in {**said[index], **change}.items() if value is not None}
        assert tomllib.loads(text)["keys"] == said
        gone = data.draw(st.integers(0, len(said) - 1))
        text = entries(text).remove(gone)
        del said[gone]
    assert tomllib.loads(text) == {"port": 1, **({"keys": said} if said else {})}
    assert comments_in(text).count("# behind") == len(rows)
    assert text.startswith("# head\nport = 1 # one\n")


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from([*TEXT.splitlines(keepends=True), "[a.b]\n", "x = '''\n[no]\n'''\n", "y.z = 1\r\n", "\t\n"])
    )
)
def test_plain_lines_are_read_as_any_other(lines: list[str]) -> None:
    """The quick look at a line says what the careful one says, of every text that is TOML."""
    text = "".join(lines)
    try:
        tomllib.loads(text)
    except ValueError:
        return
    quick = [(row.path, row.table, row.header, *row.statement[:3]) for row in locate.placed(text)]
    lined = dict(Lines(text)._lines)
    plain, locate._PLAIN = locate._PLAIN, locate.re.compile(r"(?!)")
    try:
        assert quick == [(row.path, row.table, row.header, *row.statement[:3]) for row in locate.placed(text)]
        assert lined == Lines(text)._lines
    finally:
        locate._PLAIN = plain
