"""`fit` through the real parts: this data folder, this machine, a registry on loopback."""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from blazar.adapters.files.folders import Folders
from blazar.application.config.knob import knob_of
from blazar.application.config.model import Config
from blazar.application.ops.caller import Caller
from blazar.application.ops.preview_fit import Wanted
from blazar.application.supervise.fit_settings import fit_settings
from blazar.application.supervise.sizing import Sizing
from blazar.composition.local import Local
from blazar.composition.preview import (
    UNCONFIGURED,
    VARIABLES,
    Beside,
    PreviewBeside,
    open_registry,
    preview_here,
    routed,
)
from blazar.domain.errors import ModelNotFound, NotFound, RegistryTrouble
from blazar.domain.kinds import EngineKind, Provenance
from blazar.domain.records import Engine, Gpu, Machine
from blazar.domain.routing import Rules
from tests.fakes.engines import MemoryEngineCatalog, an_engine
from tests.fakes.hardware import FakeCensus, FakeDeviceLister
from tests.fakes.weights import MemoryWeightFiles
from tests.support.gguf_files import Gguf, tiny
from tests.support.registry import Answer, Blob, Registry, hub_rows

GIB = 2**30


def local_of(base: Path, **env: str) -> Local:
    return Local(Folders(base / "config.toml", base / "data"), env, lambda _: [])


def shards(count: int) -> list[Gguf]:
    """A set as it lies in a repository."""
    whole = tiny(blocks=count)
    total = len(whole.rows)
    return [
        Gguf(
            [
                *(whole.pairs if at == 0 else ()),
                ("split.no", at),
                ("split.count", count),
                ("split.tensors.count", total),
            ],
            [row for number, row in enumerate(whole.rows) if number % count == at],
        )
        for at in range(count)
    ]


def test_a_file_opens_no_catalog(tmp_path: Path) -> None:
    """Nor does anything come into being in the data folder."""
    path = tiny().save(tmp_path / "m.gguf")
    local = local_of(tmp_path)
    found = preview_here(local)({"model": str(path), "gpu": [24.0], "ram": 64})
    assert (found["source"], found["verdict"]["outcome"]) == ("file", "fits")
    assert not (tmp_path / "data").exists()
    local.close()


def test_a_row_of_the_catalog(tmp_path: Path) -> None:
    """By its name; an unknown one is not looked for elsewhere."""
    local = local_of(tmp_path)
    local.models().add(str(tiny().save(tmp_path / "m.gguf")), "mine")
    ask = preview_here(local)
    assert ask({"model": "mine:latest", "ram": 64})["model"] == "mine"
    with pytest.raises(NotFound) as refused:
        ask({"model": "mein"})
    assert not isinstance(refused.value, ModelNotFound)
    local.close()


def test_configuration_counts(tmp_path: Path) -> None:
    """From the file and from the environment."""
    path = str(tiny().having(llama__context_length=4096, llama__attention__head_count=2).save(tmp_path / "m.gguf"))
    (tmp_path / "config.toml").write_text('default_ctx = 1024\ncache_type = "q4_0"\n')
    chosen = preview_here(local_of(tmp_path))({"model": path, "ram": 64})["verdict"]["chosen"]
    assert (chosen["ctx"], chosen["cache_type_k"]) == (1024, "q4_0")
    (tmp_path / "config.toml").unlink()
    local = local_of(tmp_path, BLAZAR_DEFAULT_CTX="512")
    assert preview_here(local)({"model": path, "ram": 64})["verdict"]["chosen"]["ctx"] == 512


def test_the_defaults_are_the_configurations() -> None:
    """What stands here, so that nothing has to be imported, is what would be imported; and no variable sets more of it."""
    declared = Config().settings_for("")
    assert {name: declared[name] for name in UNCONFIGURED} == UNCONFIGURED
    assert fit_settings(UNCONFIGURED, 4096) == fit_settings(declared, 4096)
    assert fit_settings(UNCONFIGURED, 4096, embeds=True) == fit_settings(declared, 4096, embeds=True)
    fields = {name: field for name, field in Config.model_fields.items() if name in UNCONFIGURED}
    assert {variable for field in fields.values() for variable in knob_of(field).env} == set(VARIABLES)


