"""What looks wrong and is meant is marked `ODD:` and pinned by a test of the same name (habit 18).

The name is what follows the marker up to its first full stop, comma, colon, semicolon or bracket: `ODD: a name is no template. …`
is pinned by `test_odd_a_name_is_no_template`. Further tests of one oddity go on after its name.
"""

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import blazar

PACKAGE = Path(blazar.__file__).parent
TESTS = Path(__file__).resolve().parents[2]
MARKER = re.compile(r"\bODD:")
PREFIX = "test_odd_"
FEWEST_WORDS = 3
"""Fewer would not say what is odd."""
_END = re.compile(r"[.,:;](?=\s|$)|\s\(")


def prose(source: str) -> Iterator[str]:
    """Every text of a module that people read, each on one line: runs of comments, and strings (docstrings among them)."""
    run: list[str] = []
    last = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            if run and token.start[0] != last + 1:
                yield " ".join(run)
                run = []
            run.append(token.string.lstrip("# "))
            last = token.start[0]
        elif token.type == tokenize.STRING and MARKER.search(token.string):
            yield " ".join(token.string.strip("\"'").split())
    if run:
        yield " ".join(run)


def slug(sentence: str) -> str:
    """The first clause as a part of a test's name."""
    return re.sub(r"[^a-z0-9]+", "_", _END.split(sentence, 1)[0].lower()).strip("_")


def oddities() -> list[tuple[str, str]]:
    """Name and module of each marker."""
    return [
        (slug(said), path.relative_to(PACKAGE).as_posix())
        for path in sorted(PACKAGE.rglob("*.py"))
        if MARKER.search(source := path.read_text(encoding="utf-8"))
        for text in prose(source)
        for said in MARKER.split(text)[1:]
    ]


def pinning() -> dict[str, list[str]]:
    """Files of all tests that pin an oddity, by the rest of their name."""
    found: dict[str, list[str]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        source = path.read_text(encoding="utf-8")
        if PREFIX not in source:
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith(PREFIX):
                found.setdefault(node.name.removeprefix(PREFIX), []).append(path.relative_to(TESTS).as_posix())
    return found


@pytest.mark.parametrize(("name", "module"), [pytest.param(*odd, id=f"{odd[1]}-{odd[0]}") for odd in oddities()])
def test_an_oddity_is_pinned_by_a_test_of_its_name(name: str, module: str) -> None:
    """Whoever mends what looks wrong is told by name that it was meant."""
    assert name.count("_") + 1 >= FEWEST_WORDS, f"{module}: say in a clause what is odd, not {name!r}"
    assert name in pinning(), f"{module}: no test is called {PREFIX}{name}"


def test_no_marker_is_overlooked() -> None:
    """As many are read as a plain search finds."""
    written = Counter(
        {
            path.relative_to(PACKAGE).as_posix(): count
            for path in PACKAGE.rglob("*.py")
            if (count := len(MARKER.findall(path.read_text(encoding="utf-8"))))
        }
    )
    assert Counter(module for _, module in oddities()) == written


def test_each_is_said_once() -> None:
    """Two of one name would be pinned by a test of one of them."""
    assert [name for name, count in Counter(name for name, _ in oddities()).items() if count > 1] == []


def test_no_test_pins_what_is_marked_nowhere() -> None:
    """A rule that is gone takes its tests with it; a test about strange input is called something else."""
    names = {name for name, _ in oddities()}
    orphans = {
        f"{file}: {PREFIX}{name}"
        for name, files in pinning().items()
        if name not in names and not any(name.startswith(f"{known}_") for known in names)
        for file in files
    }
    assert orphans == set()


def test_no_test_marks_one_by_itself() -> None:
    """The marker stands where the behaviour does; a test carries the name."""
    here = Path(__file__).resolve()
    assert [p for p in TESTS.rglob("*.py") if p != here and MARKER.search(p.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("# ODD: it is so. And more.\n", ["it_is_so"]),
        ("x = 1  # ODD: v0.9.3 of `--a-b` wins, not the first\n", ["v0_9_3_of_a_b_wins"]),
        ('"""Says.\n\n    ODD: over\n    two lines: because.\n"""\n', ["over_two_lines"]),
        ("# First. ODD: a comment\n# goes on (D1)\nx = 1\n# alone\n", ["a_comment_goes_on"]),
        ("# ODD: one thing.\nx = 1\n# ODD: another thing.\n", ["one_thing", "another_thing"]),
    ],
)
def test_how_a_name_is_read(source: str, names: list[str]) -> None:
    """In comments and docstrings, over line ends, up to the end of a clause."""
    assert [slug(said) for text in prose(source) for said in MARKER.split(text)[1:]] == names
