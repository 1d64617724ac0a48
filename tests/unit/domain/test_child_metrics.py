"""Figures out of an engine's Prometheus text."""

import time
from pathlib import Path

import pytest

from blazar.adapters.engines.drivers import SPECS
from blazar.domain.child_metrics import LARGEST, Measure, Metrics, Readings, read_metrics
from blazar.domain.kinds import EngineKind

RECORDED = Path(__file__).parents[2] / "fixtures/metrics/llamacpp-b11434.txt"
ONE = Metrics(b"/metrics", running=Measure(("x:y",)))


def running(text: bytes) -> float | None:
    return read_metrics(text, ONE).running


def test_every_figure_has_its_names() -> None:
    """In the same order: figures are read by position."""
    assert Metrics._fields == ("path", *Readings._fields)


def test_a_real_answer_of_llama_server() -> None:
    """Recorded after the same forty tokens were sent twice: the second time all but one were cached."""
    read = read_metrics(RECORDED.read_bytes(), SPECS[EngineKind.LLAMACPP].metrics)
    assert read == Readings(
        running=0,
        waiting=0,
        prompt_tokens=80,
        cached_tokens=39,
        generated_tokens=24,
        prompt_rate=32156.9,
        generated_rate=12127.9,
        drafted_tokens=0,
        accepted_tokens=0,
    )


def test_series_of_one_name_add_up() -> None:
    """SGLang counts streamed answers apart, cached tokens by place, and has gauges per rank; of the caches the fullest counts."""
    text = b"""# TYPE sglang:prompt_tokens_total counter
sglang:prompt_tokens_total{engine_type="unified",is_streaming="true",model_name="a}b"} 8.128902e+06
sglang:prompt_tokens_total{engine_type="unified",is_streaming="false",model_name="a\\"} 7"} 98.0
sglang:cached_tokens_total{cache_source="device"} 5.0
sglang:cached_tokens_total{cache_source="host"} 6.0
sglang:num_running_reqs{dp_rank="0"} 2.0
sglang:num_running_reqs{dp_rank="1"} 3.0
sglang:token_usage{dp_rank="0"} 0.25
sglang:token_usage{dp_rank="1"} 0.5
sglang:spec_accept_rate{dp_rank="0"} NaN
"""
    read = read_metrics(text, SPECS[EngineKind.SGLANG].metrics)
    assert read == Readings(running=5, cache_use=0.5, prompt_tokens=8129000, cached_tokens=11)


def test_a_share_is_worked_out_of_two() -> None:
    """mistral.rs tells blocks in use and blocks in all; of none there is no share."""
    metrics = SPECS[EngineKind.MISTRALRS].metrics
    used = b"mistralrs_kv_cache_blocks_used 3\nmistralrs_kv_cache_blocks_total "
    assert read_metrics(used + b"12\n", metrics).cache_use == 0.25
    assert read_metrics(used + b"0\n", metrics).cache_use is None
    assert read_metrics(used + b"NaN\n", metrics).cache_use is None


def test_half_of_a_sum_is_no_figure() -> None:
    """A build that counts no cached tokens would make prompts look shorter than they are."""
    text = b"llamacpp:prompt_tokens_total 7\nllamacpp:tokens_predicted_total 3\n"
    read = read_metrics(text, SPECS[EngineKind.LLAMACPP].metrics)
    assert (read.prompt_tokens, read.generated_tokens) == (None, 3)


def test_two_kinds_count_nothing() -> None:
    """mlx-lm and sd-server have no such route; whatever answers there is nobody's figures."""
    for kind in (EngineKind.MLX, EngineKind.SDCPP):
        metrics = SPECS[kind].metrics
        assert metrics == Metrics()
        assert read_metrics(RECORDED.read_bytes(), metrics) == Readings()


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (b"x:y 7", 7),
        (b"x:y{} 7", 7),
        (b"x:y\t 7.5e2\t1700000000000", 750),
        (b"x:y 7\r", 7),
        (b"x:y .5", 0.5),
        (b"x:y +1E-2 -5", 0.01),
        (b'x:y{a="\\\\"} 7', 7),
        (b'x:y{a="b",c="}"} 7', 7),
        (b'x:y{a="\xff\n', None),
        (b'x:y{a="b} 7', None),
        (b"x:y{a=b 7", None),
        (b"x:y NaN", None),
        (b"x:y +Inf", None),
        (b"x:y -Inf", None),
        (b"x:y 1e99999", None),
        (b"x:y -1", None),
        (b"x:y 1_000", None),
        (b"x:y 0x10", None),
        (b"x:y seven", None),
        (b"x:y", None),
        (b"x:y7", None),
        (b"x:y 7 8 9", None),
        (b"x:y " + b"9" * 5000, None),
        (b"# x:y 7", None),
        (b" x:y 7", None),
        (b"x:yz 7", None),
        (b"\xd9\xa7 7", None),
    ],
)
def test_lines_are_read_or_passed_over(line: bytes, value: float | None) -> None:
    """As the format allows them; what is no number, not finite or below nothing says nothing, and never stops the reading."""
    assert running(line) == value
    assert running(line + b"\nx:y 1") == (1 if value is None else value + 1)


def test_no_answer_takes_long() -> None:
    """Neither an endless line nor endless lines; a number cut in two is not read."""
    began = time.process_time()
    for hostile in (
        b"x:y{" + b"a" * LARGEST,
        b'x:y{a="' + b"\\" * LARGEST,
        b"x:y" + b" " * LARGEST,
        b'x:y{"' * LARGEST,
    ):
        assert running(hostile) is None
    assert running(b"z 1\n" * (LARGEST // 4 - 1) + b"x:y 17") is None
    assert running(b"x:y 3\n" * (LARGEST // 6 + 9)) == 3 * (LARGEST // 6)
    assert time.process_time() - began < 30
