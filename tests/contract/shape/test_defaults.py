"""A default is said where its key is declared. Who cannot import the declaration and says it again is held to it here."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import blazar
from blazar.adapters.cli.locate import DEFAULT_PORT, find_target
from blazar.adapters.cli.parser import build_parser
from blazar.adapters.http.lane.relay import Limits as LaneLimits
from blazar.application.config.model import Config
from blazar.application.supervise.surroundings import Limits
from blazar.domain.fit import ladder
from tests.fakes.processes import FakeProcesses

PACKAGE = Path(blazar.__file__).parent
DECLARED = Config()

REPEATED: list[tuple[str, str, Any]] = [
    # A verb that talks to a daemon must not pay for the declaration's import.
    ("port", "adapters/cli/locate.py", DEFAULT_PORT),
    # What a lane or a supervisor has that nobody configured, as in most tests.
    ("child_header_timeout_secs", "adapters/http/lane/relay.py", LaneLimits().header_timeout),
    ("max_loaded_models", "application/supervise/surroundings.py", Limits().max_loaded_models),
    ("idle_timeout_secs", "application/supervise/surroundings.py", Limits().idle_timeout_secs),
    ("model_load_timeout_secs", "application/supervise/surroundings.py", Limits().model_load_timeout_secs),
    ("spawn_mem_guard", "application/supervise/surroundings.py", Limits().spawn_mem_guard),
    # The domain knows no configuration.
    ("default_ctx", "domain/fit/ladder.py", ladder.DEFAULT),
]
"""Key, where it is said again, and what is said. `composition/preview.UNCONFIGURED` has a test of its own."""

TELLING = {
    name: value for name, value in DECLARED if isinstance(value, int | float | str) and value not in (0, 1, -1, "")
}
"""Defaults that nobody writes by chance."""
OTHERS = {
    # The address that a client of this machine uses for a daemon that listens on all of them.
    ("host", "composition/listener.py"),
}
"""Equal names and values with another meaning."""


@pytest.mark.parametrize(("key", "module", "said"), [pytest.param(*row, id=f"{row[1]}-{row[0]}") for row in REPEATED])
def test_a_default_that_is_said_again_is_the_declared_one(key: str, module: str, said: Any) -> None:
    """Changed in one place only, it would hold in one place only."""
    assert (PACKAGE / module).is_file()
    assert said == getattr(DECLARED, key)


def test_the_address_that_nobody_named_is_the_default_one(tmp_path: Path) -> None:
    """Where a verb looks, and what its help says about it."""
    target = find_target(None, {}, tmp_path, FakeProcesses())
    assert target.url == f"http://{DECLARED.host}:{DECLARED.port}"
    assert f"else {DECLARED.host}:{DECLARED.port})" in " ".join(build_parser().format_help().split())


def repeats() -> Iterator[tuple[str, str]]:
    """Fields, parameters and constants outside the declaration that are called like a key and have its default."""
    for path in sorted(PACKAGE.rglob("*.py")):
        module = path.relative_to(PACKAGE).as_posix()
        if module.startswith("application/config/"):
            continue
        for name, node in said_in(ast.parse(path.read_text(encoding="utf-8"))):
            key = name.lower().removeprefix("default_")
            if key in TELLING and isinstance(node, ast.Constant) and node.value == TELLING[key]:
                yield key, module


def said_in(tree: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    """Names with what they are given."""
    for node in ast.walk(tree):
        match node:
            case ast.AnnAssign(target=ast.Name(id=name), value=value):
                yield name, value
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, value
            case ast.arguments():
                plain = [*node.posonlyargs, *node.args]
                yield from (
                    (one.arg, given) for one, given in zip(reversed(plain), reversed(node.defaults), strict=False)
                )
                yield from ((one.arg, given) for one, given in zip(node.kwonlyargs, node.kw_defaults, strict=True))


def test_no_other_default_is_said_again() -> None:
    """By its key's name, at least: a new one is derived from the declaration, or comes into the table."""
    assert set(repeats()) - {(key, module) for key, module, _ in REPEATED} == OTHERS
