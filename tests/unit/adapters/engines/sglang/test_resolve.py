"""What configuration leaves open for SGLang: the whole command line, against a recorded build."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from blazar.adapters.engines.sglang.ladder import HALF
from blazar.adapters.engines.sglang.spec import SGLANG
from blazar.domain import teaching
from blazar.domain.errors import Malformed
from blazar.domain.fit.machine import GIB
from blazar.domain.fit.machine import Machine as Placement
from blazar.domain.kinds import Task, Weights
from blazar.domain.launch import Beside, Brief, Compiled, compile_launch, flags_of
from blazar.domain.manifest import Manifest
from blazar.domain.records import Gpu
from tests.support.fit_shapes import Dense, cards
from tests.support.lane_briefs import brief, card, machine
from tests.support.manifests import golden
from tests.support.pairwise import covering_rows

KNOWN = golden("sglang-0.5.23")
FILES = ("/models/qwen/model-00001-of-00002.safetensors", "/models/qwen/model-00002-of-00002.safetensors")
ENV = {"HF_HUB_OFFLINE": "1", "SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION": "false"}
PINS = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": "0,1"}
BIG = Dense(size=30 * GIB).shape()


def of(manifest: Manifest = KNOWN, **said: Any) -> Brief:
    return replace(brief(Weights.SAFETENSORS, FILES, said, manifest), ctx=16384, ctx_size=16384)


def on(placement: Placement, given: Brief, gpu: Gpu | None = None) -> Brief:
    return replace(given, shape=BIG, placement=placement, machine=machine(gpu or card()))


def compiled(given: Brief) -> Compiled:
    return compile_launch(SGLANG, given)


def flags(result: Compiled) -> dict[str, str]:
    words = (*result.words, "")
    return {word: words[index + 1] for index, word in enumerate(words) if word.startswith("--")}


def reasons(result: Compiled) -> Mapping[str, str]:
    return {decision.words[0]: decision.reason for decision in result.decisions if decision.words}


def test_the_plainest_line() -> None:
    """A folder, a name, a window, and what powers `ps` and the metrics."""
    result = compiled(of())
    assert result.words == (
        *("--model-path", "/models/qwen", "--served-model-name", "m", "--context-length", "16384"),
        *("--enable-cache-report", "--enable-metrics"),
    )
    assert (result.env, result.notes) == (ENV, ())


def test_cache_report_is_on_unless_somebody_opts_out() -> None:
    """It powers HIT of `ps` and the metrics of a model (setup document)."""
    assert "--enable-cache-report" in compiled(of()).words
    assert "--enable-cache-report" not in compiled(of(sglang__cache_report=False)).words


def test_deterministic_is_one_request_at_a_time() -> None:
    """Whatever slots say; and the engine's own mode, for a prompt is cut into batches by itself too."""
    result = compiled(of(deterministic=True, slots=4))
    assert flags(result)["--max-running-requests"] == "1"
    assert "--enable-deterministic-inference" in result.words
    assert reasons(result)["--max-running-requests"] == teaching.argv_reason("deterministic")


def test_deterministic_keeps_a_backend_that_the_engines_mode_refuses() -> None:
    """One request at a time is what was promised; with the mode the engine would not start."""
    result = compiled(of(deterministic=True, sglang__attention_backend="flex_attention"))
    assert flags(result)["--max-running-requests"] == "1"
    assert "--enable-deterministic-inference" not in result.words


def test_slots_are_requests_at_once() -> None:
    """As many as were said."""
    assert flags(compiled(of(slots=4)))["--max-running-requests"] == "4"


def test_odd_slots_0_stays_silent() -> None:
    """The engine shares its cache out by itself."""
    assert "--max-running-requests" not in compiled(of()).words


def test_the_ladder_says_share_cache_type_and_offload() -> None:
    """Owned by the compiler (setup document): each with its reason."""
    result = compiled(on(cards(24), of()))
    said = flags(result)
    assert (said["--cpu-offload-gb"], said["--kv-cache-dtype"]) == ("9", HALF)
    assert 0.9 < float(said["--mem-fraction-static"]) < 1
    why = reasons(result)
    assert why["--cpu-offload-gb"] == teaching.rung_offload(9)
    assert why["--kv-cache-dtype"] == teaching.rung_half_cache()
    assert why["--mem-fraction-static"].startswith("weights and cache take")


def test_explicit_pins_of_share_and_cache_type_win() -> None:
    """Setup document; their reason is who set them."""
    result = compiled(on(cards(24), of(sglang__mem_fraction_static=0.5, sglang__kv_cache_dtype="fp8_e4m3")))
    said = flags(result)
    assert (said["--mem-fraction-static"], said["--kv-cache-dtype"]) == ("0.5", "fp8_e4m3")
    assert reasons(result)["--mem-fraction-static"] == "sglang.mem_fraction_static (config.toml, line 7)"


