"""Whether nothing here serves what is about to come."""

from collections.abc import Callable, Collection
from pathlib import Path

import pytest

from blazar.application.models.foretelling import nobody_knows
from blazar.application.models.pulling import Pulled, Step, Wish
from blazar.domain import teaching
from blazar.domain.kinds import Weights
from blazar.domain.parcels import Role
from blazar.domain.records import Model
from tests.support.gguf_files import tiny
from tests.support.pull_rig import PullRig
from tests.support.safetensors_files import LLAMA, MLX, OVIS, model_folder, safetensors

GGUF = "hf:owner/Tiny-GGUF:F16"
AWQ = LLAMA | {"quantization_config": {"quant_method": "awq"}}


@pytest.fixture
def rig(tmp_path: Path) -> PullRig:
    rig = PullRig(tmp_path / "data")
    rig.offers(GGUF, [(Role.WEIGHTS, "Tiny-F16.gguf", tiny().build())])
    for repo, config in (("mlx-owner/Tiny", MLX), ("owner/Tiny", LLAMA), ("owner/Other", AWQ)):
        folder = model_folder(tmp_path / repo, config)
        files = [(Role.FOLDER, file.name, file.read_bytes()) for file in sorted(folder.iterdir())]
        rig.offers(f"hf:{repo}", files)
    drawing = safetensors(tmp_path / "made/ovis.safetensors", OVIS).read_bytes()
    rig.offers("hf:owner/Ovis/ovis.safetensors", [(Role.WEIGHTS, "ovis.safetensors", drawing)])
    return rig


def lacking(*kinds: Weights) -> Callable[[Model], str]:
    """Engines for everything else."""
    return lambda model: f"no {model.weights}" if model.weights in kinds else ""


def pulled(rig: PullRig, reference: str, kinds: Collection[Weights]) -> tuple[Pulled, list[Step]]:
    steps: list[Step] = []
    pull = rig.make()
    pull.unserved = lacking(*kinds)
    return pull(Wish(reference), steps.append), steps


@pytest.mark.parametrize(
    ("reference", "name", "said"),
    [
        (GGUF, "tiny-f16", Weights.GGUF),
        ("hf:mlx-owner/Tiny", "tiny", Weights.MLX_QUANT),
        ("hf:owner/Tiny", "tiny", Weights.SAFETENSORS),
    ],
)
def test_it_is_told_before_the_first_byte(rig: PullRig, reference: str, name: str, said: Weights) -> None:
    """It comes all the same, and the next pull that has something to bring says so again."""
    came, steps = pulled(rig, reference, [*Weights])
    note = teaching.pull_unserved(name, f"no {said}")
    assert note in came.notes
    first = next(index for index, step in enumerate(steps) if step.digest)
    assert note in [step.note for step in steps[:first]]
    assert came.model is not None
    assert note not in pulled(rig, reference, [*Weights])[0].notes


@pytest.mark.parametrize(
    ("reference", "kinds"),
    [
        (GGUF, {*Weights} - {Weights.GGUF}),
        ("hf:owner/Tiny", {*Weights} - {Weights.MLX_QUANT}),
        ("hf:owner/Other", {*Weights} - {Weights.QUANTIZED}),
        ("hf:mlx-owner/Tiny", {*Weights} - {Weights.DIFFUSION}),
    ],
)
def test_doubt_is_silent(rig: PullRig, reference: str, kinds: Collection[Weights]) -> None:
    """A folder may be of any kind that lies in folders: while one of those is served nothing is claimed."""
    came, _ = pulled(rig, reference, kinds)
    assert came.notes == ()


def test_what_is_there_tells_by_its_row(rig: PullRig) -> None:
    """An update of it, whatever its repository is called."""
    pulled(rig, "hf:mlx-owner/Tiny", ())
    rig.offers("hf:mlx-owner/Tiny", [(Role.FOLDER, "x.txt", b"x"), *_folder(rig)])
    assert rig.catalog.list_models()[0].weights is Weights.MLX_QUANT
    came, _ = pulled(rig, "hf:mlx-owner/Tiny", [Weights.MLX_QUANT])
    assert came.notes == (teaching.pull_unserved("tiny", f"no {Weights.MLX_QUANT}"),)


def _folder(rig: PullRig) -> list[tuple[Role, str, bytes]]:
    (row,) = rig.catalog.list_models()
    return [(Role.FOLDER, Path(file).name, Path(file).read_bytes()) for file in row.files]


def test_where_no_engine_is_looked_for_nothing_is_told(rig: PullRig) -> None:
    """The default."""
    (row,) = [rig.pull(GGUF).model]
    assert row is not None
    assert nobody_knows(row) == ""
    assert rig.pull("hf:owner/Tiny").notes == ()
