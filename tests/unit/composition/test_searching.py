"""`search` through the real parts: this machine, a hub on loopback."""

from pathlib import Path
from typing import Any

from blazar.adapters.files.folders import Folders
from blazar.composition.local import Local
from blazar.composition.searching import search_here
from tests.support.registry import Answer, Registry


def test_the_hub_of_the_environment_is_asked(tmp_path: Path, registry: Registry) -> None:
    """By one question; each row has what to take on this machine."""
    row: dict[str, Any] = {
        "id": "me/tiny-GGUF",
        "downloads": 7,
        "likes": 1,
        "gguf": {"total": 1_000_000},
        "siblings": [{"rfilename": "tiny-Q4_K_M.gguf"}, {"rfilename": "tiny-Q8_0.gguf"}, {"rfilename": "README.md"}],
    }
    registry.given["/api/models"] = Answer([row])
    local = Local(Folders(tmp_path / "config.toml", tmp_path / "data"), {"HF_ENDPOINT": registry.url}, lambda _: ())
    (hit,) = search_here(local)("tiny", 5)
    assert (hit.repo, hit.downloads, hit.parameters) == ("me/tiny-GGUF", 7, 1_000_000)
    assert (hit.take, hit.verdict) == ("Q8_0", "fits")
    assert len(registry.asked) == 1
    assert "search=tiny" in registry.asked[0].path
