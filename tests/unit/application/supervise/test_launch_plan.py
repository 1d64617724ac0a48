"""Model, engine and settings to what the child is told."""

import pytest

from blazar.application.supervise.launch_plan import cache_types, slots_for, unified, window_for
from blazar.domain import teaching
from blazar.domain.errors import Unserved
from blazar.domain.kinds import Task, Weights
from tests.fakes.catalog import a_model
from tests.fakes.engines import MemoryEngineCatalog, an_engine
from tests.fakes.hardware import GIB, FakeCensus, a_machine
from tests.support.supervision import KnowsAll, a_planner


def plan(model=None, wish=0, **settings):
    """The launch of one model under these settings."""
    model = model or a_model("m", ctx_train=8192)
    return a_planner(FakeCensus(a_machine(cores=6)), {model.name: settings}).plan(model, ctx=wish)


def said(launch, flag):
    """The word after `flag`, or None."""
    words = launch.plan.words
    return words[words.index(flag) + 1] if flag in words else None


def test_the_floor_of_a_plan():
    """Program, model, name, window, slots, threads of the CPU set (D23, D30)."""
    launch = plan()
    assert launch.plan.words == (
        "/engines/b11434/llama-server",
        *("--model", "/models/m.gguf", "--alias", "m", "--ctx-size", "4096", "--parallel", "1", "--threads", "6"),
    )
    assert (launch.plan.ctx, launch.plan.slots, launch.plan.weights) == (4096, 1, 240_128)
    assert (launch.plan.key, launch.plan.model, launch.plan.tag) == ("m", "m", "b11434")
    assert launch.load_cap == 180.0
    assert launch.plan.notes == ()


def test_a_plan_always_names_a_model_file():
    """Of a shard set the first: a child without one would be a router that never loads (case G11)."""
    shards = a_model("m", files=("/models/m-00001-of-00002.gguf", "/models/m-00002-of-00002.gguf"), sizes=(5, 7))
    launch = plan(shards)
    assert said(launch, "--model") == "/models/m-00001-of-00002.gguf"
    assert launch.plan.weights == 12


@pytest.mark.parametrize(
    ("settings", "trained", "slots", "wish", "window"),
    [
        ({}, 8192, 1, 0, (4096, 4096)),
        ({}, 512, 1, 0, (512, 512)),
        ({}, 0, 1, 0, (4096, 4096)),
        ({"ctx": 2048}, 8192, 1, 0, (2048, 2048)),
        ({"ctx": 2048}, 8192, 4, 0, (2048, 2048)),
        ({"ctx": 2048, "kv_unified": False}, 8192, 4, 0, (2048, 8192)),
        ({"ctx": 2048, "kv_unified_per_slot": 1024}, 8192, 4, 0, (2048, 4096)),
        ({"ctx": 2048, "kv_unified_per_slot": 256}, 8192, 4, 0, (2048, 2048)),
        ({}, 8192, 1, 6000, (6000, 6000)),
        ({}, 8192, 1, 100, (4096, 4096)),
    ],
)
def test_the_window_is_one_request_s(settings, trained, slots, wish, window):
    """`--ctx-size` is what the engine divides by its slots, unless the cache is unified (D30)."""
    found = window_for({"default_ctx": 4096, **settings}, trained, slots, wish)
    assert (found.ctx, found.ctx_size) == window


def test_a_chosen_window_that_shrinks_is_noted():
    """The default is no promise, so it shrinks silently; a choice does not."""
    assert plan(a_model("m", ctx_train=512)).plan.notes == ()
    assert plan(a_model("m", ctx_train=512), wish=100).plan.notes == ()
    assert plan(a_model("m", ctx_train=512), wish=9999).plan.notes == (teaching.ctx_clamped(9999, 512),)
    assert plan(a_model("m", ctx_train=512), ctx=2048).plan.notes == (teaching.ctx_clamped(2048, 512),)


