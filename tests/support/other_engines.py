"""Builds and models of the kinds beside llama.cpp, entered into a daemon's catalog where there is nothing to install or import."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from blazar.adapters.store.catalog import SqliteEngineCatalog, SqliteModelCatalog
from blazar.adapters.store.database import Database
from blazar.domain.kinds import EngineKind, Provenance, Weights
from blazar.domain.records import Engine, Model
from tests.fakes.catalog import a_model
from tests.fakes.engines import an_engine
from tests.support.daemon import Daemon
from tests.support.shared import shared

MLX_PYTHON = "BLAZAR_MLX_PYTHON"
"""Names a Python in which `mlx_lm` can be imported; building one takes a minute and a third of a gigabyte."""
TINY_SD = {"diffusion_model": "tiny-ovis", "llm": "tiny-qwen3", "tae": "tiny-tae"}


def enter(daemon: Daemon, engine: Engine | None, *models: Model) -> None:
    """Put rows into the catalog of a daemon's folder, running or not."""
    daemon.data.mkdir(parents=True, exist_ok=True)
    database = Database(daemon.data / "blazar.db")
    try:
        if engine is not None:
            SqliteEngineCatalog(database).add_engine(engine)
        for model in models:
            SqliteModelCatalog(database).add_model(model)
    finally:
        database.close()


def a_build(kind: EngineKind, words: Sequence[str], tag: str, **changes: Any) -> Engine:
    """A build that is started with these words."""
    return an_engine(
        tag,
        kind=kind,
        provenance=Provenance.ARCHIVE,
        server_path=str(Path(words[0]).absolute()),
        command=tuple(words),
        active=True,
        **changes,
    )


def a_folder(name: str, folder: Path, weights: Weights, **changes: Any) -> Model:
    """A model that is a folder of safetensors."""
    files = sorted(str(path) for path in folder.iterdir() if path.suffix == ".safetensors")
    sizes = tuple(os.path.getsize(file) for file in files)  # noqa: PTH202 - of texts
    return a_model(
        name, files=tuple(files), sizes=sizes, weights=weights, folder=str(folder), owned=False, quant="", **changes
    )


def tiny_sd(name: str = "tiny-sd") -> Model:
    """The diffusion set of the shared models."""
    folder = shared("models/tiny-sd")
    parts = tuple((role, str(folder / f"{stem}.safetensors")) for role, stem in TINY_SD.items())
    files = tuple(path for _, path in parts)
    sizes = tuple(os.path.getsize(file) for file in files)  # noqa: PTH202 - of texts
    return a_model(
        name, files=files, sizes=sizes, weights=Weights.DIFFUSION, arch="", ctx_train=0, owned=False, components=parts
    )


def mlx_words() -> tuple[str, ...]:
    """How mlx-lm's server is started here; skips where there is none."""
    python = os.environ.get(MLX_PYTHON, sys.executable)
    asked = subprocess.run([python, "-c", "import mlx_lm"], capture_output=True, timeout=120, check=False)
    if asked.returncode != 0:
        pytest.skip(f"needs mlx-lm: pip install 'mlx[cpu]' mlx-lm into an environment that {MLX_PYTHON} names")
    return (python, "-m", "mlx_lm", "server")
