"""Engines that are there without having been installed."""

import sys
from importlib import metadata, util
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from blazar.adapters.engines import finder as module
from blazar.adapters.engines.finder import SystemEngineFinder
from blazar.domain.errors import Malformed
from tests.support.engine import stub_server


def test_the_wheel_is_found_without_importing_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its version comes from its metadata, its command is this Python."""
    spec = ModuleSpec("xllamacpp", None, origin="/site/xllamacpp/__init__.py")
    monkeypatch.setattr(util, "find_spec", lambda _: spec)
    monkeypatch.setattr(metadata, "version", lambda _: "2026.1")
    found = SystemEngineFinder({}).find_embedded()
    assert found is not None
    assert (found.server_path, found.version) == ("/site/xllamacpp/__init__.py", "2026.1")
    assert found.command == (sys.executable, "-m", module.EMBEDDED_MODULE)
    assert util.find_spec is not None


def test_no_wheel_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package, or with a folder that only looks like it, there is no embedded engine."""
    monkeypatch.setattr(util, "find_spec", lambda _: None)
    assert SystemEngineFinder({}).find_embedded() is None
    monkeypatch.setattr(util, "find_spec", lambda _: ModuleSpec("xllamacpp", None, origin="/x"))

    def missing(_: str) -> str:
        raise metadata.PackageNotFoundError

    monkeypatch.setattr(metadata, "version", missing)
    assert SystemEngineFinder({}).find_embedded() is None


def test_the_embedded_module_exists() -> None:
    """The name that rows carry is the module that answers."""
    assert util.find_spec(module.EMBEDDED_MODULE) is not None


def test_the_named_binary_is_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative path or a folder ends as the server's absolute path."""
    program = stub_server(tmp_path)
    monkeypatch.chdir(tmp_path)
    for named in ("llama-server", str(program), str(tmp_path), "."):
        found = SystemEngineFinder({"BLAZAR_ENGINE_PATH": named}).find_local()
        assert found is not None
        assert Path(found.server_path).resolve() == program.resolve()
        assert Path(found.server_path).is_absolute()
        assert found.command == (found.server_path,)


def test_nothing_named_is_none() -> None:
    """Unset and empty are the same."""
    assert SystemEngineFinder({}).find_local() is None
    assert SystemEngineFinder({"BLAZAR_ENGINE_PATH": " "}).find_local() is None


def test_a_bad_name_is_a_sentence(tmp_path: Path) -> None:
    """A missing file, a folder without a server, a file that may not be executed: named with the variable."""
    (tmp_path / "plain").write_text("no program")
    for named in ("missing", "plain", ""):
        with pytest.raises(Malformed, match="BLAZAR_ENGINE_PATH names"):
            SystemEngineFinder({"BLAZAR_ENGINE_PATH": str(tmp_path / named)}).find_local()


@pytest.mark.parametrize("named", ["~nobody-of-that-name/x", "x" * 5000, "a\0b"])
def test_an_impossible_name_is_a_sentence(named: str) -> None:
    """Somebody's home who is not here, longer than a name may be: named with the variable, and not at length."""
    with pytest.raises(Malformed, match="BLAZAR_ENGINE_PATH names") as caught:
        SystemEngineFinder({"BLAZAR_ENGINE_PATH": named}).find_local()
    assert len(str(caught.value)) < 500
