"""The dry run."""

import json
from dataclasses import replace

import pytest

from blazar.adapters.engines.llamacpp.spec import LLAMACPP
from blazar.adapters.engines.sdcpp.spec import SDCPP
from blazar.application.ops.explain import Explain
from blazar.application.ports.children import Measured
from blazar.application.supervise.charges import Tenant
from blazar.domain import teaching
from blazar.domain.errors import ModelNotFound
from blazar.domain.fit.shape import Projector
from blazar.domain.kinds import Provenance, Weights
from blazar.domain.routing import Rules
from tests.fakes.catalog import MemoryModelCatalog, a_model
from tests.fakes.engines import MemoryEngineCatalog, an_engine
from tests.fakes.hardware import GIB, FakeCensus, a_gpu, a_machine
from tests.fakes.weights import heavy_shape
from tests.support.supervision import AnyWeightFiles, a_planner


def explain(model="m", *rows, settings=None, census=None, **changes):
    """What is said of `model`."""
    census = census or FakeCensus()
    rows = rows or [a_model("m", ctx_train=512)]
    planner = a_planner(census, {"m": settings or {}}, AnyWeightFiles(rows[0].ctx_train), **changes)
    return Explain(MemoryModelCatalog(rows), planner, census)(model)


def test_it_tells_the_whole_story():
    """Resolution, lane, other lanes, words, window, fit and key; all of it JSON."""
    engines = MemoryEngineCatalog([an_engine(), an_engine("old")])
    found = explain("M:latest", engines=engines, settings={"ctx": 1024})
    assert (found["asked"], found["model"], found["task"]) == ("M:latest", "m", "chat")
    assert found["engine"] == {
        "tag": "b11434",
        "kind": "llamacpp",
        "provenance": "archive",
        "class": "mainstream",
        "version": "b11434",
    }
    assert {"lane": "old", "reason": teaching.lane_not_active("old", "b11434"), "class": "mainstream"} in found[
        "rejected"
    ]
    assert found["argv"][:3] == ["/engines/b11434/llama-server", "--model", "/models/m.gguf"]
    assert (found["ctx"], found["slots"]) == (512, 1)
    assert found["notes"] == [teaching.ctx_clamped(1024, 512), teaching.engine_unasked("b11434")]
    assert found["fit"]["fits"]
    assert found["child_auth"] == teaching.child_with_key()
    assert found["refusal"] is None
    json.dumps(found)


def test_who_needs_a_key_and_why_not():
    """On a port unless configuration says no, on a socket only where it says so; a kind that takes none says that (D21)."""

    def auth(**settings):
        drivers = {LLAMACPP.kind: settings.pop("driver", LLAMACPP)}
        return explain(settings=settings, drivers=drivers)["child_auth"]

    assert auth() == teaching.child_with_key()
    assert auth(child_auth=False) == teaching.child_auth_off()
    assert auth(child_transport="unix") == teaching.child_on_socket("/m.sock")
    assert auth(child_transport="unix", child_auth=True) == teaching.child_with_key()
    assert auth(driver=replace(LLAMACPP, key_file_flag="")) == teaching.child_without_key("llamacpp")


def test_a_load_that_does_not_fit_is_a_refusal_with_numbers():
    """The same sentence as the load's; switched off with the guard."""
    census = FakeCensus(a_machine(available=GIB))
    big = a_model("m", sizes=(4 * GIB,))
    found = explain("m", big, census=census)
    assert found["refusal"] == teaching.not_enough_memory("m", found["fit"]["need"], GIB)
    assert found["argv"]
    free = explain("m", big, census=census, settings={"spawn_mem_guard": False})
    assert free["refusal"] is None
    assert free["fit"]["fits"]


def test_the_plan_of_the_next_spawn_is_shown():
    """The verdict with its places, beside the guard's numbers and the words that follow from it."""
    found = explain()
    verdict = found["fit"]["verdict"]
    assert (verdict["outcome"], verdict["chosen"]["ctx"], verdict["chosen"]["slots"]) == ("fits", 512, found["slots"])
    assert (found["fit"]["evict"], found["fit"]["waits"]) == ([], False)
    assert {"fits", "guard", "weights", "need", "available"} <= found["fit"].keys()
    json.dumps(found)


def a_tenant(key, idle_since):
    """A child that holds 20 GiB of the card."""
    return Tenant(key, 7, idle_since, False, False, Measured(GIB, 0, (("CUDA0", 20 * GIB),)), (), object())


