"""What `show` says where no daemon is asked."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from blazar.adapters.files.folders import Folders
from blazar.composition.local import Local
from blazar.composition.showing import laid_over, shown_here
from blazar.domain.overlay import Overlay
from tests.support.gguf_files import tiny

FULL = Overlay("b", "{{ messages }}", "S", {"num_ctx": 512}, (("user", "u"),), ("MIT",), ("/a.gguf",))


@pytest.fixture
def local(tmp_path: Path) -> Iterator[Local]:
    with closing(Local(Folders(tmp_path / "config.toml", tmp_path / "data"), {}, list)) as made:
        made.models().add(str(tiny().save(tmp_path / "m.gguf")), "m")
        yield made


def test_what_lies_over_a_model_is_shown(local: Local) -> None:
    """As its registry, or who created it, said it: also where a person set something else, which `explain` tells."""
    assert "overlay" not in shown_here(local, "m", verbose=False)
    local.overlays.keep("m", FULL, {"ctx": 512})
    for verbose in (False, True):
        shown = shown_here(local, "m", verbose=verbose)
        assert shown["overlay"] == laid_over(FULL)
        assert ("metadata" in shown) is verbose
    local.folders.config_file.write_text("[model_overrides.m]\nctx = 1024\n")
    assert shown_here(local, "m", verbose=False)["overlay"]["parameters"] == {"num_ctx": 512}


def test_it_is_called_as_ollama_calls_it() -> None:
    """Parameters, system, template, messages and adapters; what nobody said is left out."""
    assert laid_over(FULL) == {
        "parent": "b",
        "parameters": {"num_ctx": 512},
        "system": "S",
        "template": "{{ messages }}",
        "messages": [{"role": "user", "content": "u"}],
        "adapters": ["/a.gguf"],
        "license": "MIT",
    }
    assert laid_over(Overlay()) == {}
    assert laid_over(Overlay(system="S")) == {"system": "S"}
