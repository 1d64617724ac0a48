"""What forks need of the program around them."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from blazar.adapters.net.capabilities import HttpCapabilityRegistry
from blazar.composition.forks import (
    LIST,
    ServedHere,
    architecture_source,
    curated_by,
    open_capabilities,
    registry_url,
    repositories_base,
    site_of,
)
from blazar.domain.capability import LaneList, read_list
from blazar.domain.errors import Malformed, RegistryTrouble
from blazar.domain.instance.machine import State
from blazar.domain.records import Gpu, Machine
from tests.unit.adapters.http.gateway import VIEW


def test_odd_no_list_is_built_in() -> None:
    """Unset and `""` both mean that nobody is asked: nothing phones home (contract)."""
    assert (registry_url(None), registry_url(""), registry_url("https://a.example")) == ("", "", "https://a.example")


def test_a_list_is_kept_in_the_data_folder(tmp_path: Path) -> None:
    """Beside the catalog."""
    registry = open_capabilities(lambda: None, tmp_path)
    assert not registry.configured
    assert registry._file == tmp_path / LIST


def test_lanes_for_a_sentence_are_those_that_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Routing never waits for a network; without a registry there are none."""
    entry = {
        "name": "novel",
        "kind": "llamacpp",
        "repo": "o/n",
        "commit": "0" * 40,
        "architectures": ["novel"],
        "license": "MIT",
        "build": "cmake",
    }
    lanes = read_list({"version": 1, "lanes": [entry]})
    monkeypatch.setattr(HttpCapabilityRegistry, "kept", lambda _: lanes)
    assert curated_by(open_capabilities(lambda: "https://a.example", tmp_path), "novel") == ("novel",)
    assert curated_by(open_capabilities(lambda: "https://a.example", tmp_path), "other") == ()
    assert curated_by(open_capabilities(lambda: "", tmp_path), "novel") == ()
    assert lanes != LaneList()


def test_where_sources_lie() -> None:
    """GitHub, or what BLAZAR_GH_BASE and BLAZAR_REPO name; what makes no sense is said."""
    assert repositories_base({}) == "https://github.com"
    assert repositories_base({"BLAZAR_GH_BASE": "http://127.0.0.1:1"}) == "http://127.0.0.1:1"
    with pytest.raises(RegistryTrouble):
        repositories_base({"BLAZAR_GH_BASE": "nonsense"})
    source = architecture_source({"BLAZAR_GH_BASE": "http://127.0.0.1:1", "BLAZAR_REPO": "me/llama.cpp"})
    assert (source._base, source._repository) == ("http://127.0.0.1:1", "me/llama.cpp")
    assert architecture_source({})._repository == "ggml-org/llama.cpp"
    with pytest.raises(Malformed):
        architecture_source({"BLAZAR_REPO": "../.."})


@pytest.mark.parametrize(
    ("platform", "processor", "system", "machine"),
    [
        ("linux", "x86_64", "linux", "x86_64"),
        ("linux", "aarch64", "linux", "arm64"),
        ("darwin", "arm64", "darwin", "arm64"),
        ("win32", "AMD64", "windows", "x86_64"),
        ("freebsd14", "riscv64", "freebsd14", "riscv64"),
    ],
)
def test_this_machine(
    monkeypatch: pytest.MonkeyPatch, platform: str, processor: str, system: str, machine: str
) -> None:
    """As packages and lanes spell it."""
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr("platform.machine", lambda: processor)
    assert site_of(Machine(1, 1, 1, ()))[:2] == (system, machine)


@pytest.mark.parametrize(
    ("vendor", "driver", "usable"), [("nvidia", "580.1", True), ("nvidia", "", False), ("amd", "6.1", False)]
)
def test_a_usable_card(vendor: str, driver: str, usable: bool) -> None:
    """One of NVIDIA's whose driver is loaded."""
    gpu = Gpu(0, "card", vendor, 1, 1, driver)
    assert site_of(Machine(1, 1, 1, (gpu,))).nvidia is usable


def test_who_uses_a_build_is_asked_on_the_loop() -> None:
    """From a thread, as removing does; what is gone uses nothing, and without a loop nobody can say."""

    class Running:
        def views(self) -> list[Any]:
            return [
                VIEW._replace(model="qwen", engine="b1", state=State.SERVING),
                VIEW._replace(model="llama", engine="b1", state=State.EVICTED),
                VIEW._replace(model="phi", engine="b2", state=State.LOADING),
            ]

    served = ServedHere(Running())  # type: ignore[arg-type]
    with pytest.raises(TimeoutError):
        served("b1")

    async def main() -> None:
        await served.start()
        assert await asyncio.to_thread(served, "b1") == ["qwen"]
        assert await asyncio.to_thread(served, "b2") == ["phi"]
        assert await asyncio.to_thread(served, "b3") == []
        await served.aclose()

    asyncio.run(main())
    with pytest.raises(TimeoutError):
        served("b1")
