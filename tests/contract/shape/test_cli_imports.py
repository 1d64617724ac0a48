"""What each verb may import (habit 2, D25), decided by module names and not by milliseconds."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.gguf_files import tiny

HEAVY = {
    "asyncio",
    "dependency_injector",
    "email.mime",
    "gguf",
    "httptools",
    "httpx",
    "hypercorn",
    "jsonschema",
    "logging",
    "msgspec",
    "numpy",
    "opentelemetry",
    "psutil",
    "pydantic",
    "pynvml",
    "quart",
    "rich",
    "sqlalchemy",
    "sqlite3",
    "sqlmodel",
    "tomlkit",
    "uvloop",
    "xllamacpp",
}

THIN = [
    "ps",
    "ps --json",
    "status",
    "stop",
    "load m",
    "evict m",
    "explain m",
    "fit m",
    "rm m",
    "cp a b",
    "login",
    "version",
]
READING = [
    "config get port",
    "config list",
    "config list --quiet",
    "config defaults",
    "config validate",
    "config schema",
]
CATALOGUED = [
    "list",
    "list --json",
    "show tiny",
    "engine list",
    "engine list --json",
    "engine use nope",
    "engine pin nope",
]
"""Verbs that read the catalog where no daemon runs, or are refused after a look at it."""
CHANGING = ["config set port 1", "config unset port", "migrate"]
SERVERS = {"quart", "hypercorn", "httpx", "sqlmodel", "sqlalchemy", "dependency_injector", "psutil", "gguf", "uvloop"}
"""What no question about configuration has to do with."""

LOCAL = ["config path", "completion bash", "logs", "--help", "ps --help", "nope"]


def imported_by(words: list[str], home: Path, url: str = "127.0.0.1:9") -> set[str]:
    """The modules that one run of the program adds to a bare interpreter; its own output is dropped."""
    code = (
        "import sys, json; bare = set(sys.modules)\n"
        "from blazar.__main__ import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(json.dumps(sorted(set(sys.modules) - bare)), file=sys.__stderr__)"
    )
    env = {**os.environ, "XDG_CONFIG_HOME": str(home), "XDG_DATA_HOME": str(home), "BLAZAR_HOST": url}
    done = subprocess.run([sys.executable, "-c", code, *words], env=env, capture_output=True, text=True, timeout=60)
    modules: list[str] = json.loads(done.stderr.splitlines()[-1])
    return set(modules)


def roots(modules: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules}


@pytest.mark.parametrize("line", [*THIN, *LOCAL])
def test_thin_verbs_import_the_standard_library_only(line: str, tmp_path: Path) -> None:
    """No web framework, no database, no event loop for a question to the daemon."""
    modules = imported_by(line.split(), tmp_path)
    assert roots(modules) - set(sys.stdlib_module_names) == {"blazar"}
    assert not {name for name in modules if name in HEAVY or name.partition(".")[0] in HEAVY}


def test_the_version_costs_nothing(tmp_path: Path) -> None:
    """Not even argparse: the package, its entry point, no more."""
    modules = imported_by(["--version"], tmp_path)
    assert {name for name in modules if name.startswith("blazar")} == {"blazar", "blazar.__main__"}
    assert "argparse" not in modules


def test_the_parser_imports_argparse_only() -> None:
    """So that help, man page and completion are cheap (habit 14)."""
    code = (
        "import argparse, collections.abc, typing, sys; bare = set(sys.modules);"
        "import blazar.adapters.cli.parser; print(*(set(sys.modules) - bare))"
    )
    added = set(subprocess.check_output([sys.executable, "-c", code], text=True).split())
    assert added == {"blazar", "blazar.adapters", "blazar.adapters.cli", "blazar.adapters.cli.parser"}


def test_local_verbs_speak_no_http(tmp_path: Path) -> None:
    """Completing a word at the prompt must not load a client."""
    assert "http.client" not in imported_by(["completion", "bash"], tmp_path)


@pytest.mark.parametrize("line", READING)
def test_reading_the_configuration_costs_its_declaration_only(line: str, tmp_path: Path) -> None:
    """Neither web framework nor database, and not the library that only edits need."""
    loaded = roots(imported_by(line.split(), tmp_path))
    assert "pydantic" in loaded
    assert not loaded & {*SERVERS, "tomlkit"}


@pytest.fixture(scope="module")
def stocked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a model, and the wheel where there is one."""
    home = tmp_path_factory.mktemp("stocked")
    tiny().save(home / "tiny.gguf")
    imported_by(["import", str(home / "tiny.gguf"), "--name", "tiny"], home, "")
    imported_by(["engine", "list"], home, "")
    return home


@pytest.mark.parametrize("line", CATALOGUED)
def test_reading_the_catalog_costs_sqlite_only(line: str, stocked: Path) -> None:
    """No ORM, though it writes the rows; neither the declaration of the configuration nor the flags of engines."""
    modules = imported_by(line.split(), stocked, "")
    assert "sqlite3" in modules
    assert not roots(modules) & {*SERVERS, "pydantic", "tomlkit", "numpy"}
    assert "blazar.adapters.engines.drivers" not in modules


def test_a_configuration_that_is_in_auto_mode_is_not_parsed_for_a_listing(stocked: Path) -> None:
    """Only manual mode adds a line to it."""
    file = stocked / "blazar" / "config.toml"
    for mode, parsed in (("auto", False), ("manual", True)):
        file.write_text(f'[engine_routing]\nmode = "{mode}"\n')
        assert ("pydantic" in roots(imported_by(["engine", "list"], stocked, ""))) is parsed
    file.unlink()


@pytest.mark.parametrize("line", CHANGING)
def test_changing_the_configuration_costs_its_editor_besides(line: str, tmp_path: Path) -> None:
    """tomlkit, and no more."""
    loaded = roots(imported_by(line.split(), tmp_path))
    assert "tomlkit" in loaded
    assert not loaded & SERVERS


def test_an_editor_is_started_without_reading_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`config edit` needs the declaration when there is a text to judge."""
    monkeypatch.setenv("VISUAL", f"'{sys.executable}' -c pass")
    modules = imported_by(["config", "edit"], tmp_path)
    assert not roots(modules) & {*SERVERS, "tomlkit", "pydantic"}
