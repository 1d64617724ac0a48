"""Models that are folders or sets of files: imported as a person does, planned from their rows, served by the real engines.

Needs no gateway. sd-server comes from the archive beside the checkout; mlx-lm runs where it is installed.
"""

import base64
import json
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from blazar.adapters.engines.mlx.spec import MLX
from blazar.adapters.engines.probe import HelpProbe
from blazar.adapters.engines.sdcpp.spec import SDCPP
from blazar.adapters.files.modeldir import DiskWeightFiles
from blazar.application.models.import_model import ImportModel
from blazar.application.ports.children import Child
from blazar.application.ports.upstream import ChildCall
from blazar.application.supervise.launch_plan import parts_beside
from blazar.domain.errors import Malformed
from blazar.domain.kinds import Weights
from blazar.domain.launch import Brief
from blazar.domain.manifest import Manifest
from blazar.domain.records import Model
from tests.contract.live.test_other_engines_argv import KILLED, PICTURE, SD_ALIAS, WATCHDOG, Server, ask, serve
from tests.fakes.catalog import MemoryModelCatalog
from tests.fakes.clock import FakeClock
from tests.fakes.engines import an_engine
from tests.support.lane_briefs import brief
from tests.support.other_engines import mlx_words
from tests.support.shared import shared


def imported(tmp_path: Path, path: Path, parts: list[tuple[str, str]] | None = None) -> Model:
    """The row that `blazar import` makes."""
    weights = DiskWeightFiles(tmp_path / "models")
    return ImportModel(MemoryModelCatalog(), weights, FakeClock())(str(path), parts=parts or []).model


def planned(model: Model, manifest: Manifest) -> Brief:
    """What its launch is compiled from."""
    given = brief(model.weights, model.files, {"threads": 1}, manifest)
    return replace(given, model=model, beside=parts_beside(model))


@pytest.mark.engine
@pytest.mark.parametrize("named", [False, True], ids=["a folder", "a file and its parts"])
def test_an_imported_set_draws(tmp_path: Path, *, named: bool) -> None:
    """Whether its parts were found by their tensors or named by a person."""
    folder = shared("models/tiny-sd")
    parts = [("tae", str(folder / "tiny-tae.safetensors")), ("llm", str(folder / "tiny-qwen3.safetensors"))]
    model = imported(tmp_path, folder / "tiny-ovis.safetensors" if named else folder, parts if named else None)
    assert [role for role, _ in model.components] == ["diffusion_model", "tae", "llm"]
    with tarfile.open(shared("engines/sd-bin-linux-x64.tar.gz")) as archive:
        archive.extractall(tmp_path / "sd", filter="data")
    server = str(next((tmp_path / "sd").rglob("sd-server")))
    manifest = HelpProbe(SDCPP.scrubbed).manifest(an_engine(server_path=server))

    async def draw(child: Child) -> None:
        answer = await ask(child, b"/v1/images/generations", {"prompt": PICTURE, "size": "64x64"})
        assert base64.b64decode(answer["data"][0]["b64_json"]).startswith(b"\x89PNG")

    assert manifest
    assert serve(Server(SDCPP, (server,), SD_ALIAS), planned(model, manifest), tmp_path, draw) == KILLED


def test_a_bare_model_is_refused_before_it_could_crash(tmp_path: Path) -> None:
    """The engine loads one without its encoder, and dies with the first request."""
    with pytest.raises(Malformed, match="lacks vae or tae, llm"):
        imported(tmp_path, shared("models/tiny-sd") / "tiny-ovis.safetensors")


@pytest.mark.engine
def test_an_imported_mlx_folder_answers(tmp_path: Path) -> None:
    """From the links under our roof, which are all that it needs."""
    model = imported(tmp_path, shared("models/tiny-mlx"))
    assert (model.weights, model.quant, model.arch, model.ctx_train) == (Weights.MLX_QUANT, "4bit", "llama", 2048)
    assert (model.folder, model.template) == (str(tmp_path / "models" / "tiny-mlx"), True)
    command = mlx_words()
    manifest = HelpProbe(MLX.scrubbed).manifest(replace(an_engine(server_path=command[0]), command=command))

    async def chat(child: Child) -> None:
        models = await child.upstream.fetch(ChildCall(b"GET", MLX.models), WATCHDOG)
        assert [row["id"] for row in json.loads(models.body)["data"]] == [str(Path(model.folder).resolve())]
        body = {"model": "default_model", "max_tokens": 4, "messages": [{"role": "user", "content": "hi"}]}
        assert (await ask(child, b"/v1/chat/completions", body))["usage"]["completion_tokens"] > 0

    assert serve(Server(MLX, command, model.folder), planned(model, manifest), tmp_path, chat) == KILLED