def test_slots():
    """1 unless configured; always 1 when answers must repeat."""
    assert [slots_for(settings) for settings in ({}, {"slots": 0}, {"slots": 3})] == [1, 1, 3]
    assert slots_for({"slots": 3, "deterministic": True}) == 1


def test_one_cache_for_all_slots_by_itself():
    """As soon as there is more than one, unless configured."""
    assert [unified({}, 1), unified({}, 2), unified({"kv_unified": False}, 2), unified({"kv_unified": True}, 1)] == [
        False,
        True,
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("settings", "types"),
    [
        ({}, ("", "")),
        ({"cache_type": "q8_0"}, ("q8_0", "q8_0")),
        ({"cache_type": "f16", "cache_type_k": "q8_0"}, ("q8_0", "f16")),
        ({"cache_type_v": "q4_0"}, ("q4_0", "q4_0")),
        ({"cache_type_k": "q8_0", "cache_type_v": "q4_0"}, ("q8_0", "q4_0")),
    ],
)
def test_cache_types(settings, types):
    """The side that is set wins; a lone side mirrors."""
    assert cache_types(settings) == types


def test_threads_can_be_configured():
    """0 means the physical cores (D39)."""
    assert said(plan(threads=2), "--threads") == "2"
    assert said(plan(threads=0), "--threads") == "6"


def test_embedding_models_are_started_for_embeddings():
    """By their metadata, or by the overlay, which then needs a pooling (D38)."""
    embedder = plan(a_model("m", pooling=1))
    assert "--embeddings" in embedder.plan.words
    assert said(embedder, "--pooling") is None
    overlay = plan(a_model("m"), embeddings=True)
    assert said(overlay, "--pooling") == "mean"
    assert "--embeddings" not in plan().plan.words
    planner = a_planner(FakeCensus(), {"both": {"embeddings": True}})
    tasks = [planner.task(model) for model in (a_model("m"), a_model("m", pooling=1), a_model("both"))]
    assert tasks == [Task.CHAT, Task.EMBED, Task.EMBED]


def test_a_flag_that_the_build_does_not_know_is_left_out_and_noted():
    """Never sent, always said."""
    probe = KnowsAll({"--model", "--alias", "--ctx-size", "--parallel", "--threads"})
    launch = a_planner(FakeCensus(), {"m": {"fancy": 1}}, probe=probe).plan(a_model("m"))
    assert "--fancy" not in launch.plan.words
    assert launch.plan.notes == (teaching.flag_unknown_to_engine("--fancy", "b11434"),)


def test_extra_words_and_environment_come_last():
    """What a person adds wins over what was compiled."""
    launch = plan(extra_args=["--seed", 7], engine_env={"B": 2, "A": "1"})
    assert launch.plan.words[-2:] == ("--seed", "7")
    assert launch.plan.env == (("A", "1"), ("B", "2"))


def test_the_pin_of_a_model_chooses_its_build():
    """`engine` under the overrides."""
    engines = MemoryEngineCatalog([an_engine(), an_engine("old")])
    planner = a_planner(FakeCensus(), {"m": {"engine": "old"}}, engines=engines)
    assert planner.plan(a_model("m")).engine.tag == "old"
    assert planner.route(a_model("n")).engine.tag == "b11434"


def test_nothing_is_planned_for_weights_that_nothing_serves():
    """The refusal is routing's; every lane has its reason."""
    planner = a_planner(FakeCensus(), {})
    model = a_model("m", weights=Weights.DIFFUSION)
    with pytest.raises(Unserved):
        planner.plan(model)
    assert "llamacpp" in {lane.lane for lane in planner.rejected(model)}


def test_the_prompt_cache_is_capped_by_the_machine():
    """30 % of the memory: an unclamped budget was measured to swap-kill a machine (contract)."""
    planner = a_planner(FakeCensus(a_machine(ram=10 * GIB)), {})
    model = a_model("m")
    told = [planner._resolved(model, {"cache_ram_mb": size}, 1)["cache_ram_mb"] for size in (8192, 1000, 0, None)]
    assert told == [3072, 1000, 0, None]
