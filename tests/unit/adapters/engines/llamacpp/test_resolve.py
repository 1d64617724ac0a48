"""What configuration leaves open of a llama-server; whole command lines are in tests/fixtures/argv/llamacpp."""

from dataclasses import replace
from typing import Any

import pytest

from blazar.adapters.engines.llamacpp.resolve import MCP_FLAG, MCP_VARIABLE, resolve
from blazar.adapters.engines.llamacpp.spec import LLAMACPP
from blazar.application.config.model import Config, Override
from blazar.application.supervise.launch_plan import SUPPLIED
from blazar.domain import teaching
from blazar.domain.argv import FLOOR
from blazar.domain.errors import Malformed
from blazar.domain.fit.machine import Device
from blazar.domain.fit.machine import Machine as Placement
from blazar.domain.fit.planner import plan
from blazar.domain.fit.settings import Settings
from blazar.domain.kinds import Task
from blazar.domain.launch import Beside, Brief, Places, compile_launch
from blazar.domain.manifest import Manifest
from tests.fakes.catalog import a_model
from tests.fakes.hardware import GIB, a_machine
from tests.support.fit_shapes import Dense

MODEL = a_model("m", ctx_train=8192)


def a_brief(
    model: Any = MODEL, machine: Any = None, manifest: Manifest | None = None, said: Any = None, **facts: Any
) -> Brief:
    """Of a build that could not be asked: nothing is filtered, and nothing guesses."""
    over = {key: value for key, value in (said or {}).items() if key in Override.model_fields}
    rest = {key: value for key, value in (said or {}).items() if key not in over}
    settings = Config.model_validate({**rest, "model_overrides": {"m": over}}).settings_for("m")
    return Brief(
        settings, model, machine or a_machine(64 * GIB), manifest or Manifest(), "b1", ctx=8192, ctx_size=8192, **facts
    )


def told(**facts: Any) -> Any:
    return resolve(a_brief(**facts)).told


def line(**facts: Any) -> str:
    return " ".join(compile_launch(LLAMACPP, a_brief(**facts)).words)


def test_without_a_plan_what_is_open_is_at_its_least():
    """Nobody could count it: one slot, a cache of its own, the window as it was worked out."""
    found = told()
    assert (found["slots"], found["ctx_size"], found["kv_unified"]) == (1, 8192, False)
    assert (told(said={"slots": 3})["slots"], told(said={"slots": 3})["kv_unified"]) == (3, True)


def test_odd_deterministic_answers_have_one_slot():
    """Several in one batch could tip a choice."""
    found = resolve(a_brief(said={"slots": 3, "deterministic": True}))
    assert (found.told["slots"], found.reasons["slots"]) == (1, teaching.argv_reason("deterministic"))


def test_odd_a_micro_batch_is_said_only_when_it_is_set():
    """At 0 it stays the engine's own: more was measured to be slower."""
    assert "--ubatch-size" not in line()
    assert "--ubatch-size 1024" in line(said={"ubatch_size": 1024})


def test_odd_the_window_is_shifted_only_when_asked_for():
    """Upstream switched it off; the negative is never said."""
    assert "context-shift" not in line()
    assert "--context-shift" in line(said={"context_shift": True})


def test_a_window_per_slot_that_is_configured_wins():
    """0 leaves it to the plan."""
    assert told()["kv_unified_per_slot"] == 0
    assert told(said={"kv_unified_per_slot": 512})["kv_unified_per_slot"] == 512


@pytest.mark.parametrize(
    ("said", "threads", "prompts"),
    [
        ({}, 4, 4),
        ({"threads": 2}, 2, 2),
        ({"threads": 2, "threads_batch": 3}, 2, 3),
        ({"cpu_range": "0-1"}, 2, 2),
        ({"cpu_range": "2-9"}, 4, 4),
        ({"cpu_range": "0-1", "threads": 3}, 3, 3),
    ],
)
def test_threads_are_the_cores_it_may_use(said, threads, prompts):
    """Physical ones (D23), and no more than it is bound to, unless configured (D39); for prompts as many."""
    found = told(said=said)
    assert (found["threads"], found["threads_batch"]) == (threads, prompts)