@pytest.mark.parametrize(
    "gpu", [card(capability="7.5"), card(capability=""), card("rocm", ""), card()._replace(kind="vulkan")]
)
def test_an_8_bit_cache_is_chosen_only_for_cards_that_are_known_to_take_it(gpu: Gpu) -> None:
    """Doubt leaves the cache as the model is."""
    assert "--kv-cache-dtype" not in compiled(on(cards(24), of(), gpu)).words


def test_a_load_that_exceeds_the_best_card_is_sharded() -> None:
    """--tp-size, and the child held to the first cards in PCI order."""
    result = compiled(on(cards(24, 24, 24), of()))
    assert flags(result)["--tp-size"] == "2"
    assert result.env == ENV | PINS
    assert reasons(result)["--tp-size"].startswith("no single card holds the load")


@pytest.mark.parametrize("key", ["tp_size", "dp_size", "pp_size", "ep_size"])
def test_manual_pins_of_parallelism_always_win(key: str) -> None:
    """Auto-sharding fires only when nothing is pinned; the ladder judges nothing then."""
    said = flags(compiled(on(cards(24, 24), of(**{f"sglang__{key}": 2}))))
    assert said["--" + key.replace("_", "-")] == "2"
    assert {flag for flag in said if flag.endswith("-size")} == {"--" + key.replace("_", "-")}
    assert not {"--mem-fraction-static", "--kv-cache-dtype", "--cpu-offload-gb"} & set(said)


@pytest.mark.parametrize(
    "said",
    [
        {"devices": ["CUDA1"]},
        {"tensor_split": "3,1"},
        {"extra_args": ["--tp-size", "4"]},
        {"extra_args": ["--tensor-parallel-size", "4"]},
        {"extra_args": ["--base-gpu-id", "1"]},
    ],
)
def test_whoever_places_a_load_is_not_interfered_with(said: dict[str, Any]) -> None:
    """Neither ranks nor variables of ours."""
    result = compiled(on(cards(24, 24, 24, 24), of(**said)))
    assert result.env == ENV
    assert list(result.words).count("--tp-size") == list(said.get("extra_args", [])).count("--tp-size")


@pytest.mark.parametrize("said", [{"devices": ["CUDA1"]}, {"tensor_split": "3,1"}])
def test_cards_by_name_leave_the_first_card_its_share(said: dict[str, Any]) -> None:
    """They cannot be told; the engine takes its first card, and what it may use of that one is told as if it were alone."""
    chosen, single = compiled(on(cards(48, 80), of(**said))), compiled(on(cards(48), of()))
    assert "--mem-fraction-static" in single.words
    assert chosen.words == single.words
    assert chosen.env == ENV
    assert chosen.notes == (teaching.setting_no_word(next(iter(said)), "SGLang"),)
    assert "--base-gpu-id" not in compiled(on(cards(24, 80), of(**said))).words


def test_every_sharded_spawn_is_pinned() -> None:
    """Also one whose ranks somebody configured; with fewer cards than ranks the variables stay untouched."""
    assert compiled(on(cards(24, 24, 24), of(sglang__tp_size=2))).env == ENV | PINS
    assert compiled(on(cards(24, 24, 24, 24), of(sglang__tp_size=2, sglang__pp_size=2))).env[
        "CUDA_VISIBLE_DEVICES"
    ] == ("0,1,2,3")
    assert compiled(on(cards(24, 24), of(sglang__tp_size=4))).env == ENV
    assert compiled(on(cards(24, 24, 24), of(sglang__tp_size=2, devices=["CUDA1", "CUDA2"]))).env == ENV


def test_odd_no_share_is_said_where_a_draft_is_not_counted() -> None:
    """Its weights lie inside the share; the engine's own heuristics know them."""
    pair = replace(on(cards(24, 24), of(spec="eagle3")), beside=Beside("", "/d", "eagle3"))
    said = flags(compiled(pair))
    assert said["--tp-size"] == "2"
    assert "--mem-fraction-static" not in said


def test_odd_triton_is_the_default_on_nvidia() -> None:
    """It needs no toolchain; a pinned backend wins, and elsewhere the engine decides."""
    found = on(cards(80), of())
    assert flags(compiled(found))["--attention-backend"] == "triton"
    pinned = on(cards(80), of(sglang__attention_backend="flashinfer"))
    assert flags(compiled(pinned))["--attention-backend"] == "flashinfer"
    assert "--attention-backend" not in compiled(of()).words


