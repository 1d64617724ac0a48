"""Folders of safetensors from a registry to an answer: pulled by the daemon, entered, and served by the engine that reads them."""

import json
import sys
from pathlib import Path

import pytest

from blazar.domain.kinds import EngineKind
from tests.support.daemon import ONE_THREAD, Daemon
from tests.support.engine import recorded
from tests.support.model_registry import ModelRegistry
from tests.support.other_engines import a_build, enter
from tests.support.safetensors_files import LLAMA, model_folder

STUBS = Path(__file__).resolve().parents[1] / "stubs"
MLX = LLAMA | {"quantization": {"group_size": 64, "bits": 4}}


@pytest.mark.parametrize(
    ("kind", "stub", "config"),
    [(EngineKind.SGLANG, "sglang_server.py", None), (EngineKind.MLX, "mlx_server.py", MLX)],
    ids=["safetensors", "mlx"],
)
def test_a_folder_that_was_pulled_answers(
    tmp_path: Path, kind: EngineKind, stub: str, config: dict[str, object] | None
) -> None:
    """Registry, row, lane: the engine of its kind is given the folder as it was published, an empty file in it included."""
    made = model_folder(tmp_path / "made", config)
    files = {path.name: path.read_bytes() for path in made.iterdir()} | {"added_tokens.json": b""}
    record, registry = tmp_path / "record.jsonl", ModelRegistry()
    registry.publish_hub("me/Folder", files)
    env = {"BLAZAR_REGISTRY_BASE": registry.url, "STUB_RECORD": str(record), "STUB_LOAD_SECS": "0.1"}
    daemon = Daemon(tmp_path / "home", ONE_THREAD, env)
    enter(daemon, a_build(kind, (sys.executable, "-S", str(STUBS / stub)), "stub-1"))
    try:
        with daemon:
            lines = daemon.ask("POST", "/api/pull", {"model": "hf.co/me/Folder"}).body.decode().splitlines()
            assert json.loads(lines[-1])["status"] == "success", lines[-1]
            (row,) = daemon.ask("GET", "/api/tags").json()["models"]
            said = {"model": row["name"], "messages": [{"role": "user", "content": "hi"}]}
            answer = daemon.ask("POST", "/v1/chat/completions", said)
            assert answer.status == 200, answer.body
            assert answer.json()["choices"][0]["message"]["content"]
            (folder,) = [path.parent for path in (daemon.data / "models").rglob("config.json")]
            assert {path.name: path.read_bytes() for path in folder.iterdir()} == files
            assert any(str(folder) in json.dumps(one) for one in recorded(record, "start"))
    finally:
        registry.close()