def test_a_repository_from_listing_to_verdict(tmp_path: Path, registry: Registry) -> None:
    """Over HTTP: headers only, shards summed, the projector beside them counted, one quantisation to take."""
    small, big = tiny(blocks=2).build(), shards(3)
    files = {"m-Q4_K_M.gguf": small}
    files |= {f"F16/m-F16-{at:05d}-of-00003.gguf": one.build() for at, one in enumerate(big, 1)}
    rows = [(name, len(data)) for name, data in files.items()]
    registry.given["/api/models/me/m/tree/main"] = Answer(hub_rows(*rows))
    for name, data in files.items():
        registry.given[f"/me/m/resolve/main/{name}"] = Blob(data)
    local = local_of(tmp_path, HF_ENDPOINT=registry.url)
    found = preview_here(local)({"model": "hf:me/m", "gpu": [24], "ram": 64})
    assert (found["take"], found["verdict"]["outcome"]) == ("F16", "fits")
    assert [(row["quant"], row["files"], row["estimated"]) for row in found["quants"]] == [
        ("Q4_K_M", 1, False),
        ("F16", 3, False),
    ]
    assert found["verdict"]["memory"]["weights"] == 64 * 3 * 2 + 3 * 64 * 64 * 2 + 64 * 4
    named = preview_here(local)({"model": "me/m:q4_k_m", "gpu": [24], "ram": 64})
    assert named["quant"] == "Q4_K_M"
    for address in ("https://huggingface.co/me/m/blob/main/m-Q4_K_M.gguf", "hf.co/me/m?show_file_info=m-Q4_K_M.gguf"):
        pasted = preview_here(local)({"model": address, "gpu": [24], "ram": 64})
        assert (pasted["quant"], pasted["model"]) == ("Q4_K_M", "hf:me/m/m-Q4_K_M.gguf")
    shard = preview_here(local)(
        {"model": "hf.co/me/m/resolve/main/F16/m-F16-00002-of-00003.gguf", "gpu": [], "ram": 64}
    )
    assert shard["quant"] == "F16"


def test_a_file_that_is_a_page_hides_no_other(tmp_path: Path, registry: Registry) -> None:
    """Also one that the hub cuts short, and an encoder."""
    good, bad = tiny(blocks=2).build(), b"<!DOCTYPE html>" + bytes(4000)
    sizes = {"m-Q4_K_M.gguf": len(bad), "m-Q5_K_M.gguf": len(good) + 9, "m-Q8_0.gguf": len(good)}
    registry.given["/api/models/me/m/tree/main"] = Answer(hub_rows(*sizes.items(), ("mmproj-F16.gguf", len(bad))))
    for name, data in (("m-Q4_K_M", bad), ("m-Q5_K_M", good), ("m-Q8_0", good), ("mmproj-F16", bad)):
        registry.given[f"/me/m/resolve/main/{name}.gguf"] = Blob(data)
    found = preview_here(local_of(tmp_path, HF_ENDPOINT=registry.url))({"model": "hf:me/m", "gpu": [24], "ram": 64})
    outcomes = {row["quant"]: row["outcome"] for row in found["quants"]}
    assert outcomes == dict.fromkeys(("Q4_K_M", "Q5_K_M"), "unreadable") | {"Q8_0": "fits"}
    assert found["take"] == "Q8_0"
    assert any("mmproj-F16.gguf cannot be read and is not counted" in note for note in found["notes"])


def test_a_header_that_lies_about_its_file_is_refused(tmp_path: Path, registry: Registry) -> None:
    """The tensor data must fit into the size that the registry names."""
    data = tiny().build()
    registry.given["/api/models/me/m/tree/main"] = Answer(hub_rows(("m-Q4_0.gguf", len(data) - 1)))
    registry.given["/me/m/resolve/main/m-Q4_0.gguf"] = Blob(data[:-1])
    with pytest.raises(Exception, match="cut short"):
        preview_here(local_of(tmp_path, HF_ENDPOINT=registry.url))({"model": "hf:me/m"})