@pytest.mark.parametrize(("idle_since", "evict", "waits"), [(5.0, ["x"], False), (None, [], True)])
def test_who_would_leave_and_who_would_be_waited_for(idle_since, evict, waits):
    """The model's own child is none of them: it would be gone before its next one starts."""
    card = a_gpu()._replace(kind="cuda", free=2 * GIB)
    census = FakeCensus(a_machine(ram=4 * GIB, available=3 * GIB, gpus=(card,)))
    files = AnyWeightFiles()
    files.every = heavy_shape(20 * GIB)
    planner = a_planner(census, {}, files)
    tenants = (a_tenant("m", None), a_tenant("x", idle_since))
    found = Explain(MemoryModelCatalog([a_model("m")]), planner, census)("m", tenants)
    assert (found["fit"]["fits"], found["fit"]["evict"], found["fit"]["waits"]) == (False, evict, waits)
    assert found["refusal"] is None


def test_every_flag_has_its_reason():
    """As the compiler gives it; the words are those of the command line, behind the program's own."""
    found = explain(settings={"extra_args": ["--temp", "-0.5"]})
    words = [word for one in found["decisions"] for word in one["words"]]
    assert found["argv"][1:] == words
    assert all(one["reason"] for one in found["decisions"])
    assert found["decisions"][-1]["key"] == "extra_args"
    assert found["difference"] is None


def test_what_a_decision_says_is_not_said_again():
    """A flag that gives way is among what is left out, and no note beside it."""
    found = explain(settings={"extra_args": ["--threads", "3"]})
    left = teaching.flag_given_way("--threads", "extra_args")
    assert [one["reason"] for one in found["decisions"] if not one["words"]].count(left) == 1
    assert left not in found["notes"]


def endpoint(found):
    """The words that a start adds."""
    return [word for one in found["endpoint"] for word in one["words"]]


def test_the_endpoint_is_shown_as_far_as_it_is_known():
    """What a start chooses is a word in capitals; of a child that runs it is the real one."""
    assert endpoint(explain()) == ["--host", "127.0.0.1", "--port", "PORT", "--api-key-file", "FILE"]
    assert endpoint(explain(settings={"child_auth": False})) == ["--host", "127.0.0.1", "--port", "PORT"]
    real_kind = {LLAMACPP.kind: LLAMACPP}
    assert endpoint(explain(settings={"child_transport": "unix"}, drivers=real_kind)) == ["--host", "/m.sock"]
    planner = a_planner(FakeCensus(), {"m": {}})
    launch = planner.plan(a_model("m", ctx_train=8192))
    real = ("--host", "127.0.0.1", "--port", "40001", "--api-key-file", "/run/m.apikey")
    tenant = a_tenant("m", 5.0)._replace(launch=launch, argv=(*launch.plan.words, *real))
    found = Explain(MemoryModelCatalog([a_model("m", ctx_train=8192)]), planner, FakeCensus())("m", [tenant])
    assert endpoint(found) == list(real)
    assert all(one["reason"] for one in found["endpoint"])


@pytest.mark.parametrize(
    ("said", "pictures"),
    [
        ({}, teaching.projector_waits("/models/mmproj.gguf")),
        ({"mmproj_policy": "attach"}, None),
        ({"mmproj_policy": "skip"}, teaching.projector_skipped("m")),
        ({"mmproj_auto": False}, teaching.projector_ignored("m", "/models/mmproj.gguf")),
    ],
)
def test_a_projector_that_is_not_attached_is_told_of(said, pictures):
    """Else nothing says that the model could see; of one that is attached the words say it."""
    row, files = a_model("m"), AnyWeightFiles()
    files.beside[row.files[0]] = "/models/mmproj.gguf"
    files.projectors |= dict.fromkeys((row.files[0], "/models/mmproj.gguf"), Projector("clip", 7, 0))
    files.content["/models/mmproj.gguf"] = "encoder"
    planner = a_planner(FakeCensus(), {"m": said}, files)
    assert Explain(MemoryModelCatalog([row]), planner, FakeCensus())("m")["pictures"] == pictures


def test_a_model_without_a_projector_has_no_row_about_pictures():
    """Most have none, and nobody missed it."""
    assert explain()["pictures"] is None


def test_a_configuration_file_that_was_refused_is_named():
    """Else the answer would be taken for what the file says."""
    assert explain()["configuration"] is None
    rows = MemoryModelCatalog([a_model("m", ctx_train=512)])
    planner, problems = a_planner(FakeCensus(), {}), ("line 3: 'slots' must be a number",)
    found = Explain(rows, planner, FakeCensus(), lambda: problems)("m")
    assert found["configuration"] == teaching.explain_config_refused(problems)