def test_an_embedding_model_is_told_so() -> None:
    """And a build that cannot be told is refused."""
    embeds = replace(of(), task=Task.EMBED)
    assert "--is-embedding" in compiled(embeds).words
    old = Manifest.spelled(set(KNOWN) - {"--is-embedding"})
    with pytest.raises(Malformed, match="--is-embedding"):
        compiled(replace(embeds, manifest=old))


def test_a_template_is_a_name_or_a_file() -> None:
    """Its text cannot be told."""
    assert flags(compiled(of(chat_template="chatml")))["--chat-template"] == "chatml"
    assert flags(compiled(of(chat_template_file="/t.jinja")))["--chat-template"] == "/t.jinja"
    result = compiled(of(chat_template="{% for m in messages %}{% endfor %}"))
    assert "--chat-template" not in result.words
    assert result.notes == (teaching.template_needs_file("chat_template", "SGLang"),)


def test_what_it_has_no_word_for_is_not_passed_over_in_silence() -> None:
    """Cards by name."""
    assert teaching.setting_no_word("devices", "SGLang") in compiled(of(devices=["CUDA0"])).notes


def test_a_knob_that_a_build_lacks_is_left_out_with_a_warning() -> None:
    """Manifest-gated (setup document)."""
    old = Manifest.spelled(set(KNOWN) - {"--retraction-policy"})
    result = compiled(replace(of(sglang__retraction_policy="length"), manifest=old))
    assert "--retraction-policy" not in result.words
    assert result.notes == (teaching.flag_unknown_to_engine("--retraction-policy", "build"),)


def test_words_of_a_persons_own_come_last_and_win() -> None:
    """Also under another spelling of the same flag."""
    result = compiled(of(extra_args=["--tensor-parallel-size", "2", "--log-level", "debug"], sglang__tp_size=4))
    assert result.words[-4:] == ("--tensor-parallel-size", "2", "--log-level", "debug")
    assert "--tp-size" not in result.words


@pytest.mark.parametrize("word", ["--model", "--api-key", "--api_key", "--config", "--served-model-name"])
def test_reserved_words_are_refused(word: str) -> None:
    """Whatever the build."""
    for manifest in (KNOWN, Manifest()):
        with pytest.raises(Malformed, match="extra_args"):
            compiled(of(manifest, extra_args=[word, "x"]))


SPACE: dict[str, tuple[Any, ...]] = {
    "deterministic": (False, True),
    "slots": (0, 4),
    "spec": ("auto", "off", "eagle3", "mtp"),
    "sglang__spec_algorithm": ("", "ngram"),
    "sglang__spec_num_steps": (None, 2),
    "sglang__spec_num_draft_tokens": (None, 4),
    "sglang__speculative_eagle_topk": (None, 2),
    "sglang__speculative_accept_threshold_single": (None, 0.5),
    "sglang__speculative_accept_threshold_acc": (None, 0.0),
    "sglang__cache_report": (True, False),
    "sglang__radix_eviction_policy": ("", "lru", "priority"),
    "sglang__session_radix_cache": (False, True),
    "sglang__mixed_chunk": (False, True),
    "sglang__mem_fraction_static": (None, 0.8),
    "sglang__kv_cache_dtype": ("", "fp8_e5m2", "bf16"),
    "sglang__tp_size": (None, 1, 2),
    "sglang__pp_size": (None, 2),
    "sglang__attention_backend": ("", "flashinfer"),
    "sglang__mm_attention_backend": ("", "sdpa"),
    "sglang__grammar_backend": ("", "xgrammar"),
    "sglang__retraction_policy": ("", "priority"),
    "sglang__enable_two_batch_overlap": (False, True),
    "sglang__enable_tf32_matmul": (False, True),
    "warmup": (True, False),
    "chat_template": (None, "chatml"),
}
PLACES = (None, cards(24), cards(24, 24), cards(80))


def test_every_flag_that_can_be_said_is_known_to_the_build() -> None:
    """Over a covering set of settings and machines: each flag is listed, said once, has a reason, and its value is one it takes."""
    for number, said in enumerate(covering_rows(SPACE)):
        given = replace(of(**said), beside=Beside("", "/d", "eagle3"))
        placement = PLACES[number % len(PLACES)]
        result = compiled(given if placement is None else on(placement, given))
        named = flags_of(result.words)
        assert len(named) == len(set(named)), result.words
        assert set(named) <= set(KNOWN)
        for decision in result.decisions:
            assert decision.reason
            if decision.words[1:] and (option := KNOWN.find(decision.words[0])) and option.choices:
                assert decision.words[1] in option.choices, decision


def test_a_models_own_folder_is_what_it_is_told() -> None:
    """Its files may lie below it."""
    given = of()
    given = replace(given, model=replace(given.model, folder="/models/own"))
    assert flags(compiled(given))["--model-path"] == "/models/own"
