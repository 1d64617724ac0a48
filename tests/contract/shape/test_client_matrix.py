"""The matrix of stock clients: how large it is, and that its page tells of every client."""

import os
import re
from pathlib import Path

import pytest

from tests.matrix import npm_packages
from tests.matrix.registry import load

PAGE = Path(__file__).resolve().parents[3] / "docs" / "client-matrix.md"
FEWEST = 250
"""Named checks that the matrix has to have."""


def test_the_matrix_is_large_enough():
    """Every client has checks of its own, under names that do not repeat."""
    checks = [check for client in load() for check in client.checks]
    assert len(checks) >= FEWEST
    assert len({check.title for check in checks}) == len(checks)


def test_streams_tools_forms_and_errors_are_checked_in_every_dialect():
    """No facet is left to one dialect."""
    checks = [check for client in load() for check in client.checks]
    for route in ("/v1/chat/completions", "/v1/responses", "/v1/messages", "/api/chat"):
        for facet in ("stream", "tools", "schema", "error"):
            assert any(check.facets.get(facet) for check in checks if check.route == route), (route, facet)


def test_the_page_names_every_client():
    """A client that is driven stands in the table, by the name without where it is from."""
    table = PAGE.read_text().partition("## Which clients")[2].partition("\n## ")[0]
    for client in load():
        name = re.sub(r" \(.*\)$", "", client.name)
        assert f"`{name}`" in table or f"/{name}`" in table, client.name


def test_packages_whose_installation_failed_are_installed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was half installed once is not taken for installed; what was installed is not installed again."""
    programs, installed = tmp_path / "bin", tmp_path / "npm"
    programs.mkdir()
    for name in ("node", "npm"):
        (programs / name).write_text(
            "#!/bin/sh\nmkdir -p node_modules && echo x >>node_modules/.package-lock.json\ntest -e ../well\n"
        )
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)
    monkeypatch.setattr(npm_packages, "INSTALLED", installed)
    install = npm_packages.install.__wrapped__
    assert "npm install failed" in install()
    assert "npm install failed" in install()
    (tmp_path / "well").touch()
    assert install() == ""
    (tmp_path / "well").unlink()
    assert install() == ""
    assert (installed / "node_modules" / ".package-lock.json").read_text() == "x\n" * 3