@pytest.mark.parametrize("settings", [{"extra_args": ["--port", "1"]}, {"engine": "none"}])
def test_a_refusal_does_not_hide_a_refused_configuration_file(settings):
    """Who has mended the value that is cited must learn why it is still the old one."""
    problems = ("line 3: 'slots' must be a number",)
    planner = a_planner(FakeCensus(), {"m": settings}, refused=lambda: problems, drivers={LLAMACPP.kind: LLAMACPP})
    found = Explain(MemoryModelCatalog([a_model("m")]), planner, FakeCensus(), lambda: problems)("m")
    assert found["refusal"]
    assert found["configuration"] == teaching.explain_config_refused(problems)


def test_a_configuration_file_that_is_newer_than_what_runs_is_named():
    """It is read some seconds after it was written; what is explained is the configuration that runs."""
    rows, planner = MemoryModelCatalog([a_model("m", ctx_train=512)]), a_planner(FakeCensus(), {})
    found = Explain(rows, planner, FakeCensus(), tuple, lambda: True)("m")
    assert found["configuration"] == teaching.explain_config_newer()


def against(planner, launch, model=None, key="m"):
    """What is said while a child runs that was started as `launch`."""
    tenant = a_tenant(key, 5.0)._replace(launch=launch)
    row = model or a_model("m", ctx_train=8192)
    return Explain(MemoryModelCatalog([row]), planner, FakeCensus())("m", [tenant])["difference"]


def test_a_refusal_names_the_child_that_runs_all_the_same():
    """It was started before, and answers on; without one there is nothing to name."""
    row = a_model("m", ctx_train=8192)
    launch = a_planner(FakeCensus(), {"m": {"slots": 1}}).plan(row)
    tenant = a_tenant("m", 5.0)._replace(launch=launch)
    planner = a_planner(FakeCensus(), {"m": {"engine": "sdcpp"}})
    found = Explain(MemoryModelCatalog([row]), planner, FakeCensus())("m", [tenant])
    assert found["refusal"]
    assert found["difference"] is None
    assert found["running"] == {"pid": 7, "engine": "b11434"}
    assert explain()["running"] is None


def test_what_the_running_child_was_told_otherwise():
    """Flags with their values, variables by name (values may be secrets), the build (case I12)."""
    row = a_model("m", ctx_train=8192)
    was = {
        "ctx": 1024,
        "slots": 1,
        "engine_env": {"A": "1", "B": "2"},
        "extra_args": ["--cache-ram", "-1", "--lora", "a"],
    }
    now = {
        "ctx": 2048,
        "slots": 1,
        "engine_env": {"B": "3", "C": "4"},
        "extra_args": ["--cache-ram", "0", "--lora", "a", "--lora", "b"],
    }
    launch = a_planner(FakeCensus(), {"m": was}).plan(row)
    newer = MemoryEngineCatalog([an_engine("b20000")])
    found = against(a_planner(FakeCensus(), {"m": now}, engines=newer), launch)
    assert found["pid"] == 7
    assert {"flag": "--ctx-size", "was": "1024", "is": "2048"} in found["changed"]
    assert {"flag": "--cache-ram", "was": "-1", "is": "0"} in found["changed"]
    assert (found["added"], found["removed"]) == (["--lora b"], [])
    assert found["env"] == {"added": ["C"], "removed": ["A"], "changed": ["B"]}
    assert found["engine"] == {"was": "b11434", "is": "b20000"}
    json.dumps(found)


def test_a_child_that_was_told_the_same_differs_in_nothing():
    """Nor does one whose window requests have widened: the next child gets that window, too."""
    planner = a_planner(FakeCensus(), {"m": {"ctx": 1024}})
    row = a_model("m", ctx_train=8192)
    for wish in (0, 4096):
        found = against(planner, planner.plan(row, ctx=wish))
        assert (found["added"], found["removed"], found["changed"], found["engine"]) == ([], [], [], None)


def test_other_children_are_not_compared():
    """And one that nobody knows the start of neither."""
    planner = a_planner(FakeCensus(), {})
    launch = planner.plan(a_model("m", ctx_train=8192))
    assert against(planner, launch, key="other") is None
    assert against(planner, None) is None


