"""`tests/unit` mirrors `blazar`: whoever changes a module finds its tests by its name."""

import ast
from pathlib import Path

import pytest

import blazar

PACKAGE = Path(blazar.__file__).parent
UNIT = Path(__file__).resolve().parents[2] / "unit"

NAMED_OTHERWISE = {"__main__.py": "test_main.py"}
"""The twin of a module whose name cannot be a test's."""

WITHOUT_TWIN = {
    # Shapes that others fill in: nothing here can be wrong by itself.
    "adapters/cli/root.py": "protocols",
    "adapters/http/lane/reply.py": "protocols",
    "application/supervise/leasing.py": "protocols",
    "application/supervise/views.py": "protocols",
    "application/supervise/messages.py": "records",
    "adapters/http/layers/doors.py": "records",
    "domain/records.py": "records",
    # Data: a table is tested where it is read.
    "domain/errors.py": "the tree of errors; statuses and exit codes are tested in both shells",
    "domain/teaching.py": "sentences; the golden file in tests/contract/shape holds them",
    "adapters/engines/llamacpp/options.py": "a table; llamacpp/test_embedded reads every row of it",
    "adapters/engines/llamacpp/reserved.py": "a table; test_probe holds it against a real --help, test_launch_plan reads it",
    "adapters/engines/llamacpp/spec.py": "a record; llamacpp/test_flags and test_embedded read it",
    "adapters/http/schema/anthropic.py": "declared bodies; schema/test_openapi and the contract of the wire read them",
    "adapters/http/schema/keys.py": "declared bodies; schema/test_openapi and manage/ read them",
    "adapters/http/schema/manage.py": "declared bodies; schema/test_openapi and manage/ read them",
    "adapters/http/schema/ollama.py": "declared bodies; schema/test_openapi and ollama/ read them",
    "adapters/http/schema/openai.py": "declared bodies; schema/test_openapi and openai/ read them",
    "adapters/http/schema/responses.py": "declared bodies; schema/test_openapi and openai/ read them",
    "adapters/http/schema/stories.py": "declared bodies; schema/test_openapi and manage/test_why read them",
    "adapters/http/schema/wire.py": "the base of the declared bodies",
    "application/config/observability.py": "declared keys; config/test_model and test_layers read them",
    "application/config/reasoning.py": "declared keys; config/test_model and test_layers read them",
    "application/config/resources.py": "declared keys; config/test_model and test_layers read them",
    "application/config/tables.py": "declared keys; config/test_model and test_layers read them",
    "application/config/yarn.py": "declared keys; config/test_model and test_layers read them",
    # Judged together with their fakes.
    "adapters/telemetry/clock.py": "tests/contract/ports/test_clock.py",
    "adapters/telemetry/entropy.py": "tests/contract/ports/test_entropy.py",
    "adapters/http/layers/order.py": "tests/contract/shape/test_layers.py",
}
"""Modules without a test of their name, each with its reason."""


def modules() -> list[str]:
    """Every module but the ports, which are protocols with a contract suite each, and packages' own files."""
    found = (path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py") if path.name != "__init__.py")
    return sorted(name for name in found if not name.startswith("application/ports/"))


def twin_of(module: str) -> Path:
    path = Path(module)
    return UNIT / path.parent / NAMED_OTHERWISE.get(module, f"test_{path.name}")


@pytest.mark.parametrize("module", [name for name in modules() if name not in WITHOUT_TWIN])
def test_a_module_has_its_twin(module: str) -> None:
    """With at least one test in it."""
    twin = twin_of(module)
    assert twin.is_file(), f"{module} has no {twin.relative_to(UNIT.parents[1])}"
    tree = ast.parse(twin.read_text())
    found = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    assert any(node.name.startswith("test_") for node in found)


def test_the_exceptions_are_true() -> None:
    """Each of them exists and has no twin: a list that is longer than needed hides what is missing."""
    assert set(WITHOUT_TWIN) <= set(modules())
    assert [module for module in WITHOUT_TWIN if twin_of(module).exists()] == []
    assert all(WITHOUT_TWIN.values())


def test_no_package_hides_code_in_its_own_file() -> None:
    """An `__init__.py` says what the package is and names what it offers; anything more would escape the mirror."""
    for path in PACKAGE.rglob("__init__.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            hides = isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            # A package's verbs are a table of imports by name: cli/verbs/__init__.py has one function to look one up.
            assert not hides or path.parent.name == "verbs", path
