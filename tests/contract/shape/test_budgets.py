"""Budgets for files, functions and signatures (habit 19), and words that must not be left behind."""

import ast
from collections.abc import Iterator
from pathlib import Path

import blazar

ROOT = Path(blazar.__file__).parent
LONGEST_FILE = 500
LONGEST_FUNCTION = 40
MOST_PARAMETERS = 6

# Pure data or one sentence after another: length there is content, not complexity.
DATA = {"domain/teaching.py"}
FORBIDDEN_NAMES = {"utils.py", "helpers.py", "common.py", "misc.py", "manager.py", "base.py"}
FORBIDDEN_WORDS = ("TODO", "FIXME", "XXX", "NotImplementedError")


def sources() -> list[Path]:
    return sorted(ROOT.rglob("*.py"))


def functions() -> Iterator[tuple[Path, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield path, node


def code_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function without its docstring; nested functions count for themselves."""
    first = node.body[0]
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    start = (first.end_lineno or 0) + 1 if documented else first.lineno
    nested = sum(
        (inner.end_lineno or 0) - inner.lineno + 1
        for inner in ast.walk(node)
        if inner is not node and isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    return (node.end_lineno or 0) - start + 1 - nested


def test_no_file_is_longer_than_its_idea() -> None:
    """Every source file stays under the hard cap, data tables excepted."""
    long = {
        str(path.relative_to(ROOT)): lines
        for path in sources()
        if (lines := len(path.read_text().splitlines())) > LONGEST_FILE and str(path.relative_to(ROOT)) not in DATA
    }
    assert long == {}


def test_no_function_is_longer_than_a_page() -> None:
    """Functions stay under forty lines of code."""
    long = {f"{p.relative_to(ROOT)}:{f.name}": n for p, f in functions() if (n := code_lines(f)) > LONGEST_FUNCTION}
    assert long == {}


def test_no_signature_has_too_many_parameters() -> None:
    """At most six parameters beside self or cls."""
    wide = {}
    for path, node in functions():
        names = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        count = len([name for name in names if name not in ("self", "cls")])
        if count > MOST_PARAMETERS:
            wide[f"{path.relative_to(ROOT)}:{node.name}"] = count
    assert wide == {}


def test_no_file_is_named_for_having_no_subject() -> None:
    """There is no utils.py: a module is named for what it decides."""
    assert [str(p.relative_to(ROOT)) for p in sources() if p.name in FORBIDDEN_NAMES] == []


def test_nothing_is_left_for_later_in_the_code() -> None:
    """No reminders and no stubs in the package."""
    left = [
        f"{path.relative_to(ROOT)}: {word}"
        for path in sources()
        for word in FORBIDDEN_WORDS
        if word in path.read_text()
    ]
    assert left == []


def test_every_module_says_what_it_decides() -> None:
    """Each module with code opens with a docstring (habit 18)."""
    silent = [
        str(path.relative_to(ROOT))
        for path in sources()
        if path.read_text().strip() and not ast.get_docstring(ast.parse(path.read_text()))
    ]
    assert silent == []


def test_exceptions_are_swallowed_nowhere() -> None:
    """`except Exception` stands only at the request boundary, the background runner and the command line's last line."""
    allowed = {"adapters/http/layers/request_log.py", "composition/tasks.py", "__main__.py"}
    broad = set()
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ExceptHandler) and (
                node.type is None
                or (isinstance(node.type, ast.Name) and node.type.id in ("Exception", "BaseException"))
            ):
                broad.add(str(path.relative_to(ROOT)))
    assert broad <= allowed
