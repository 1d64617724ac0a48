"""The dry run."""

import json
from dataclasses import replace

import pytest

from blazar.adapters.engines.llamacpp.spec import LLAMACPP
from blazar.application.ops.explain import Explain
from blazar.application.ports.children import Measured
from blazar.application.supervise.charges import Tenant
from blazar.domain import teaching
from blazar.domain.errors import ModelNotFound
from blazar.domain.kinds import Weights
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
    assert found["engine"] == {"tag": "b11434", "kind": "llamacpp", "provenance": "archive", "version": "b11434"}
    assert {"lane": "old", "reason": teaching.lane_not_active("old", "b11434")} in found["rejected"]
    assert found["argv"][:3] == ["/engines/b11434/llama-server", "--model", "/models/m.gguf"]
    assert (found["ctx"], found["slots"], found["notes"]) == (512, 1, [teaching.ctx_clamped(1024, 512)])
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


def against(planner, launch, model=None, key="m"):
    """What is said while a child runs that was started as `launch`."""
    tenant = a_tenant(key, 5.0)._replace(launch=launch)
    row = model or a_model("m", ctx_train=8192)
    return Explain(MemoryModelCatalog([row]), planner, FakeCensus())("m", [tenant])["difference"]


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
    assert found["refusal"].startswith("no engine serves")
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
