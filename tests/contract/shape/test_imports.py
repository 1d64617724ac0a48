"""What importing a module may drag in (habit 2, D24, D25): an allow-list, decided by module names and not by milliseconds."""

import pkgutil
import subprocess
import sys
from importlib.util import find_spec

import pytest

import blazar.domain

DOMAIN = [
    module.name
    for module in pkgutil.walk_packages(blazar.domain.__path__, "blazar.domain.")
    if not module.ispkg or find_spec(module.name)
]

# Standard library, but slow (asyncio 40 ms, logging 10) or a door to the outside: no business of the domain's.
UNWANTED = {"asyncio", "logging", "socket", "ssl", "subprocess", "sqlite3", "urllib.request", "http.client", "tempfile"}


def added_by(statement: str) -> set[str]:
    """The modules that `statement` loads beyond a bare interpreter (an editable install loads some by itself)."""
    code = f"import sys; bare = set(sys.modules); {statement}; print(*(set(sys.modules) - bare))"
    return set(subprocess.check_output([sys.executable, "-c", code], text=True).split())


@pytest.fixture(scope="module")
def whole_domain() -> set[str]:
    """Everything that all of the domain together imports."""
    return added_by("import " + ", ".join(DOMAIN))


def test_the_domain_imports_the_standard_library_only(whole_domain: set[str]) -> None:
    """Any domain module can be imported on a machine that has nothing but Python."""
    roots = {name.partition(".")[0] for name in whole_domain}
    assert roots - set(sys.stdlib_module_names) == {"blazar"}


def test_the_domain_imports_nothing_slow(whole_domain: set[str]) -> None:
    """No event loop, no logging, no sockets come with the domain."""
    assert not UNWANTED & whole_domain


def test_capacity_planning_is_a_light_import() -> None:
    """`import blazar.domain.fit` needs the standard library only."""
    added = {name.partition(".")[0] for name in added_by("import blazar.domain.fit")}
    assert added - set(sys.stdlib_module_names) == {"blazar"}


def test_the_package_itself_holds_a_version_and_nothing_else() -> None:
    """`import blazar` adds exactly one module (D25)."""
    assert added_by("import blazar") == {"blazar"}
