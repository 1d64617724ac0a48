"""What everybody who looks for engines outside the data folder must do."""

from pathlib import Path
from typing import NamedTuple

import pytest

from blazar.adapters.engines.finder import ENGINE_PATH, SystemEngineFinder
from blazar.application.ports.engines import EngineFinder, FoundEngine
from blazar.domain import teaching
from blazar.domain.errors import Malformed
from tests.fakes.builds import FakeEngineFinder
from tests.support.engine import stub_server


class Case(NamedTuple):
    """Finders where nothing is named, where a server is, and where something else is."""

    none: EngineFinder
    named: EngineFinder
    wrong: EngineFinder


def on_paper(_: Path) -> Case:
    named, wrong = FakeEngineFinder(), FakeEngineFinder()
    named.local = FoundEngine("/opt/llama-server", ("/opt/llama-server",), "")
    named.embedded = FoundEngine("/site/xllamacpp/__init__.py", ("python", "-m", "x"), "2026.1")
    wrong.trouble = Malformed(teaching.engine_path_unusable("/opt", teaching.no_server_in("opt")), ENGINE_PATH)
    return Case(FakeEngineFinder(), named, wrong)


def in_the_system(folder: Path) -> Case:
    server = stub_server(folder)
    return Case(
        SystemEngineFinder({}),
        SystemEngineFinder({ENGINE_PATH: str(server)}),
        SystemEngineFinder({ENGINE_PATH: str(folder / "missing")}),
    )


@pytest.fixture(params=[on_paper, in_the_system])
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Case:
    made: Case = request.param(tmp_path)
    return made


def test_nobody_named_anything(case: Case) -> None:
    """No local engine, and no error."""
    assert case.none.find_local() is None


def test_a_named_server_is_found(case: Case) -> None:
    """By its absolute path, which is the whole command; its version is not asked for here."""
    found = case.named.find_local()
    assert found is not None
    assert found.server_path.startswith("/")
    assert (found.command, found.version) == ((found.server_path,), "")


def test_what_is_no_server_is_refused(case: Case) -> None:
    """With the variable as the field."""
    with pytest.raises(Malformed) as refused:
        case.wrong.find_local()
    assert refused.value.field == ENGINE_PATH


def test_an_embedded_engine_is_whole_or_not_there(case: Case) -> None:
    """Its file, the command that runs it and its version; what is named elsewhere does not matter."""
    for finder in case:
        found = finder.find_embedded()
        assert found is None or (found.server_path.startswith("/") and found.command and found.version)
