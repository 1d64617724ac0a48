"""What every registry over HTTP does alike."""

import pytest

from blazar.adapters.net.asking import AskedByWeb
from blazar.adapters.net.direct import DirectFile
from blazar.adapters.net.huggingface import HuggingFace
from blazar.adapters.net.ollama_registry import OllamaRegistry
from blazar.adapters.net.web import Web
from blazar.application.ports.downloads import Wanted
from blazar.application.ports.remote import RemoteFile
from blazar.domain.addresses import Ours
from blazar.domain.errors import Unserved
from tests.support.registry import Registry


@pytest.mark.parametrize("kind", [DirectFile, OllamaRegistry])
def test_files_are_anybody_s_and_there_is_no_search(kind: type[AskedByWeb]) -> None:
    """No token goes along; who searches is told where it is possible."""
    registry = kind("https://models.test/m.gguf")  # type: ignore[arg-type] # each takes an address
    file = RemoteFile("m.gguf", 7, "https://models.test/m.gguf", "ab")
    assert registry.wanted(file, "/d/m.gguf") == Wanted(file.at, "/d/m.gguf", "m.gguf", 7, "ab")
    with pytest.raises(Unserved, match=r"models\.test"):
        registry.search("word", 3)
    registry.close()


def test_a_registry_is_told_what_may_lie_inside() -> None:
    """Nothing, until somebody knows what a person named."""
    registry = OllamaRegistry("https://models.test")
    assert registry._web.ours == Ours()
    assert registry.knowing(Ours(("models.test",))) is registry
    assert registry._web.ours.hosts == ("models.test",)
    registry.close()


def test_one_kind_says_otherwise() -> None:
    """Hugging Face has both: a search, and tokens."""
    assert HuggingFace.search is not AskedByWeb.search
    assert HuggingFace.wanted is not AskedByWeb.wanted


def test_who_is_told_of_pauses_hears_of_its_registry_s(registry: Registry) -> None:
    """From then on."""
    asked = AskedByWeb(web := Web(registry.url))
    said: list[str] = []
    asked.tells(said.append)
    web.waits("a pause")
    assert said == ["a pause"]
    asked.close()
