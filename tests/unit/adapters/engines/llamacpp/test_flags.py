"""llama-server's flag table."""

import re
from pathlib import Path
from typing import Any

import pytest

import blazar.adapters.engines.llamacpp as package
from blazar.adapters.engines.llamacpp.flags import LLAMACPP_FLAGS
from blazar.domain.argv import FLOOR, Missing, compile_argv
from tests.stubs import llama_server

REQUIRED = {"model_path": "/m.gguf", "alias": "m", "ctx_size": 4096, "slots": 1, "kv_unified": False}


def words(**settings: Any) -> str:
    return " ".join(compile_argv(LLAMACPP_FLAGS, REQUIRED | settings, ()).words)


def test_the_floor_is_always_said() -> None:
    """What D30 demands stands on every command line, asked for or not."""
    assert words() == (
        "--model /m.gguf --alias m --ctx-size 4096 --parallel 1 --no-kv-unified --flash-attn on --fit off "
        "--cors-origins localhost --no-ui --metrics --slots --verbosity 4"
    )
    assert "--kv-unified" in words(kv_unified=True).split()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"cache_ram_mb": 0}, "--cache-ram 0"),
        ({"main_gpu": 0}, "--main-gpu 0"),
        ({"reasoning_budget": 0}, "--reasoning-budget 0"),
        ({"sse_ping_interval": -1}, "--sse-ping-interval -1"),
        ({"yarn_ext_factor": 0.5}, "--yarn-ext-factor 0.5"),
        ({"load_mode": "direct-io"}, "--load-mode dio"),
        ({"load_mode": "mlock"}, "--load-mode mlock"),
        ({"warmup": False}, "--no-warmup"),
        ({"repack": False}, "--no-repack"),
        ({"cont_batching": False}, "--no-cont-batching"),
        ({"context_shift": True}, "--context-shift"),
        ({"cpu_strict": True}, "--cpu-strict 1"),
        ({"override_tensor": ["a=CPU", "b=CPU"]}, "--override-tensor a=CPU,b=CPU"),
        ({"chat_template_kwargs": {"b": True, "a": 1}}, '--chat-template-kwargs {"a":1,"b":true}'),
        ({"embeddings": True, "pooling": "mean"}, "--embeddings --pooling mean"),
        ({"lazy_mode": "on"}, "--lazy-mode on"),
        ({"samplers": "top_k;typical;Typical-P"}, "--samplers top_k;typ_p;typ_p"),
        ({"tensor_preset": True}, "--cpu-moe"),
        ({"loras": ["/a", "/b"]}, "--lora /a,/b"),
        ({"loras": ["/a:0.5", "/b"]}, "--lora-scaled /a:0.5,/b:1"),
        ({"idle_sleep_secs": 300}, "--sleep-idle-seconds 300"),
        ({"sessions": "/s/"}, "--slot-save-path /s/"),
        ({"ngram_size_n": ("ngram-map-k4v", 5)}, "--spec-ngram-map-k4v-size-n 5"),
        ({"ngram_size_m": ("ngram-simple", 5)}, "--spec-ngram-simple-size-m 5"),
        ({"spec_draft_cpu_strict": False}, "--cpu-strict-draft 0"),
        ({"spec_draft_backend_sampling": False}, "--no-spec-draft-backend-sampling"),
        ({"spec_draft_poll": 0}, "--poll-draft 0"),
        ({"spec_draft_p_min": 0.0}, "--draft-p-min 0.0"),
        ({"video_timestamp_interval": 1500.0}, "--video-timestamp-interval 1500"),
        ({"ctx_extend": 4.0, "rope_scaling": "yarn"}, "--rope-scaling yarn --rope-scale 4.0"),
    ],
)
def test_settings_that_are_said(settings: dict[str, Any], said: str) -> None:
    """Zero, minus one and false are said where they are choices."""
    assert f" {said} " in f" {words(**settings)} "


@pytest.mark.parametrize(
    "settings",
    [
        {"main_gpu": -1},
        {"reasoning_budget": -1},
        {"yarn_ext_factor": -1.0},
        {"warmup": True},
        {"repack": True},
        {"context_shift": False},
        {"cont_batching": None},
        {"load_mode": ""},
        {"lazy_mode": "auto"},
        {"threads_http": 0},
        {"override_tensor": []},
        {"chat_template_kwargs": {}},
        {"cpu_strict": False},
        {"tensor_preset": False},
        {"idle_sleep_secs": 0},
        {"sessions": ""},
        {"ngram_size_n": None},
        {"spec_draft_backend_sampling": True},
        {"spec_draft_cpu_strict": None},
        {"adaptive_target": 0.0},
        {"ubatch_size": 0},
    ],
)
def test_settings_that_stay_silent(settings: dict[str, Any]) -> None:
    """The engine's own defaults are not repeated."""
    assert words(**settings) == words()


def test_each_setting_has_one_flag() -> None:
    """No key and no spelling stands twice."""
    keys, names = [flag.key for flag in LLAMACPP_FLAGS if flag.key != FLOOR], [flag.name for flag in LLAMACPP_FLAGS]
    assert len(set(keys)) == len(keys)
    assert len(set(names)) == len(names)


def test_the_document_lists_every_key() -> None:
    """`design.md` is what the planner is written against: it names exactly the table's keys."""
    text = (Path(package.__file__).parent / "design.md").read_text()
    section = text.split("## Keys the planner supplies")[1].split("## The embedded lane")[0]
    named = set(re.findall(r"`([a-z][a-z0-9_]*)`", section)) - {"auto", "all"}
    assert named == {flag.key for flag in LLAMACPP_FLAGS} - {FLOOR}


def test_the_test_engine_takes_every_flag() -> None:
    """The stub accepts whatever the table can say, negatives included."""
    takes = {*llama_server.VALUED, *llama_server.SWITCHES}
    assert {flag.name for flag in LLAMACPP_FLAGS} <= takes
    for key in ("kv_unified", "cont_batching", "op_offload"):
        said = compile_argv(LLAMACPP_FLAGS, {key: False}, ()).words
        assert {word for word in said if word.startswith("--no-")} <= takes


def test_rows_without_which_the_child_would_be_another_one_refuse_the_load() -> None:
    """Window, numbers, places, files and kinds of answer that somebody chose; comfort and speed are left out with a warning."""
    needed = {flag.name for flag in LLAMACPP_FLAGS if flag.missing is Missing.REFUSE}
    assert {
        "--cache-type-k",
        "--device",
        "--tensor-split",
        "--embeddings",
        "--rope-scale",
        "--spec-type",
        "--lora",
    } <= needed
    assert {"--mmproj", "--override-tensor", "--rpc", "--chat-template", "--tools-runtime"} <= needed
    assert (
        not {"--context-shift", "--poll", "--slot-save-path", "--sleep-idle-seconds", "--no-ui", "--reasoning"} & needed
    )


def test_rows_that_are_always_said_say_why() -> None:
    """No setting explains them."""
    assert all(flag.why for flag in LLAMACPP_FLAGS if flag.key == FLOOR)


def test_only_what_the_engine_adds_up_is_said_beside_a_person_s() -> None:
    """Of all others its last one wins, and ours gives way."""
    adds = {flag.name for flag in LLAMACPP_FLAGS if flag.adds}
    main = {"--cpu-moe", "--n-cpu-moe", "--n-cpu-ffn", "--override-tensor", "--lora"}
    assert adds == main | {"--cpu-moe-draft", "--n-cpu-moe-draft", "--override-tensor-draft"}