def test_a_model_that_never_fits_is_refused_with_what_would_help():
    """The sentence that its request would get; the words are those of a load that is tried all the same."""
    files = AnyWeightFiles()
    files.every = heavy_shape(300 * GIB)
    census = FakeCensus()
    planner = a_planner(census, {}, files)
    found = Explain(MemoryModelCatalog([a_model("m")]), planner, census)("m")
    assert found["refusal"].startswith("'m' cannot be loaded: will never fit here")
    assert found["fit"]["verdict"]["outcome"] == "never"
    assert found["argv"]


def test_weights_that_nothing_serves_name_every_lane():
    """No words, but a reason for each kind."""
    found = explain("m", a_model("m", weights=Weights.QUANTIZED))
    assert found["engine"] is None
    assert found["refusal"] == teaching.quantized_unserved(["b11434"])
    assert {lane["lane"] for lane in found["rejected"]} == {"llamacpp", "mistralrs", "sglang", "sdcpp", "mlx"}
    assert all(lane["reason"] for lane in found["rejected"])
    json.dumps(found)


def test_words_that_no_build_takes_do_not_reject_the_lane_that_would_serve():
    """The refusal is about the words; other lanes are still rejected for their own reasons."""
    found = explain(settings={"extra_args": ["-c", "lots"]})
    assert "lots" in found["refusal"]
    assert "llamacpp" not in [lane["lane"] for lane in found["rejected"]]
    assert all("but  comes" not in lane["reason"] for lane in found["rejected"])


def test_unknown_names_are_refused():
    """With the near ones."""
    with pytest.raises(ModelNotFound) as caught:
        explain("mm")
    assert str(caught.value) == teaching.model_not_found("mm", ["m"])


def test_the_decision_is_shown_with_what_decided_it():
    """Mode, policy, the model's own engine, its architecture; the class of the build, and of each that was not taken."""
    fork = an_engine("fork-1", provenance=Provenance.FORK, architectures=("llama",))
    engines = MemoryEngineCatalog([an_engine(), fork])
    found = explain(engines=engines, rules=lambda: Rules("manual", "latency"))
    assert found["routing"] == {"mode": "manual", "policy": "latency", "engine": "", "arch": "llama"}
    assert found["engine"]["class"] == "mainstream"
    assert found["why"] == teaching.lane_manual("b11434")
    assert {"lane": "fork-1", "reason": found["why"], "class": "fork"} in found["rejected"]
    pinned = explain(engines=engines, settings={"engine": "fork-1"})
    assert (pinned["routing"]["engine"], pinned["engine"]["class"]) == ("fork-1", "fork")
    json.dumps(found)


def test_what_a_build_ended_over_is_shown():
    """The dry run refuses as the request would, without starting anything."""
    model = a_model("m", ctx_train=512)
    census = FakeCensus()
    planner = a_planner(census, {"m": {}}, AnyWeightFiles(512))
    dead = planner.detour(planner.plan(model), ["unknown model architecture: 'llama'"])
    assert dead is not None
    found = Explain(MemoryModelCatalog([model]), planner, census)("m")
    assert found["refusal"] == str(dead.error) == teaching.architecture_unserved("llama", ["b11434"], ["b11434"], ())
    assert {"lane": "b11434", "reason": teaching.lane_died_over("b11434", "llama"), "class": "mainstream"} in found[
        "rejected"
    ]


def test_a_kind_without_slots_has_none_to_show():
    """What the configuration says of them is not what its child does: one request at a time."""
    planner = a_planner(FakeCensus(), {"m": {"slots": 4}})
    driver = next(iter(planner.drivers.values()))
    rows = MemoryModelCatalog([a_model("m", ctx_train=8192)])
    assert Explain(rows, planner, FakeCensus())("m")["slots"] == 4
    driver.manners = driver.manners._replace(slotted=False)
    assert planner.plan(a_model("m", ctx_train=8192)).plan.slots == 1
    assert Explain(rows, planner, FakeCensus())("m")["slots"] is None


def test_a_fit_of_a_model_that_draws_is_not_known():
    """Only its weights are counted: that they fit is no promise, that they do not is a refusal."""
    row, parts = a_model("m", weights=Weights.DIFFUSION, sizes=(GIB,)), {"drivers": {SDCPP.kind: SDCPP}}
    parts["engines"] = MemoryEngineCatalog([an_engine("sd", kind=SDCPP.kind)])
    found = explain("m", row, **parts)
    assert (found["fit"]["fits"], found["fit"]["note"]) == (None, teaching.pictures_uncounted())
    tight = explain("m", row, census=FakeCensus(a_machine(available=GIB // 2)), **parts)
    assert tight["fit"]["fits"] is False
    assert explain()["fit"]["note"] is None