def test_embedding():
    """By metadata or by the override, with a pooling only where the model has none; its batches are its window (D38)."""
    own = told(model=a_model("m", pooling=1), task=Task.EMBED)
    assert (own["embeddings"], own["pooling"], own["batch_size"], own["ubatch_size"]) == (True, "", 8192, 8192)
    assert told(task=Task.EMBED)["pooling"] == "mean"
    assert told()["embeddings"] is False
    ranks = told(model=a_model("m", pooling=4), task=Task.RERANK)
    assert (ranks["embeddings"], ranks["pooling"], ranks["ubatch_size"]) == (True, "rank", 8192)
    late = told(model=a_model("m", pooling=2), task=Task.EMBED, said={"late_chunking": True})
    assert (late["embeddings"], late["pooling"], late["ubatch_size"]) == (True, "none", 8192)
    assert told(model=a_model("m", pooling=4), task=Task.RERANK, said={"late_chunking": True})["pooling"] == "rank"
    assert told(said={"late_chunking": True})["embeddings"] is False
    # Somebody wants its vectors: the score is none.
    assert told(model=a_model("m", pooling=4), task=Task.EMBED)["pooling"] == "mean"


def test_the_effort_of_thinking_goes_to_the_template_of_chats():
    """What somebody wrote himself wins."""
    assert told()["chat_template_kwargs"] == {}
    assert told(said={"reasoning_effort": "high"})["chat_template_kwargs"] == {"reasoning_effort": "high"}
    assert told(said={"reasoning_effort": "high"}, task=Task.EMBED)["chat_template_kwargs"] == {}
    own = {"reasoning_effort": "high", "chat_template_kwargs": {"reasoning_effort": "low", "x": 1}}
    assert told(said=own)["chat_template_kwargs"] == {"reasoning_effort": "low", "x": 1}


def test_yarn_stretches_from_the_trained_window():
    """Only by a factor above 1; the window that it was trained for may be corrected."""
    assert "--rope-scaling" not in line() + line(said={"ctx_extend": 1.0})
    assert "--rope-scaling yarn --rope-scale 4.0 --yarn-orig-ctx 8192" in line(said={"ctx_extend": 4.0})
    assert "--yarn-orig-ctx 4096" in line(said={"ctx_extend": 4.0, "yarn_orig_ctx": 4096})


def test_the_projector_goes_to_the_child_that_sees():
    """A file beside the model alone attaches nothing; explicit words win."""
    beside = Beside(projector="/p.gguf")
    assert "--mmproj" not in line(beside=beside)
    assert "--mmproj /p.gguf" in line(beside=beside, vision=True)
    own = line(beside=beside, vision=True, said={"extra_args": ["-mm", "/own.gguf"]})
    assert "/p.gguf" not in own
    assert own.endswith("-mm /own.gguf")


def test_conversations_are_saved_where_there_is_a_folder():
    """Not those of a model that has none."""
    places = Places(sessions="/s")
    assert "--slot-save-path /s" in line(places=places)
    for facts in ({}, {"places": places, "said": {"sessions": False}}, {"places": places, "task": Task.EMBED}):
        assert "--slot-save-path" not in line(**facts)


def test_odd_mcp_servers_as_json_go_into_the_environment():
    """Their tokens would stand in everybody's list of processes."""
    said = {"mcp_servers_json": '{"mcpServers": {"x": {"env": {"TOKEN": "t0p"}}}}'}
    came = compile_launch(LLAMACPP, a_brief(said=said))
    assert came.env == {MCP_VARIABLE: said["mcp_servers_json"]}
    assert not [word for word in (*came.words, *(one.reason for one in came.decisions)) if "t0p" in word]
    old = resolve(a_brief(said=said, manifest=Manifest.spelled(["--model"])))
    assert (dict(old.env), old.notes) == ({}, (teaching.flag_unknown_to_engine(MCP_FLAG, "b1"),))


def test_all_tools_of_the_engine_are_a_warning():
    """They run with our rights."""
    assert resolve(a_brief(said={"agent": True})).notes == (teaching.agent_tools(),)
    assert "--agent" in line(said={"agent": True})
    assert "commands with the daemon's rights" in teaching.agent_tools()


def test_server_tools_choose_among_those_of_agent():
    """Said after it, --tools replaces what --agent turns on; a runtime is where they work."""
    chosen = {"agent": True, "server_tools": "read_file,get_info", "server_tools_runtime": "docker:x"}
    assert "--agent --tools read_file,get_info --tools-runtime docker:x" in line(said=chosen)
    (note,) = resolve(a_brief(said=chosen)).notes
    assert note == teaching.agent_tools("read_file,get_info", "docker:x")
    assert "read_file,get_info" in note
    assert note.endswith("they work in docker:x")


def test_an_adapter_whose_path_the_engine_would_misread_is_refused():
    """It takes the first colon for the scale's."""
    with pytest.raises(Malformed) as caught:
        resolve(a_brief(said={"loras": ["/a:b.gguf", "/c.gguf:0.5"]}))
    assert str(caught.value) == teaching.lora_colon("/a:b.gguf")
    assert "--lora /a:b.gguf" in line(said={"loras": ["/a:b.gguf"]})


