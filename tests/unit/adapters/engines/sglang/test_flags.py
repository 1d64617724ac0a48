"""SGLang's flag table."""

from typing import Any

import pytest

from blazar.adapters.engines.sglang.flags import SGLANG_FLAGS
from blazar.domain.argv import FLOOR, Missing, compile_argv
from tests.support.lane_briefs import settings
from tests.support.manifests import golden

SUPPLIED = {"model_path", "alias", "is_embedding", "ctx", "cpu_offload_gb", "base_gpu_id", "draft"}
ROOT = {"slots", "deterministic", "chat_template", "chat_template_file", "spec", "warmup"}
KNOWN = golden("sglang-0.5.23")


def words(**said: Any) -> tuple[str, ...]:
    told = {key.replace("__", "."): text for key, text in said.items()}
    return compile_argv(SGLANG_FLAGS, told, ()).words


@pytest.mark.parametrize(
    ("said", "flag"),
    [
        ({"sglang__cache_report": True}, ("--enable-cache-report",)),
        ({"sglang__radix_eviction_policy": "slru"}, ("--radix-eviction-policy", "slru")),
        ({"sglang__session_radix_cache": True}, ("--enable-session-radix-cache",)),
        ({"sglang__mixed_chunk": True}, ("--enable-mixed-chunk",)),
        ({"sglang__mem_fraction_static": 0.7}, ("--mem-fraction-static", "0.7")),
        ({"sglang__kv_cache_dtype": "fp8_e4m3"}, ("--kv-cache-dtype", "fp8_e4m3")),
        ({"sglang__tp_size": 2}, ("--tp-size", "2")),
        ({"sglang__dp_size": 2}, ("--dp-size", "2")),
        ({"sglang__pp_size": 2}, ("--pp-size", "2")),
        ({"sglang__ep_size": 2}, ("--ep-size", "2")),
        ({"sglang__attention_backend": "flashinfer"}, ("--attention-backend", "flashinfer")),
        ({"sglang__mm_attention_backend": "sdpa"}, ("--mm-attention-backend", "sdpa")),
        ({"sglang__grammar_backend": "xgrammar"}, ("--grammar-backend", "xgrammar")),
        ({"sglang__retraction_policy": "priority"}, ("--retraction-policy", "priority")),
        ({"sglang__enable_priority_scheduling": True}, ("--enable-priority-scheduling",)),
        ({"sglang__enable_two_batch_overlap": True}, ("--enable-two-batch-overlap",)),
        ({"sglang__enable_tf32_matmul": True}, ("--enable-tf32-matmul",)),
        ({"spec": "ngram"}, ("--speculative-algorithm", "NGRAM")),
        ({"spec": "eagle3"}, ("--speculative-algorithm", "EAGLE3")),
        ({"sglang__spec_num_steps": 3}, ("--speculative-num-steps", "3")),
        ({"sglang__spec_num_draft_tokens": 4}, ("--speculative-num-draft-tokens", "4")),
        ({"sglang__speculative_eagle_topk": 2}, ("--speculative-eagle-topk", "2")),
        ({"sglang__speculative_accept_threshold_single": 0}, ("--speculative-accept-threshold-single", "0")),
        ({"sglang__speculative_accept_threshold_acc": 0.5}, ("--speculative-accept-threshold-acc", "0.5")),
        ({"warmup": False}, ("--skip-server-warmup",)),
        ({"slots": 4}, ("--max-running-requests", "4")),
        ({"chat_template_file": "/t.jinja"}, ("--chat-template", "/t.jinja")),
    ],
)
def test_settings_that_are_said(said: dict[str, Any], flag: tuple[str, ...]) -> None:
    """Each key by its flag; a threshold of 0 is a choice."""
    assert set(words(**said)) == {*words(), *flag}
    assert " ".join(flag) in " ".join(words(**said))


def test_metrics_are_always_on() -> None:
    """How full the cache is and the HIT column of `ps` live on them."""
    assert words() == ("--enable-metrics",)


def test_every_key_of_the_table_has_a_row() -> None:
    """And no row names a key that nobody supplies; spec_algorithm is read by `speculation`."""
    rows = {flag.key for flag in SGLANG_FLAGS} - {FLOOR}
    declared = {key for key in settings() if key.startswith("sglang.")} - {"sglang.spec_algorithm"}
    assert rows == declared | ROOT | SUPPLIED
    assert settings().keys() >= ROOT


def test_every_flag_is_one_of_the_engine() -> None:
    """Of a recorded build; the same rows, word by word."""
    assert {flag.name for flag in SGLANG_FLAGS} <= set(KNOWN)


def test_only_what_makes_it_another_child_refuses() -> None:
    """Knobs are left out with a warning (setup document); these decide what is served, or whether it fits."""
    needed = {flag.name for flag in SGLANG_FLAGS if flag.missing is Missing.REFUSE}
    assert needed == {
        *("--model-path", "--served-model-name", "--is-embedding", "--context-length", "--cpu-offload-gb"),
        *("--tp-size", "--pp-size", "--speculative-draft-model-path"),
    }
