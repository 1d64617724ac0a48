"""`list` with verdicts, from a data folder and beside running children."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from blazar.adapters.engines.finder import SystemEngineFinder
from blazar.adapters.files.folders import Folders
from blazar.application.ports.engines import FoundEngine
from blazar.application.supervise.sizing import Sizing
from blazar.composition.local import Local
from blazar.composition.surveying import SurveyBeside, survey_here, unserved_here
from blazar.domain.kinds import Weights
from blazar.domain.routing import Rules
from tests.fakes.catalog import MemoryModelCatalog, a_model
from tests.fakes.engines import MemoryEngineCatalog, an_engine
from tests.fakes.hardware import FakeCensus
from tests.fakes.weights import MemoryWeightFiles


@pytest.fixture
def local(tmp_path: Path) -> Iterator[Local]:
    with closing(Local(Folders(tmp_path / "config.toml", tmp_path / "data"), {}, lambda _: ())) as local:
        yield local


def test_a_data_folder_is_surveyed(local: Local) -> None:
    """By the census alone."""
    local.catalog.add_model(a_model("m"))
    local.engine_rows.add_engine(an_engine("b1"))
    (one,) = survey_here(local)()
    assert (one.model.name, one.fit, one.lane) == ("m", "fits", "llamacpp")


def test_configuration_pins_and_a_broken_one_keeps_nothing_back(local: Local, tmp_path: Path) -> None:
    """A list must be had where everything else is wrong."""
    local.catalog.add_model(a_model("m"))
    local.engine_rows.add_engine(an_engine("b1"))
    (tmp_path / "config.toml").write_text('[model_overrides.m]\nengine = "mistralrs"\n')
    assert [one.lane for one in survey_here(local)()] == [""]
    (tmp_path / "config.toml").write_text("engine = [nothing")
    assert [one.lane for one in survey_here(local)()] == ["llamacpp"]


def test_what_keeps_a_model_from_being_served_is_told(local: Local, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its kind of engine; for GGUF the wheel counts, which nobody has to install a second time."""
    monkeypatch.setattr(SystemEngineFinder, "find_embedded", lambda _: None)
    assert "blazar engine install --kind mlx" in unserved_here(local, a_model("m", weights=Weights.MLX_QUANT))
    assert "blazar engine install --kind llamacpp" in unserved_here(local, a_model("m"))
    wheel = FoundEngine("/x/wheel.py", ("python", "-m", "wheel"), "1.0")
    monkeypatch.setattr(SystemEngineFinder, "find_embedded", lambda _: wheel)
    assert unserved_here(local, a_model("m")) == ""


def test_the_daemon_surveys_off_its_loop() -> None:
    """Its tenants are asked on it."""
    sizing = Sizing(MemoryWeightFiles({}), FakeCensus(), None, None, "")
    catalog, engines = MemoryModelCatalog([a_model("m")]), MemoryEngineCatalog([an_engine("b1")])
    survey = SurveyBeside(catalog, engines, sizing, lambda _: {"engine": ""}, Rules, tuple)

    async def main() -> list[tuple[str, str]]:
        return [(one.fit, one.lane) for one in await survey()]

    assert asyncio.run(main()) == [("fits", "llamacpp")]


def test_a_list_imports_neither_orm_nor_http_client(local: Local) -> None:
    """A hundred rows in less than 0.3 s of processor time, the start of Python included."""
    for number in range(100):
        local.catalog.add_model(a_model(f"m{number}", owned=False))
    local.engine_rows.add_engine(an_engine("b1"))
    folders = local.folders
    code = (
        "import sys, time; from pathlib import Path\n"
        "from blazar.adapters.files.folders import Folders; from blazar.composition.local import Local\n"
        "local = Local(Folders(Path(sys.argv[1]), Path(sys.argv[2])), {}, lambda _: ())\n"
        "print(len(local.models().survey()), {'httpx', 'sqlmodel', 'sqlalchemy', 'pydantic'} & set(sys.modules), time.process_time())"
    )
    command = [sys.executable, "-c", code, str(folders.config_file), str(folders.data)]
    spent = []
    for _ in range(3):
        words = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        assert words[:2] == ["100", "set()"]
        spent.append(float(words[2]))
    assert min(spent) < 0.3
