"""`docs/cases.md` says which test shows each case: the tests must exist, and every case must have one or say what it waits for."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.support.shared import shared

ROOT = Path(__file__).resolve().parents[3]
ROW = re.compile(r"^\| ([A-Z]\d+) \| (.+) \| (.+) \|$", re.MULTILINE)
PAGE = (ROOT / "docs" / "cases.md").read_text()
ROWS = ROW.findall(PAGE)
TESTS = sorted(set(re.findall(r"`(tests/[^`]+::[^`]+)`", PAGE)))


@cache
def names_in(path: str) -> frozenset[str]:
    """Names of the test functions of a file."""
    tree = ast.parse((ROOT / path).read_text())
    return frozenset(
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    )


@pytest.mark.parametrize("test", TESTS)
def test_every_test_that_is_named_exists(test: str) -> None:
    """A renamed test takes its row along."""
    path, _, name = test.partition("::")
    assert (ROOT / path).is_file(), f"docs/cases.md names {path}, which is not there"
    assert name in names_in(path), f"docs/cases.md names {test}, which is not there"


def test_every_case_is_shown_or_says_what_it_waits_for() -> None:
    """No row is empty, and none stands twice."""
    assert len(ROWS) > 100
    assert len({case for case, _, _ in ROWS}) == len(ROWS)
    for case, what, shown in ROWS:
        assert "`tests/" in shown or "later: " in shown, case
        assert what != "–" or "`tests/" not in shown, f"{case} has a test and does not say what holds"


def test_no_case_of_a_built_feature_is_forgotten() -> None:
    """Every id of the lists whose features are built stands on the page."""
    folder = shared("cases")
    known = {case for case, _, _ in ROWS}
    for name in ("lifecycle", "cancellation", "streaming", "security", "ollama", "fit", "config-cli", "downloads"):
        listed = set(re.findall(r"^- ([A-Z]\d+) ", (folder / f"{name}.md").read_text(), re.MULTILINE))
        assert listed, name
        assert listed <= known, (name, sorted(listed - known))
