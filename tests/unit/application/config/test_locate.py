"""Lines of keys, against texts whose lines are known."""

import random
import tomllib
from itertools import pairwise

import pytest

from blazar.application.config.locate import Lines, comments_in, placed, remarks_in

TEXT = '''\
# a comment with [brackets] and "quotes
a = 1
b = [ # open
  "]", '[',
  { c = 1, d = [2] },
]
c = """
[not.a.table]
k = 1 \\" still "" inside
"""
d = \'\'\'
'' x = 1
\'\'\'

[t]
"quoted key" = 1
x.y.z = 2  # dotted
[t.sub]
a = 1
[[arr]]
a = 1
[arr.inner]
b = 1
[[arr]]
a = 2
'k.d' = 3
[[arr.deep]]
c = 1
[[arr.deep]]
c = 2
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("a",), 2),
        (("b",), 3),
        (("b", 1, "d"), 3),
        (("c",), 7),
        (("d",), 11),
        (("t",), 15),
        (("t", "quoted key"), 16),
        (("t", "x", "y", "z"), 17),
        (("t", "x"), 17),
        (("t", "sub", "a"), 19),
        (("arr",), 20),
        (("arr", 0, "a"), 21),
        (("arr", 0, "inner", "b"), 23),
        (("arr", 1), 24),
        (("arr", 1, "a"), 25),
        (("arr", 1, "k.d"), 26),
        (("arr", 1, "deep", 0, "c"), 28),
        (("arr", 1, "deep", 1, "c"), 30),
        (("arr", 1, "missing"), 24),
        (("nowhere",), 1),
    ],
)
def test_a_key_is_found(path, line):
    """Strings, comments, arrays and tables of every kind do not mislead the scanner."""
    assert tomllib.loads(TEXT)
    assert Lines(TEXT).find(path) == line
    assert Lines(TEXT.replace("\n", "\r\n")).find(path) == line


def _value(rng: random.Random) -> str:
    return rng.choice(
        [
            "1",
            "-2.5",
            "true",
            '"# not a comment"',
            "'[x]'",
            '"\\"="',
            "[\n1,\n2, # ]\n]",
            '"""\n[a]\nb = 1\n"""',
            "{ a = '}' }",
        ]
    )


def test_generated_files_are_located():
    """Whatever stands in the values, every key is found in the line where it was written."""
    rng = random.Random(20261129)
    for _ in range(200):
        text, expected, table = "", {}, ()
        for number in range(rng.randrange(1, 12)):
            if rng.random() < 0.3:
                table = (f"t{number}",)
                text += f"[{table[0]}] # head\n"
            key = rng.choice(["k", '"k k."', "'k=k'"]).replace("k", f"k{number}")
            expected[(*table, key.strip("\"'"))] = text.count("\n") + 1
            text += f"{key} = {_value(rng)}{rng.choice(['', '  # x = [', chr(9)])}\n{rng.choice(['', chr(10)])}"
        tomllib.loads(text)
        lines = Lines(text)
        assert {path: lines.find(path) for path in expected} == expected


def test_statements_are_cut_at_their_lines():
    """Put together again with what lies between them, they are the text; a header's and an assignment's path is told."""
    for text in (TEXT, TEXT.replace("\n", "\r\n"), TEXT.rstrip("\n")):
        rows = list(placed(text))
        pieces = [text[row.statement.start : row.statement.end] for row in rows]
        between = [text[a.statement.end : b.statement.start] for a, b in pairwise(rows)]
        assert all(not gap.strip() or gap.strip().startswith("#") for gap in between)
        for row, piece in zip(rows, pieces, strict=True):
            assert row.header == piece.lstrip().startswith("[")
            assert row.path[: len(row.table)] == row.table
            if not row.header:
                tomllib.loads(piece)


def test_comments_are_told_from_what_looks_like_one():
    """A mark in a text is none."""
    assert comments_in("a = '#x' # y\r\nb = '''\n# z\n''' #\n") == ["# y", "#"]


def test_a_remark_belongs_to_the_item_that_it_stands_behind():
    """A comment on a line of its own is none, and neither is a mark inside a text."""
    text = 'a = [ # 0\n  "x#", {b = [1, 2], c = 3}, # 1\n  # own\n  [4, # 2\n   5], 6 # 3\n] # 4\n'
    (row,) = placed(text)
    assert [(one.item, one.text) for one in remarks_in(text, row.statement)] == [
        (-1, "# 0"),
        (1, "# 1"),
        (2, "# 2"),
        (3, "# 3"),
        (-1, "# 4"),
    ]
