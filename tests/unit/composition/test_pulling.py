"""A whole pull over loopback: registries as they speak, the real transfer, the real catalog and disk."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from blazar.adapters.files.folders import Folders
from blazar.application.models.pulling import Pulled, Step, Wish
from blazar.composition.local import Local
from blazar.composition.pulling import pull_here
from blazar.domain.errors import Malformed, RegistryTrouble
from tests.support.gguf_files import tiny
from tests.support.model_registry import ModelRegistry, digest_of
from tests.support.registry_faults import Fault
from tests.support.safetensors_files import model_folder

GGUF = tiny().build()


@pytest.fixture
def registry() -> Iterator[ModelRegistry]:
    with closing(ModelRegistry()) as registry:
        yield registry


@pytest.fixture
def local(tmp_path: Path, registry: ModelRegistry) -> Iterator[Local]:
    host = registry.url.removeprefix("http://")
    (tmp_path / "config.toml").write_text(f'model_registries = ["{host}"]\n')
    folders = Folders(tmp_path / "config.toml", tmp_path / "data")
    with closing(Local(folders, {"BLAZAR_REGISTRY_BASE": registry.url}, lambda _: ())) as local:
        yield local


def _pull(local: Local, reference: str, **more: str) -> tuple[Pulled, list[Step]]:
    steps: list[Step] = []
    return pull_here(local)(Wish(reference, **more), steps.append), steps  # type: ignore[arg-type]


def test_a_model_of_ollama_s_protocol(local: Local, registry: ModelRegistry) -> None:
    """Its template, parameters and licence come along; the second pull asks for no weights."""
    layers = [
        ("model", GGUF),
        ("template", b"{{ .System }}|{{ .Prompt }}|"),
        ("params", json.dumps({"temperature": 0.5, "stop": ["<end>"]}).encode()),
        ("license", b"MIT"),
    ]
    registry.publish("library/tiny", "1b", layers)
    reference = registry.url.removeprefix("http://") + "/library/tiny:1b"
    pulled, steps = _pull(local, reference)
    assert pulled.model is not None
    assert steps[-1].status == "success"
    assert {step.digest for step in steps if step.digest} == {f"sha256:{digest_of(GGUF)}"}
    assert local.catalog.find_model(pulled.model.name) == pulled.model
    assert Path(pulled.model.files[0]).read_bytes() == GGUF
    assert pulled.model.origin is not None
    assert pulled.model.origin.licence == "MIT"
    assert "<end>" in local.folders.config_file.read_text()
    registry.network.asked.clear()
    assert _pull(local, reference)[0].fresh is False
    assert not any(digest_of(GGUF) in asked.path for asked in registry.network.asked)
    assert list(local.folders.downloads.iterdir()) == []


def test_models_of_hugging_face_s_protocol(local: Local, registry: ModelRegistry) -> None:
    """A file with its quantisation, and a folder of safetensors."""
    registry.publish_hub("owner/Tiny-GGUF", {"README.md": b"x", "Tiny-F16.gguf": GGUF})
    pulled, _ = _pull(local, "hf:owner/Tiny-GGUF:f16")
    assert pulled.model is not None
    assert pulled.model.name == "tiny-f16"
    assert pulled.model.origin is not None
    assert pulled.model.origin.licence == "apache-2.0"
    made = model_folder(local.folders.data.parent / "made")
    registry.publish_hub("owner/Folder", {path.name: path.read_bytes() for path in made.iterdir()})
    folder, _ = _pull(local, "owner/Folder")
    assert folder.model is not None
    assert folder.model.folder == str(local.folders.models / "folder")


def test_h11_a_readme_that_changes_is_no_update(local: Local, registry: ModelRegistry) -> None:
    """Nor is a commit: what counts is what is pulled (case H11)."""
    registry.publish_hub("owner/Tiny-GGUF", {"README.md": b"x", "Tiny-F16.gguf": GGUF})
    _pull(local, "hf:owner/Tiny-GGUF:F16")
    registry.publish_hub("owner/Tiny-GGUF", {"README.md": b"another text", "Tiny-F16.gguf": GGUF})
    assert _pull(local, "hf:owner/Tiny-GGUF:F16")[0].fresh is False
    newer = tiny(blocks=3).build()
    registry.publish_hub("owner/Tiny-GGUF", {"README.md": b"another text", "Tiny-F16.gguf": newer})
    assert _pull(local, "hf:owner/Tiny-GGUF:F16")[0].fresh


def test_spoilt_bytes_are_never_a_model(local: Local, registry: ModelRegistry) -> None:
    """Bytes that differ every time: a sentence, no row, no link (case H1)."""
    registry.publish_hub("owner/Tiny-GGUF", {"Tiny-F16.gguf": GGUF})
    registry.spoil(digest_of(GGUF), Fault(flip=len(GGUF) // 2, times=-1))
    with pytest.raises(RegistryTrouble):
        _pull(local, "hf:owner/Tiny-GGUF:F16")
    assert local.catalog.list_models() == []
    assert not any(local.folders.models.iterdir())


DYING = """
import os, sys
from pathlib import Path
from blazar.adapters.files.folders import Folders
from blazar.application.models.pulling import Wish
from blazar.composition.local import Local
from blazar.composition.pulling import pull_here

def die(*_, **__):
    os._exit(9)

folders = Folders(Path(sys.argv[1]), Path(sys.argv[2]))
local = Local(folders, {"BLAZAR_REGISTRY_BASE": sys.argv[3]}, lambda _: ())
pull = pull_here(local)
owner, step = {"add_model": (pull.place.catalog, sys.argv[5]), "keep": (pull.place.overlays, sys.argv[5])}.get(
    sys.argv[5], (pull.place.weights, sys.argv[5])
)
setattr(owner, step, die)
pull(Wish(sys.argv[4]), lambda _: None)
"""


@pytest.mark.parametrize("step", ["inspect", "take", "keep", "add_model"])
def test_a_process_that_dies_leaves_no_half_model(local: Local, registry: ModelRegistry, step: str) -> None:
    """Wherever it is: no row, and the next pull fetches no weights again and leaves nothing beside them."""
    registry.publish("library/tiny", "1b", [("model", GGUF), ("params", b'{"temperature": 0.5}')])
    reference = registry.url.removeprefix("http://") + "/library/tiny:1b"
    folders = local.folders
    words = [str(folders.config_file), str(folders.data), registry.url, reference, step]
    assert subprocess.run([sys.executable, "-c", DYING, *words], check=False).returncode == 9
    assert local.catalog.list_models() == []
    registry.network.asked.clear()
    pulled, _ = _pull(local, reference)
    assert not any(digest_of(GGUF) in asked.path for asked in registry.network.asked)
    assert pulled.model is not None
    assert local.catalog.list_models() == [pulled.model]
    assert [str(file) for file in folders.models.iterdir()] == list(pulled.model.files)
    assert list(folders.downloads.iterdir()) == []


def test_a_registry_that_was_not_configured_is_not_asked(local: Local) -> None:
    """Names of hosts in a reference are anybody's to choose."""
    with pytest.raises(Malformed, match="model_registries"):
        _pull(local, "127.0.0.1:9/library/x:y")


def test_nothing_of_http_is_imported_before_a_pull() -> None:
    """A daemon that only serves has no HTTP client."""
    code = "import sys, blazar.composition.pulling; print({'httpx', 'sqlmodel', 'sqlalchemy'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"