def test_registries_come_from_the_environment(registry: Registry) -> None:
    """Base and token, each by two names of which ours wins; another's token is not for our base (H13). Nothing is asked before it is used."""
    registry.given["/api/models/me/m/tree/main"] = Answer(hub_rows(("m-Q4_0.gguf", 5)))
    env = {"HF_ENDPOINT": "http://127.0.0.1:1", "BLAZAR_REGISTRY_BASE": registry.url, "HF_TOKEN": "a"}
    for more, token in (({}, None), ({"BLAZAR_REGISTRY_TOKEN": "b"}, "Bearer b")):
        hub: Any = open_registry(env | more, "hf")
        hub.listing(preview_ref("me/m"))
        assert registry.asked[-1].headers.get("authorization") == token
        hub.close()
    assert open_registry({}, "ollama").close() is None
    with pytest.raises(RegistryTrouble, match="HF_ENDPOINT is 'nonsense', which is no address"):
        open_registry({"HF_ENDPOINT": "nonsense"}, "hf")


def preview_ref(repo: str) -> Any:
    from blazar.domain.references import RemoteRef

    return RemoteRef("hf", repo)


def test_the_daemon_sees_its_children(tmp_path: Path) -> None:
    """Without an engine build the census alone tells what cards there are."""
    gpu = Gpu(0, "Card", "nvidia", 24 * GIB, 20 * GIB, "570")
    census = FakeCensus(Machine(64 * GIB, 32 * GIB, 8, (gpu,)))
    beside = Beside(Sizing(MemoryWeightFiles({}), census), MemoryEngineCatalog(), census)
    machine = beside((), Wanted())
    assert (machine.ram_available, machine.running) == (32 * GIB, ())
    asked: list[Any] = []
    caller = Caller()
    answer = PreviewBeside(lambda *said: asked.append(said) or {"a": 1})({"model": "x"}, (), caller)  # type: ignore[arg-type, func-returns-value]
    assert answer == {"a": 1}
    assert (asked[0][0].target, *asked[0][1:]) == ("x", (), caller)


NEEDED_BY_NO_FILE = {
    "httpx",
    "pydantic",
    "sqlmodel",
    "sqlalchemy",
    "sqlite3",
    "asyncio",
    "quart",
    "rich",
    "gguf",
    "numpy",
}


def test_a_file_costs_the_standard_library_only(tmp_path: Path) -> None:
    """No catalog, no HTTP client, no event loop, no declared configuration: CPU is what `fit` is measured by (habit 2)."""
    path = tiny().save(tmp_path / "m.gguf")
    code = (
        "import sys, json\nfrom blazar.__main__ import main\n"
        "main()\nprint(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    )
    env = {"PATH": "", "XDG_CONFIG_HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path), "HOME": str(tmp_path)}
    words = [sys.executable, "-c", code, "fit", str(path), "--gpu", "24", "--ram", "64"]
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=60, cwd=Path(__file__).parents[3])
    assert "fits" in done.stdout, done.stderr
    modules = {name.partition(".")[0] for name in json.loads(done.stderr.splitlines()[-1])}
    assert not modules & NEEDED_BY_NO_FILE


def with_build(base: Path, lines: str, count: Path) -> Local:
    """A data folder whose active build lists these devices, and notes that it was asked."""
    program = base / "llama-server"
    text = f"Available devices:\n{lines}"
    program.write_text(f"#!{sys.executable} -S\nopen({str(count)!r}, 'a').write('x')\nprint({text!r})\n")
    program.chmod(0o755)
    local = local_of(base)
    local.engine_rows.add_engine(an_engine(server_path=str(program)))
    return local


def on_a_card(monkeypatch: pytest.MonkeyPatch, *, cards: int = 1) -> None:
    gpus = tuple(Gpu(at, "Card", "nvidia", 24 * GIB, 20 * GIB, "570", "cuda") for at in range(cards))
    census = FakeCensus(Machine(64 * GIB, 32 * GIB, 8, gpus))
    monkeypatch.setattr("blazar.adapters.hardware.census.SystemCensus", lambda: census)


@pytest.mark.parametrize(
    ("lines", "devices"),
    [("  (none)", []), ("  CUDA0: Card (24100 MiB, 20000 MiB free)", ["CUDA0"])],
    ids=["for the processor", "for the card"],
)
def test_without_a_daemon_the_active_build_decides_what_it_computes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: str, devices: list[str]
) -> None:
    """A build for the processor beside a card is not said to use it."""
    on_a_card(monkeypatch)
    local = with_build(tmp_path, lines, tmp_path / "count")
    path = str(tiny().save(tmp_path / "m.gguf"))
    found = preview_here(local)({"model": path})
    assert [device["name"] for device in found["machine"]["devices"]] == devices
    assert (tmp_path / "count").read_text() == "x"
    local.close()