def test_a_scale_that_a_build_cannot_apply_refuses_the_load():
    """Without it the adapter would be another one."""
    with pytest.raises(Malformed) as caught:
        line(
            manifest=Manifest.spelled(["--alias", "--ctx-size", "--parallel", "--lora"]),
            said={"loras": ["/c.gguf:0.5"]},
        )
    assert str(caught.value) == teaching.flag_needed("--lora-scaled", "b1")


def test_everything_resolved_is_a_key_or_supplied():
    """A key that no row reads would be an option without effect."""
    rows = {flag.key for flag in LLAMACPP.flags} - {FLOOR}
    found = set(told(said={"ctx_extend": 2.0})) - set(Config().settings_for("m"))
    assert found <= rows
    assert found <= SUPPLIED


def test_every_word_of_a_plain_launch_has_a_reason_of_its_own():
    """None of them is merely "(default)": the defaults that are said are decisions."""
    came = compile_launch(LLAMACPP, a_brief(places=Places(sessions="/s")))
    plain = {one.key for one in came.decisions if one.reason.endswith("(default)")}
    assert plain == {"cache_ram_mb", "idle_sleep_secs"}


def test_the_window_says_who_chose_it():
    """A request's window, not the engine's figure; a default that nothing changed has nobody to name."""
    brief = a_brief(said={"ctx": 8192}, origins={"ctx": "[model_overrides.m]"})
    assert resolve(brief).reasons["ctx_size"] == teaching.argv_window(8192, 1, False, "ctx ([model_overrides.m])")
    plain = replace(a_brief(), settings={**a_brief().settings, "default_ctx": 8192})
    assert resolve(plain).reasons["ctx_size"] == teaching.argv_window(8192, 1, False, "")


def test_a_window_that_is_not_what_was_asked_for_says_why():
    """The model's training, or memory; and whose wish it was."""
    trained = teaching.window_trained(teaching.flag_because("default_ctx", ""), 16384)
    assert resolve(a_brief()).reasons["ctx_size"] == teaching.argv_window(8192, 1, False, trained)
    fitted = teaching.window_fitted(teaching.flag_because("default_ctx", ""), 16384)
    tight = a_brief(model=a_model("m", ctx_train=32768))
    assert resolve(tight).reasons["ctx_size"] == teaching.argv_window(8192, 1, False, fitted)


@pytest.mark.parametrize(
    ("said", "each"),
    [
        ({"slots": 4}, 8192),
        ({"slots": 4, "kv_unified_per_slot": 2048}, 2048),
        ({"slots": 4, "extra_args": ["--kv-unified-per-slot", "1024"]}, 1024),
    ],
)
def test_a_shared_cache_promises_no_window_that_it_does_not_hold(said, each):
    """Four requests in one cache of 8192 tokens have 8192 together, whatever one of them may take."""
    reason = resolve(a_brief(said=said)).reasons["ctx_size"]
    assert reason.startswith(teaching.argv_pool(8192, 4, each))
    assert "each request" not in reason


@pytest.mark.parametrize(
    ("trained", "asked", "adopted", "slots", "reason"),
    [
        (32768, 4096, 0, 4, "slots"),
        (16384, 8192, 0, 2, "slots-trained"),
        (8192, 8192, 0, 1, "slots-trained"),
        (8192, 8192, 1, 1, "slots-trained"),
        (8192, 8192, 2, 2, "slots-adopted"),
        (8192, 8192, 4, 4, "slots-adopted"),
        (32768, 4096, 2, 4, "slots"),
        (1 << 20, 1 << 18, 0, 1, "slots-memory"),
    ],
)
def test_slots_that_nobody_chose_say_why_there_are_no_more(trained, asked, adopted, slots, reason):
    """As many as are ever chosen, as requests waited for, as the model was trained for, or as there is room for."""
    ram = 14 if reason == "slots-memory" else 64
    shape = Dense(blocks=16, trained=trained, size=GIB).shape()
    place = Placement(ram * GIB, ram * GIB, ())
    verdict = plan(shape, place, Settings(ctx=asked, adopted=adopted))
    assert (verdict.placed, verdict.settings.parallel) == (True, slots)
    model = a_model("m", ctx_train=trained)
    brief = a_brief(model=model, verdict=verdict, placement=place)
    assert resolve(replace(brief, ctx=verdict.ctx)).reasons["slots"] == teaching.argv_reason(reason)


def test_slots_without_a_place_were_chosen_by_nobody():
    """A plan that found none decides nothing."""
    place = Placement(GIB, GIB, ())
    verdict = plan(Dense(blocks=16, trained=8192, size=90 * GIB).shape(), place, Settings(ctx=8192))
    assert not verdict.placed
    reasons = resolve(a_brief(verdict=verdict, placement=place)).reasons
    assert reasons["slots"] == teaching.argv_reason("slots-unplaced")