def test_without_a_card_no_build_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its answer is known, and a process takes time to start; nor is one asked about a machine that is imagined."""
    on_a_card(monkeypatch, cards=0)
    local = with_build(tmp_path, "  (none)", tmp_path / "count")
    path = str(tiny().save(tmp_path / "m.gguf"))
    assert preview_here(local)({"model": path})["machine"]["devices"] == []
    on_a_card(monkeypatch)
    preview_here(local)({"model": path, "gpu": [24.0], "ram": 64})
    assert not (tmp_path / "count").exists()
    local.close()


def test_the_daemon_asks_the_build_that_would_run(tmp_path: Path) -> None:
    """The one that a model is pinned to, else the active one."""
    census, lister = FakeCensus(), FakeDeviceLister(())
    engines = MemoryEngineCatalog([an_engine("new"), an_engine("old")])
    beside = Beside(Sizing(MemoryWeightFiles({}), census, lister), engines, census)
    beside((), Wanted())
    active = next(one.tag for one in engines.list_engines() if one.active)
    beside((), Wanted(engine="old"))
    assert lister.asked == [active, "old"]
    assert [one.name for one in beside((), Wanted("far:1", "old")).devices] == ["RPC0"]


def test_the_build_in_question_is_the_routed_one() -> None:
    """By its tag, by its kind, in manual mode, for an architecture; a pin that names nothing leaves none."""
    main, mistral = an_engine("b1", active=True), an_engine("m1", kind=EngineKind.MISTRALRS, active=True, used_at=9.0)
    old = an_engine("b0", architectures=("llama",))
    fork = an_engine("fork", provenance=Provenance.FORK, architectures=("rare",))
    rows = [replace(main, architectures=("llama",)), old, mistral, fork]

    def tag(rules: Rules | None = None, rows: Sequence[Engine] = rows, **wanted: Any) -> str:
        build = routed(rows, Wanted(**wanted), rules or Rules())
        return "" if build is None else build.tag

    assert tag() == "b1"
    assert tag(engine="b0") == "b0"
    assert tag(engine="mistralrs") == "m1"
    assert tag(engine="llamacpp") == "b1"
    assert tag(Rules("manual")) == "m1"
    assert tag(arch="rare") == "fork"
    assert tag(engine="nope") == ""
    assert tag(rows=[mistral]) == "m1"
    assert tag(rows=[]) == ""


def test_another_kind_is_not_asked_for_its_devices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only llama.cpp has such a list: whom configuration sends elsewhere, the census answers."""
    on_a_card(monkeypatch)
    local = with_build(tmp_path, "  (none)", tmp_path / "count")
    local.engine_rows.add_engine(an_engine("m1", kind=EngineKind.MISTRALRS, server_path=str(tmp_path / "llama-server")))
    local.models().add(str(tiny().save(tmp_path / "m.gguf")), "mine")
    (tmp_path / "config.toml").write_text('[model_overrides.mine]\nengine = "mistralrs"\n')
    devices = preview_here(local)({"model": "mine"})["machine"]["devices"]
    assert len(devices) == 1
    assert not (tmp_path / "count").exists()
    local.close()


def test_manual_mode_counts_without_a_daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The build that serves everything is asked, and no other."""
    on_a_card(monkeypatch)
    local = with_build(tmp_path, "  (none)", tmp_path / "count")
    local.engine_rows.add_engine(an_engine("m1", kind=EngineKind.MISTRALRS, server_path=str(tmp_path / "llama-server")))
    local.engine_rows.set_active(EngineKind.MISTRALRS, "m1", 9.0)
    path = str(tiny().save(tmp_path / "m.gguf"))
    (tmp_path / "config.toml").write_text('[engine_routing]\nmode = "manual"\n')
    assert len(preview_here(local)({"model": path})["machine"]["devices"]) == 1
    assert not (tmp_path / "count").exists()
    local.close()