def test_threads_of_extra_words_are_those_for_prompts_too():
    """As threads means as those that the child gets; where it takes every processor, nothing is said for prompts either."""
    assert told(said={"extra_args": ["-t", "3"]})["threads_batch"] == 3
    assert "--threads-batch 3 " in line(said={"extra_args": ["--threads", "3"]})
    assert "--threads-batch" not in line(said={"extra_args": ["-t", "-1"]})


def test_a_side_of_the_cache_that_follows_from_extra_words_says_so():
    """The other side keeps the engine's format; nobody configured it."""
    said = {"extra_args": ["-ctk", "q8_0"], "cache_type_k": "q8_0", "cache_type_v": "f16"}
    reasons = resolve(a_brief(said=said)).reasons
    assert reasons["cache_type_v"] == teaching.argv_reason("other-side")


def test_the_cache_of_prompts_says_who_held_it_to_what():
    """The machine's share first; a choice is kept and not cut."""
    small = resolve(a_brief(machine=a_machine(10 * GIB)))
    assert small.told["cache_ram_mb"] == 3072
    because = teaching.flag_because("cache_ram_mb", "")
    assert small.reasons["cache_ram_mb"] == teaching.prompt_cache_held(because, 8192, planned=False)
    assert "cache_ram_mb" not in resolve(a_brief()).reasons


@pytest.mark.parametrize(
    ("mode", "kinds", "devices", "said"),
    [
        ("tensor", (), [], ""),
        ("tensor", ("cuda",), ["none"], ""),
        ("tensor", ("cuda",), [], "tensor"),
        ("row", (), [], "row"),
        ("row", ("sycl",), [], "row"),
        ("row", ("rpc", "cuda"), ["D1"], "row"),
        ("layer", ("rpc",), [], "layer"),
    ],
)
def test_nothing_is_split_by_tensors_where_no_device_is(mode, kinds, devices, said):
    """The engine would end itself; what it can do stays as it is written, and where nobody counted devices, too."""
    pool = tuple(Device(f"D{number}", kind, GIB, GIB) for number, kind in enumerate(kinds))
    asked = {"split_mode": mode, "devices": devices}
    assert told(said=asked, placement=Placement(GIB, GIB, pool))["split_mode"] == said
    assert told(said=asked)["split_mode"] == mode


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ({"override_tensor": ["output=CPU"]}, ["override_tensor"]),
        ({"override_tensor": ["output=CPU"], "cpu_ffn_n": 2}, ["override_tensor", "cpu_ffn_n"]),
        ({"cpu_moe_n": 2}, []),
        ({}, []),
    ],
)
def test_tensors_are_not_split_onto_a_worker_with_caches_and_weights_in_main_memory(said, kept):
    """The engine would end itself as it starts; without either of the two it runs."""
    pool = (Device("RPC0", "rpc", GIB, GIB),)
    tensor = {"split_mode": "tensor", **said}
    if kept:
        with pytest.raises(Malformed) as refused:
            resolve(a_brief(said=tensor | {"no_kv_offload": True}, placement=Placement(GIB, GIB, pool)))
        assert str(refused.value) == teaching.split_tensors_refused("RPC0", kept)
    else:
        assert (
            told(said=tensor | {"no_kv_offload": True}, placement=Placement(GIB, GIB, pool))["split_mode"] == "tensor"
        )
    assert told(said=tensor, placement=Placement(GIB, GIB, pool))["split_mode"] == "tensor"


@pytest.mark.parametrize("kind", ["rpc", "cuda"])
def test_tensors_of_a_model_with_adapters_are_not_split(kind):
    """The engine would end itself as it starts, or at the first request."""
    pool = (Device("D0", kind, GIB, GIB),)
    said = {"split_mode": "tensor", "loras": ["/a.gguf"]}
    with pytest.raises(Malformed) as refused:
        resolve(a_brief(said=said, placement=Placement(GIB, GIB, pool)))
    assert str(refused.value) == teaching.split_tensors_adapters()
    assert told(said=said | {"split_mode": "layer"}, placement=Placement(GIB, GIB, pool))["split_mode"] == "layer"


def test_rows_are_refused_where_a_device_cannot_split_them():
    """A worker's device cannot, so that the child would not start."""
    pool = (Device("RPC0", "rpc", GIB, GIB),)
    with pytest.raises(Malformed) as refused:
        resolve(a_brief(said={"split_mode": "row"}, placement=Placement(GIB, GIB, pool)))
    assert str(refused.value) == teaching.split_rows_refused("RPC0")
